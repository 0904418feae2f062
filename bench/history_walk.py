"""Index a real history commit by commit, compare every commit with git, and measure the cost.

``python -m bench.history_walk ~/clones/etcd-io+bbolt [--commits 500] [--checks 10] [--keep 50] [--home FOLDER]``

Moves a branch of a scratch clone along the first parents of the newest commits and indexes each commit. Then it runs
``fsck`` with the text of every file at random commits. A function that was deleted on the way must be found at a commit
that has it, and not at head. With a small ``keep_commits``, expired commits must be refused and the kept commits must
still be clean. The exit status is 1 if any of this fails.
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# Must be set before numpy is imported, as in the command line and the service.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from codequarry.ingest.fsck.versions import check_version
from codequarry.ingest.garbage_collection.collector import collect_history
from codequarry.ingest.run.pipeline import IndexReport, IndexRequest, Workshop, index_repository
from codequarry.search_api.answers.json import to_json
from codequarry.search_api.search.engine import SearchEngine, parse_request
from codequarry.shared.catalog.ledger import published_transactions, read_head
from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.errors import NotIndexed
from codequarry.shared.model import Chunk
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.settings.index import RetentionSettings
from codequarry.shared.store.factory import open_store
from codequarry.shared.store.records import StoredRow
from codequarry.shared.versions.snapshots import OPEN, version_snapshot
from codequarry.shared.versions.transactions import TransactionRecord

NAME = "walked"
BRANCH = "refs/heads/walked"
# Number of commits that are searched for a deleted function, oldest first.
SEARCHED_COMMITS = 10
# A shorter name is too likely to be an ordinary word in other text.
LEAST_NAME = 10
FOREVER_DAYS = 36_500.0


@dataclass(frozen=True, slots=True)
class Walk:
    """The state of a walk; ``problems`` collects failed expectations."""

    workshop: Workshop
    origin: Path
    commits: Sequence[str]
    problems: list[str]

    @property
    def records(self) -> list[TransactionRecord]:
        """Every transaction of the repository that can be searched, oldest first."""
        head = read_head(self.workshop.store)
        timelines = [key for key in head.of_repo(NAME) if not head.timelines[key].ref]
        found = [record for key in timelines for record in published_transactions(self.workshop.store, head, key)]
        return sorted(found, key=lambda record: record.number)

    def expect(self, holds: bool, what: str) -> None:
        """Print an expectation and whether it holds, and record it as a problem if not."""
        print(f"  {'ok  ' if holds else 'FAIL'}  {what}")
        if not holds:
            self.problems.append(what)


def git(folder: Path, *arguments: str) -> str:
    """Run git on a bare repository."""
    command = ["git", f"--git-dir={folder}", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    """Walk the history, check it, and exit with status 1 if there are problems."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clone", type=Path, help="a clone with history, bare or not")
    parser.add_argument("--commits", type=int, default=500)
    parser.add_argument("--checks", type=int, default=10, help="commits that fsck compares with git")
    parser.add_argument("--keep", type=int, default=50, help="commits to keep at the end")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--home", type=Path, help="data folder, which is kept; a temporary folder if not given")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="history-walk-") as scratch:
        home = asked.home or Path(scratch) / "home"
        sys.exit(1 if _run(asked, Path(scratch) / "origin.git", home) else 0)


def _run(asked: argparse.Namespace, origin: Path, home: Path) -> list[str]:
    subprocess.run(["git", "clone", "--quiet", "--bare", str(asked.clone), str(origin)], check=True)
    commits = git(origin, "rev-list", "--first-parent", f"--max-count={asked.commits}", "HEAD").split()[::-1]
    git(origin, "symbolic-ref", "HEAD", BRANCH)
    retention = RetentionSettings(keep_commits=asked.commits + 1, keep_days=FOREVER_DAYS, grace_seconds=0)
    settings = SettingsModel(home=home, retention=retention)
    embedder = open_embedder(settings.embedding, home / "models")
    store = open_store(settings, embedder.dimension)
    walk = Walk(Workshop(store, embedder, settings), origin, commits, [])
    chance = random.Random(asked.seed)
    _index_all(walk)
    _print_store(walk)
    _check(walk, chance.sample(walk.records, min(asked.checks, len(walk.records))))
    _search_deleted(walk)
    _keep_few(walk, asked.keep, chance, asked.checks)
    store.close()
    embedder.close()
    return walk.problems


def _index_all(walk: Walk) -> None:
    """Index every commit as the branch moves, and print the cost."""
    reports: list[IndexReport] = []
    for place, commit in enumerate(walk.commits):
        git(walk.origin, "update-ref", BRANCH, commit)
        reports.append(index_repository(IndexRequest(str(walk.origin), name=NAME), walk.workshop))
        if place % 100 == 0:
            print(f"  {place:,} of {len(walk.commits):,} commits", file=sys.stderr, flush=True)
    first, others = reports[0], reports[1:]
    seconds = [report.seconds for report in others]
    print(f"{len(reports):,} commits, from {walk.commits[0][:12]} to {walk.commits[-1][:12]}")
    print(f"  first commit        {first.seconds:.1f} s, {first.files_indexed:,} files, {first.embedded:,} embedded")
    print(f"  each other          p50 {statistics.median(seconds):.2f} s, p95 {_at(seconds, 0.95):.2f} s")
    changed = [report.files_changed + report.files_removed for report in others]
    print(f"  changed paths       {sum(changed):,} in all, p50 {statistics.median(changed):g} a commit")
    embedded, reused = sum(report.embedded for report in others), sum(report.reused_embeddings for report in others)
    print(f"  texts               {embedded:,} embedded, {reused:,} reused")
    walk.expect([record.commit for record in walk.records] == list(walk.commits), "every commit can be searched")


