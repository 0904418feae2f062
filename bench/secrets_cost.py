"""Measure what masking secrets costs an index run: ``python -m bench.secrets_cost REPOSITORY [--rounds 5]``.

Full runs with and without masking take turns, each into an empty data folder with a separate embedding cache, so that
both embed everything. The medians are compared.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def seconds(repository: Path, action: str) -> tuple[float, float]:
    """Index a repository into a new data folder and return the wall time and the processor time."""
    with tempfile.TemporaryDirectory() as home:
        environment = os.environ | {"CODEQUARRY_HOME": home, "CODEQUARRY_SECRETS__ACTION": action}
        before, started = os.times(), time.monotonic()
        command = [sys.executable, "-m", "codequarry.cli.main", "index", str(repository)]
        subprocess.run(command, env=environment, check=True, capture_output=True)
        after = os.times()
        worked = after.children_user + after.children_system - before.children_user - before.children_system
        return time.monotonic() - started, worked


def main() -> None:
    """Measure in turns and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    taken: dict[str, list[tuple[float, float]]] = {"off": [], "mask": []}
    for at in range(given.rounds):
        for action in ("off", "mask") if at % 2 else ("mask", "off"):
            taken[action].append(seconds(given.repository, action))
    for name, place in (("clock", 0), ("processors", 1)):
        off, mask = (statistics.median(times[place] for times in taken[action]) for action in ("off", "mask"))
        print(f"{name:10}  off {off:.2f} s, mask {mask:.2f} s, {100 * (mask / off - 1):+.1f} %")


if __name__ == "__main__":
    main()
