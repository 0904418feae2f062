"""Random repositories through random operations and crashes: every version that can be read equals git's listing.

The operations are in ``stateful/operations.py``, the checks after each step in ``stateful/sequence.py``.
``bench/versions_stateful.py`` runs many more sequences by hand.
"""

from collections import Counter

import pytest

from tests.property.stateful.embedder import DIMENSION
from tests.property.stateful.machine import METHODS, run_sequences
from tests.property.stateful.operations import OPERATIONS
from tests.property.stateful.scene import Scene

pytestmark = pytest.mark.long
EMBEDDED_SEQUENCES, OPENSEARCH_SEQUENCES = 160, 40
EMBEDDED_RUNS, OPENSEARCH_RUNS = 9, 4
# Hypothesis tries some kinds more often than others, so rounds continue until every kind was frequent enough.
ROUND, MOST_ROUNDS = 20, 16
# Minimum for each kind of operation, and for deaths at each moment of a write.
ENOUGH = 50
# Minimum of deaths in each method of the store; few runs call some of them.
SOME = 3


def too_rare(counts: Counter[str]) -> dict[str, int]:
    """Return the events that were too rare to prove anything."""
    often = [*OPERATIONS, *(f"crash {moment} a write" for moment in ("before", "within", "after")), "resumed"]
    rare = {kind: counts[kind] for kind in often if counts[kind] < ENOUGH}
    return rare | {method: counts[f"crash in {method}"] for method in METHODS if counts[f"crash in {method}"] < SOME}


def test_every_version_equals_gits_listing_on_the_embedded_store(tmp_path):
    scene, counts = Scene(tmp_path, keep_commits=2), Counter()
    try:
        for seed in range(MOST_ROUNDS):
            run_sequences(scene, ROUND, EMBEDDED_RUNS, seed=seed, counts=counts)
            if counts["sequences"] >= EMBEDDED_SEQUENCES and not too_rare(counts):
                break
    finally:
        scene.close()
    assert too_rare(counts) == {}


@pytest.mark.opensearch
def test_every_version_equals_gits_listing_on_opensearch(tmp_path, opensearch_node):
    with opensearch_node.empty_index(DIMENSION) as settings:
        scene = Scene(tmp_path, settings, keep_commits=2)
        try:
            counts = run_sequences(scene, OPENSEARCH_SEQUENCES, OPENSEARCH_RUNS)
        finally:
            scene.close()
    assert counts["sequences"] >= OPENSEARCH_SEQUENCES
    assert counts["crash"] >= OPENSEARCH_SEQUENCES // 2
