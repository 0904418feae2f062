"""Measure what indexing commits costs: ``python -m bench.history_cost REPOSITORY [--rounds 5] [--commits 15]``.

First imports and runs after commits that change one file, with and without ``[history]``, take turns. Each runs in a
process and a data folder of its own. The medians are compared.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, process_time

from bench.one_commit import AUTHOR, FILE, git
from codequarry.ingest.run.pipeline import IndexRequest, Workshop, index_repository
from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.factory import open_store

Times = tuple[float, float]


def spent() -> float:
    """Return the processor seconds of this process and its children."""
    times = os.times()
    return process_time() + times.children_user + times.children_system


def measured(origin: Path, commits: int, history: dict[str, int], scratch: Path) -> Iterator[Times]:
    """Yield the wall and processor seconds of the first import, and those of each further commit."""
    clone, home = scratch / "clone", scratch / "home"
    git(scratch, "clone", "--quiet", str(origin.resolve()), str(clone))
    home.mkdir(mode=0o700)
    settings = SettingsModel(home=home, history=history)
    embedder = open_embedder(settings.embedding, home / "models")
    workshop = Workshop(open_store(settings, embedder.dimension), embedder, settings)
    for at in range(commits + 1):
        if at:
            (clone / FILE).write_text(f"def changed_{at}():\n    return {at}\n")
            git(clone, "add", FILE)
            git(clone, *AUTHOR, "commit", "--quiet", "--message", f"change {at}")
        worked, started = spent(), perf_counter()
        index_repository(IndexRequest(str(clone)), workshop)
        yield perf_counter() - started, spent() - worked


def run(given: argparse.Namespace, history: dict[str, int]) -> list[Times]:
    """Measure in a new process."""
    command = [sys.executable, "-m", "bench.history_cost", str(given.repository), "--commits", str(given.commits)]
    done = subprocess.run([*command, "--one", json.dumps(history)], check=True, capture_output=True)
    return [(wall, worked) for wall, worked in json.loads(done.stdout)]


def main() -> None:
    """Measure in turns and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--commits", type=int, default=15)
    parser.add_argument("--history", default="{}", help="settings of [history] to compare with none, as JSON")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    os.umask(0o077)
    if given.one:
        with tempfile.TemporaryDirectory() as scratch:
            times = measured(given.repository, given.commits, json.loads(given.one), Path(scratch))
            print(json.dumps(list(times)))
        return
    taken: dict[str, list[list[Times]]] = {"without": [], "with": []}
    for at in range(given.rounds):
        for name in ("without", "with") if at % 2 else ("with", "without"):
            taken[name].append(run(given, json.loads(given.history) if name == "with" else {"commits": 0}))
    for what, first in (("first import", True), ("one commit", False)):
        for kind, place in (("clock", 0), ("processors", 1)):
            medians = {
                name: statistics.median(times[place] for part in parts for times in (part[:1] if first else part[1:]))
                for name, parts in taken.items()
            }
            share = 100 * (medians["with"] / medians["without"] - 1)
            print(
                f"{what:13} {kind:10} {medians['without']:.3f} s without, {medians['with']:.3f} s with, {share:+.1f} %"
            )


if __name__ == "__main__":
    main()
