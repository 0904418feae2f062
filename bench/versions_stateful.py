"""Run many more sequences of the stateful test than the test suite: random operations and crashes, checked against git.

Runs for the given number of sequences or minutes, in rounds with a new store each, and prints how often each event
happened. A failure is printed with its operations and ends its round; the next round starts. The seed of a failed round
reproduces it (--shrink shortens the sequence).

    python -m bench.versions_stateful --sequences 5000
    python -m bench.versions_stateful --sequences 500 --store opensearch --url http://127.0.0.1:9200
"""

import argparse
import sys
import tempfile
import time
import traceback
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.acceptance.report import print_table
from codequarry.shared.settings.config import OpenSearchSettings
from codequarry.shared.store.opensearch.store import OpenSearchStore
from tests.property.stateful.machine import run_sequences
from tests.property.stateful.scene import Scene

SEQUENCES_PER_ROUND = 50
RUNS_PER_SEQUENCE = 8


def main() -> int:
    """Run the rounds; return 1 if a round failed."""
    options = read_options()
    total: Counter[str] = Counter()
    failed: list[int] = []
    began = time.monotonic()
    seed = options.seed
    while total["sequences"] < options.sequences and time.monotonic() - began < options.minutes * 60:
        counts: Counter[str] = Counter()
        with scene_of(options) as scene:
            try:
                run_sequences(
                    scene, SEQUENCES_PER_ROUND, RUNS_PER_SEQUENCE, seed=seed, shrink=options.shrink, counts=counts
                )
            except Exception:
                failed.append(seed)
                print(f"seed {seed}:\n{traceback.format_exc()}", file=sys.stderr, flush=True)
        total += counts
        seed += 1
        print(f"{total['sequences']} sequences, {len(failed)} failures, {time.monotonic() - began:.0f} s", flush=True)
    print_table(f"{options.store} store", ["what happened", "times"], [[kind, n] for kind, n in total.most_common()])
    print(f"{total['sequences']} sequences; rounds that failed: {', '.join(map(str, failed)) or 'none'}")
    return 1 if failed else 0


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=int, default=5000)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--store", choices=("embedded", "opensearch"), default="embedded")
    parser.add_argument("--url", default="http://127.0.0.1:9200")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first round (1)")
    parser.add_argument("--shrink", action="store_true", help="shorten failing sequences, which takes minutes")
    return parser.parse_args()


@contextmanager
def scene_of(options: argparse.Namespace) -> Iterator[Scene]:
    """Yield a scene over an empty store, and delete all of its data afterwards."""
    index = OpenSearchSettings(urls=(options.url,), index=f"bench-{uuid.uuid4().hex[:12]}")
    with tempfile.TemporaryDirectory(prefix="codequarry-bench-") as folder:
        scene = Scene(Path(folder), index if options.store == "opensearch" else None)
        try:
            yield scene
        finally:
            if isinstance(scene.store, OpenSearchStore):
                scene.store.client.indices.delete(index=f"{index.index}*")
            scene.close()


if __name__ == "__main__":
    sys.exit(main())
