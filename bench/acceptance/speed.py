"""Measure indexing (speed, memory, disk) and the duration of searches.

Indexing: a mixed repository, made in the scratch folder from the HEAD trees of public repositories and plain folders
(or any other with --repo), into an empty data folder. Memory is the proportional set size of all processes together,
sampled five times a second. Two more runs follow: after a commit that changes one file, and with nothing new.
Searching: the questions of bench/questions and words from them, after a warm-up, first in this process and then through
`codequarry serve` over a persistent connection. With --store opensearch the engine's memory and disk are not counted.

    python -m bench.acceptance.speed --repos ~/clones --folders /usr/local/go/src
"""

import argparse
import os
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.acceptance.corpus import scratch_folder
from bench.acceptance.installation import STORES, Engine, Installation, Service, add_store_options
from bench.acceptance.mixed import edit_one_file, files_in, make_mixed
from bench.acceptance.processes import MemoryWatch
from bench.acceptance.questions import load
from bench.acceptance.report import percentile, print_json, print_table, progress
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.model import Filters
from codequarry.shared.versions.snapshots import head_snapshot

NAME = "mixed"
MEGABYTE = 1_000_000
# Enough for a stable 95th percentile.
SEARCHES = 300
WARM_UP = 20


@dataclass(frozen=True, slots=True)
class Run:
    """One run of `codequarry index`."""

    what: str
    seconds: float
    peak_bytes: int
    processes: int


def index(installation: Installation, source: Path, what: str) -> Run:
    """Index to the end and watch the memory."""
    progress(f"indexing: {what}")
    began = time.monotonic()
    process = installation.start("index", str(source), "--name", NAME, "--json")
    with MemoryWatch(process.pid) as watch:
        code = process.wait()
    seconds = time.monotonic() - began
    if code:
        raise SystemExit((installation.home / "command.err").read_text(errors="replace"))
    return Run(what, seconds, watch.peak_bytes, watch.peak_processes)


def chunks_in(installation: Installation) -> int:
    """Return the number of live chunks."""
    with installation.open_store() as store:
        return store.count(head_snapshot(read_head(store), [NAME]), Filters())


def disk_bytes(folder: Path) -> dict[str, int]:
    """Return the allocated bytes of each entry of a data folder."""
    return {entry.name: _allocated(entry) for entry in sorted(folder.iterdir())}


def _allocated(entry: Path) -> int:
    # Counts blocks, as du does, because a file may have holes. st_blocks is in units of 512 bytes on every system.
    paths = [entry, *entry.rglob("*")] if entry.is_dir() else [entry]
    return sum(os.lstat(path).st_blocks * 512 for path in paths)


def queries(number: int, seed: int) -> list[str]:
    """Return questions and short samples of their words, in random order."""
    chance = random.Random(seed)
    texts = [question.text for questionnaire in load() for question in questionnaire.questions]
    short = [" ".join(chance.sample(text.rstrip("?").split(), 3)) for text in texts]
    return [chance.choice(texts + short) for _ in range(number)]


def timed(client: Engine | Service, texts: Sequence[str]) -> list[float]:
    """Return the milliseconds of each search after a warm-up."""
    for text in texts[:WARM_UP]:
        client.search(text)
    took = []
    for text in texts:
        began = time.perf_counter()
        client.search(text)
        took.append((time.perf_counter() - began) * 1000)
    return took


def search_rows(installation: Installation, texts: Sequence[str]) -> list[dict[str, Any]]:
    """Measure searches in this process and over HTTP."""
    rows = []
    for way, opened in (("in process", installation.engine()), ("HTTP", installation.service())):
        progress(f"searching: {way}")
        with opened as client:
            took = timed(client, texts)
        figures = {f"p{percent} ms": percentile(took, percent) for percent in (50, 95, 99)}
        rows.append({"store": installation.store, "way": way, "searches": len(took)} | figures)
    return rows


def index_rows(runs: Sequence[Run], files: int) -> list[dict[str, Any]]:
    """Return the figures of the indexing runs."""
    return [
        {
            "run": run.what,
            "seconds": run.seconds,
            "files/min": files / run.seconds * 60 if run is runs[0] else 0.0,
            "peak MB": run.peak_bytes / MEGABYTE,
            "processes": run.processes,
        }
        for run in runs
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    source = parser.add_argument_group("repository to index")
    source.add_argument("--repo", type=Path, metavar="PATH", help="index this repository instead of a mixed one")
    source.add_argument("--repos", type=Path, metavar="FOLDER", help="clones, called owner+name or name")
    source.add_argument(
        "--only", nargs="+", default=[], metavar="OWNER/NAME", help="use these instead of bench/questions"
    )
    source.add_argument("--more", nargs="+", default=[], metavar="OWNER/NAME", help="in addition to bench/questions")
    source.add_argument("--folders", nargs="+", type=Path, default=[], metavar="FOLDER", help="add plain folders")
    parser.add_argument("--scratch", type=Path, metavar="FOLDER", help="keep the repository and the index here")
    parser.add_argument("--store", choices=STORES, default="embedded")
    parser.add_argument("--searches", type=int, default=SEARCHES, help=f"number of searches ({SEARCHES})")
    parser.add_argument("--seed", type=int, default=1, help="seed of the queries (1)")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")
    add_store_options(parser)
    options = parser.parse_args()
    if options.repo is None and options.repos is None:
        parser.error("give --repos FOLDER or --repo PATH")
    with scratch_folder(options.scratch) as scratch:
        installation = Installation(scratch / options.store, options.store, options.opensearch, options.index)
        if installation.home.exists():
            parser.error(f"{installation.home} exists, but a cold run needs an empty data folder")
        try:
            _measure(installation, options, scratch)
        finally:
            if options.scratch is None:
                installation.drop()


def _measure(installation: Installation, options: argparse.Namespace, scratch: Path) -> None:
    repository = options.repo
    if repository is None:
        names = options.only or [questionnaire.repo for questionnaire in load()] + options.more
        repository = make_mixed(scratch / "mixed.git", options.repos, names, options.folders)
    files = files_in(repository)
    runs = [index(installation, repository, f"cold, {files} files")]
    if options.repo is None:
        runs.append(index(installation, repository, f"one file changed ({edit_one_file(repository)})"))
    runs.append(index(installation, repository, "nothing new"))
    chunks = chunks_in(installation)
    disk = disk_bytes(installation.home)
    indexing = index_rows(runs, files)
    disk_rows = [
        {"entry": name, "MB": size / MEGABYTE, "MB per 10,000 chunks": size / MEGABYTE / chunks * 10_000}
        for name, size in disk.items()
    ]
    searching = search_rows(installation, queries(options.searches, options.seed))
    if options.json:
        print_json({"chunks": chunks, "indexing": indexing, "disk": disk_rows, "searching": searching})
        return
    for title, rows in (
        (f"indexing into {installation.store}", indexing),
        (f"disk, {chunks} chunks", disk_rows),
        (f"searching {chunks} chunks", searching),
    ):
        print_table(title, list(rows[0]), [list(row.values()) for row in rows])


if __name__ == "__main__":
    main()