def _print_store(walk: Walk) -> None:
    store = walk.workshop.store
    stored = [row for key in read_head(store).of_repo(NAME) for row in store.history(key) if isinstance(row, StoredRow)]
    alive = sum(row.died == OPEN for row in stored)
    print(f"  rows                {alive:,} live, {len(stored) - alive:,} dead")
    print(f"  disk                {_disk(walk.workshop.settings.home / 'store') / 1e6:.1f} MB")


def _check(walk: Walk, records: Sequence[TransactionRecord]) -> None:
    """Compare commits with git."""
    for record in sorted(records, key=lambda item: item.number):
        began = time.perf_counter()
        report = check_version(record, walk.workshop, full_text=True)
        took = time.perf_counter() - began
        shown = f"fsck at {record.commit[:12]}: {report.files:,} paths, {report.texts:,} texts, {took:.1f} s"
        walk.expect(not report.problems, f"{shown}, {len(report.problems)} problems")
        for problem in report.problems[:5]:
            print(f"        {problem.kind} {problem.path}: {problem.detail}")


def _search_deleted(walk: Walk) -> None:
    """Search for a function that head no longer has, at a commit that has it and at head."""
    records = walk.records
    found = _deleted_function(walk, records)
    if found is None:
        walk.expect(False, "a function was deleted on the way")
        return
    record, chunk = found
    store, embedder, settings = walk.workshop.store, walk.workshop.embedder, walk.workshop.settings
    engine = SearchEngine(store, embedder, settings)
    asked = {"query": chunk.symbol_name, "filters": {"repo": NAME}}
    at_head = to_json(engine.search(parse_request(asked)))["results"]
    asked = {"query": chunk.symbol_name, "filters": {"repo": NAME, "commit": record.commit}}
    at_commit = to_json(engine.search(parse_request(asked)))["results"]
    what = f"{chunk.symbol_name} of {chunk.path} searched"
    first = at_commit[0] if at_commit else {}
    walk.expect(
        (first.get("path"), first.get("symbol_name"), first.get("commit"))
        == (chunk.path, chunk.symbol_name, record.commit),
        f"{what} at {record.commit[:12]} is the first hit",
    )
    named = [hit for hit in at_head if hit["symbol_name"] == chunk.symbol_name or chunk.symbol_name in hit["text"]]
    walk.expect(not named, f"{what} at head is in none of {len(at_head)} hits")


def _deleted_function(walk: Walk, records: Sequence[TransactionRecord]) -> tuple[TransactionRecord, Chunk] | None:
    """Return a function whose name does not occur at head, and an indexed commit that has it."""
    head_text = "\n".join(chunk.text for chunk in _chunks(walk, records[-1]))
    step = max(1, len(records) // SEARCHED_COMMITS)
    for record in records[:-1:step]:
        for chunk in _chunks(walk, record):
            name = chunk.symbol_name or ""
            if chunk.symbol_type in ("function", "method") and len(name) >= LEAST_NAME and name not in head_text:
                return record, chunk
    return None


def _chunks(walk: Walk, record: TransactionRecord) -> Iterator[Chunk]:
    store = walk.workshop.store
    snapshot = version_snapshot(read_head(store), record)
    for file in store.files(snapshot):
        yield from store.chunks(snapshot, file.path, NAME)


def _keep_few(walk: Walk, keep: int, chance: random.Random, checks: int) -> None:
    """Collect all but the newest commits, and check that these are intact and the others gone."""
    before = walk.records
    began = time.perf_counter()
    done = collect_history(
        walk.workshop.store,
        RetentionSettings(keep_commits=keep, keep_days=FOREVER_DAYS, grace_seconds=0),
        [NAME],
    )
    took = time.perf_counter() - began
    given_up = sum(len(cut.given_up) for cut in done.cuts)
    print(f"keep_commits = {keep}: {given_up:,} commits dropped, {done.deleted:,} rows and records, {took:.1f} s")
    _print_store(walk)
    kept = walk.records
    walk.expect(
        [item.commit for item in kept] == [item.commit for item in before[-keep:]], f"the newest {keep} are kept"
    )
    store, embedder, settings = walk.workshop.store, walk.workshop.embedder, walk.workshop.settings
    engine = SearchEngine(store, embedder, settings)
    gone = chance.sample(before[:-keep], min(checks, len(before) - keep))
    answered = 0
    for record in gone:
        with suppress(NotIndexed):
            engine.search(parse_request({"query": "open", "filters": {"repo": NAME, "commit": record.commit}}))
            answered += 1
    walk.expect(not answered, f"{len(gone)} dropped commits are reported as not indexed")
    _check(walk, chance.sample(kept, min(checks, len(kept))))


def _at(values: Sequence[float], share: float) -> float:
    return sorted(values)[int(len(values) * share)]


def _disk(folder: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
