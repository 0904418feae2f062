"""Random repositories through random operations and crashes: every version that may be asked for is what git lists.

What is done is in ``stateful/operations.py``, what must be true after each step in ``stateful/sequence.py``.
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
# Hypothesis tries some kinds more often than others: it goes on in rounds until all have come often enough.
ROUND, MOST_ROUNDS = 20, 16
# Of each kind of operation, and of deaths at each moment of a write.
ENOUGH = 50
# Of deaths in each method of the store; some are called in few runs.
SOME = 3


def too_rare(counts: Counter[str]) -> dict[str, int]:
    """Return what happened too seldom to prove anything."""
    often = [*OPERATIONS, *(f"crash {moment} a write" for moment in ("before", "within", "after")), "resumed"]
    rare = {kind: counts[kind] for kind in often if counts[kind] < ENOUGH}
    return rare | {method: counts[f"crash in {method}"] for method in METHODS if counts[f"crash in {method}"] < SOME}


def test_every_version_is_what_git_lists_on_the_embedded_store(tmp_path):
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
def test_every_version_is_what_git_lists_on_opensearch(tmp_path, opensearch_node):
    with opensearch_node.empty_index(DIMENSION) as settings:
        scene = Scene(tmp_path, settings, keep_commits=2)
        try:
            counts = run_sequences(scene, OPENSEARCH_SEQUENCES, OPENSEARCH_RUNS)
        finally:
            scene.close()
    assert counts["sequences"] >= OPENSEARCH_SEQUENCES
    assert counts["crash"] >= OPENSEARCH_SEQUENCES // 2
