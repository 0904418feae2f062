"""Kill indexing runs with `kill -9` at random moments, index again, and compare with an undisturbed run.

Every moment starts with a new data folder. A run is killed after a random time, and a second run completes. In a third
of the moments the killed run is one that brings in a second commit. Half of the kills hit the whole process group, the
others only the main process, whose children may live on. The check compares the live rows (path, blob, chunk id, hash
of the text) and the store's row count, so that duplicates and missing rows are both found.

    python -m bench.acceptance.kill --repos ~/clones --repo jhy/jsoup
"""

import argparse
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.acceptance.corpus import scratch_folder
from bench.acceptance.installation import STORES, Installation, add_store_options
from bench.acceptance.report import print_json, print_table, progress
from bench.acceptance.repositories import Clone, empty_repository, find_clone, git
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.model import Filters
from codequarry.shared.versions.snapshots import head_snapshot

MOMENTS = 20
NAME = "disturbed"
# Far enough back that the second run has many files to write.
COMMITS_BACK = 200
# Short, so that a run does not wait half a minute for the lease of a dead holder.
LEASE = {"CODEQUARRY_INDEXING__LEASE_SECONDS": "2"}

Row = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Moment:
    """One kill: its time and target, and the state that the next run left."""

    number: int
    run: str
    after_seconds: float
    target: str
    second_run_seconds: float
    missing: int
    surplus: int
    count: int

    @property
    def good(self) -> bool:
        """Whether the rows equal those of the undisturbed run."""
        return not self.missing and not self.surplus


class Source:
    """A bare repository whose branch can be moved between two commits of the original."""

    def __init__(self, clone: Clone, folder: Path) -> None:
        self.path = folder / "source"
        self._new = clone.commit
        self._old = git(clone.git_dir, "rev-parse", f"{clone.commit}~{COMMITS_BACK}").decode().strip()
        if not self.path.exists():
            empty_repository(self.path, [clone.git_dir])
        self.move(new=True)

    def move(self, *, new: bool) -> None:
        """Point the branch at the newer or the older commit."""
        git(self.path, "update-ref", "refs/heads/main", self._new if new else self._old)


def live_rows(installation: Installation) -> tuple[Counter[Row], int]:
    """Return every live chunk and skipped file, and the number of live chunks that the store counts."""
    rows: Counter[Row] = Counter()
    with installation.open_store() as store:
        snapshot = head_snapshot(read_head(store), [NAME])
        for record in list(store.files(snapshot)):
            rows[(record.path, record.blob, "file", record.verdict)] += 1
            for chunk in store.chunks(snapshot, record.path, NAME):
                rows[(chunk.path, chunk.blob, chunk.id, chunk.content_hash)] += 1
        return rows, store.count(snapshot, Filters())


def index(installation: Installation, source: Source) -> float:
    """Run indexing to the end and return its seconds."""
    began = time.monotonic()
    installation.run("index", str(source.path), "--name", NAME)
    return time.monotonic() - began


def disturb(installation: Installation, source: Source, after: float, *, whole_group: bool) -> bool:
    """Start indexing and kill it after some seconds; return whether it was still running."""
    process = installation.start("index", str(source.path), "--name", NAME)
    time.sleep(after)
    running = process.poll() is None
    if running:
        kill = os.killpg if whole_group else os.kill
        kill(process.pid, signal.SIGKILL)
    process.wait()
    return running


def one_moment(
    installation: Installation, source: Source, number: int, chance: random.Random, durations: Mapping[str, float]
) -> tuple[Moment, Counter[Row]]:
    """Kill one run, run again, and return the resulting rows."""
    run = "second" if number % 3 == 2 else "first"
    whole_group = chance.random() < 0.5
    running = False
    while not running:
        # A run that ended before the kill was not disturbed, so try again from the start.
        empty(installation)
        if run == "second":
            source.move(new=False)
            index(installation, source)
            source.move(new=True)
        after = chance.uniform(0, durations[run])
        running = disturb(installation, source, after, whole_group=whole_group)
    seconds = index(installation, source)
    rows, count = live_rows(installation)
    target = "process group" if whole_group else "main process"
    return Moment(number, run, round(after, 2), target, round(seconds, 1), 0, 0, count), rows


def empty(installation: Installation) -> None:
    """Delete all data of the installation."""
    shutil.rmtree(installation.home, ignore_errors=True)
    installation.drop()


def undisturbed(installation: Installation, source: Source) -> tuple[Counter[Row], int, dict[str, float]]:
    """Return the expected rows, their count, and how long both kinds of run take."""
    source.move(new=False)
    index(installation, source)
    source.move(new=True)
    second = index(installation, source)
    empty(installation)
    first = index(installation, source)
    rows, count = live_rows(installation)
    return rows, count, {"first": first, "second": second}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repos", type=Path, required=True, metavar="FOLDER", help="clones, called owner+name or name")
    parser.add_argument("--repo", default="jhy/jsoup", metavar="OWNER/NAME", help="the repository to index (jhy/jsoup)")
    parser.add_argument("--moments", type=int, default=MOMENTS, help=f"number of kills ({MOMENTS})")
    parser.add_argument("--seed", type=int, default=1, help="seed of moments and targets (1)")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")
    parser.add_argument("--store", choices=STORES, default="embedded")
    add_store_options(parser)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    moments = []
    with scratch_folder(None) as scratch:
        source = Source(find_clone(options.repos, options.repo), scratch)

        def fresh(name: str) -> Installation:
            return Installation(scratch / name, options.store, options.opensearch, options.index, LEASE)

        wanted, wanted_count, durations = undisturbed(fresh("undisturbed"), source)
        progress(f"undisturbed: {wanted_count} chunks, {durations['first']:.1f} s and {durations['second']:.1f} s")
        for number in range(options.moments):
            installation = fresh(f"moment{number}")
            moment, rows = one_moment(installation, source, number, chance, durations)
            missing, surplus = (wanted - rows).total(), (rows - wanted).total()
            surplus += abs(moment.count - wanted_count)
            moments.append(Moment(**asdict(moment) | {"missing": missing, "surplus": surplus}))
            progress(f"moment {number}: {'good' if moments[-1].good else 'BAD'}")
            if moments[-1].good:
                shutil.rmtree(installation.home)
        fresh("undisturbed").drop()
        _report(moments, wanted_count, as_json=options.json)
    if not all(moment.good for moment in moments):
        sys.exit(1)


def _report(moments: list[Moment], count: int, *, as_json: bool) -> None:
    rows = [asdict(moment) for moment in moments]
    if as_json:
        print_json({"chunks": count, "moments": rows})
        return
    print_table(f"kill -9, {count} chunks in an undisturbed run", list(rows[0]), [list(row.values()) for row in rows])
    print(f"\n{sum(moment.good for moment in moments)} of {len(moments)} equal the undisturbed run")


if __name__ == "__main__":
    main()
