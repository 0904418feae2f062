"""Import a large repository with one worker and with two, and compare the wall time and the processor time.

On one machine both workers may use every core. Two workers can at best equal one there, because the reading processes
of a single worker use every core as well. Two machines of one core each are imitated by giving each worker a separate
core (`taskset`), and compared with one worker on one core. Each run has an empty index and empty mirrors, and starts
when all workers wait for messages. The two runs of a pair follow each other, so that other load on the machine affects
both. If other programs keep the cores busy, the seconds say little. The processor time of the busier worker is then a
lower bound for two separate machines.

    python -m bench.acceptance.sharing --repos ~/clones --repo typeorm/typeorm --pairs 3
"""

import argparse
import os
import random
import statistics
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis

from bench.acceptance.corpus import scratch_folder
from bench.acceptance.installation import STORES, Installation, add_store_options, free_port
from bench.acceptance.machines import Machines
from bench.acceptance.processes import MemoryWatch, processor_seconds
from bench.acceptance.report import print_json, print_table, progress
from bench.acceptance.repositories import find_clone
from codequarry.search_api.jobs.dispatch import QueueIndexer
from codequarry.search_api.search.backend import Backend
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.catalog.repositories import read_summary
from codequarry.shared.index.opened_index import OpenIndex, open_index
from codequarry.shared.jobs.job import Job, JobRequest
from codequarry.shared.jobs.job_list import read_job
from codequarry.shared.store.factory import editions_of

LOOK_SECONDS = 0.05
START_SECONDS = 60.0
LAST_SECONDS = 1800.0
MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Way:
    """A set of workers, each with the cores that it may use."""

    name: str
    workers: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One worker against two."""

    name: str
    alone: Way
    shared: Way


@dataclass(frozen=True, slots=True)
class Outcome:
    """The cost of one import; processor time by worker. ``chunks`` must be the same in all."""

    seconds: float
    processor_seconds: tuple[float, ...]
    peak_bytes: int
    chunks: int


def comparisons() -> list[Comparison]:
    """Return one machine with all cores of this one, and two machines with one core each."""
    cores = tuple(sorted(os.sched_getaffinity(0)))
    first, second = cores[:1], cores[1:2]
    if not second:
        raise SystemExit("this check needs two cores")
    return [
        Comparison("one machine", Way("1 worker, all cores", (cores,)), Way("2 workers, all cores", (cores, cores))),
        Comparison("two machines", Way("1 worker, 1 core", (first,)), Way("2 workers, 1 core each", (first, second))),
    ]


def measure(way: Way, origin: Path, folder: Path, options: argparse.Namespace) -> Outcome:
    """Import a repository into an empty index and return the cost."""
    ports = {"queue": free_port()}
    extra = {"CODEQUARRY_QUEUE__URL": f"redis://127.0.0.1:{ports['queue']}/0"} | dict(options.set)
    installation = Installation(folder / "home", options.store, options.opensearch, options.index, extra)
    machines = Machines(installation, ports, concurrency=1)
    try:
        machines.start("queue")
        for at, cores in enumerate(way.workers):
            # Each machine has its own mirrors. An embedded index lies in the same folder as they do.
            own = {"CODEQUARRY_HOME": str(folder / f"home-{at}")} if options.store == "opensearch" else {}
            machines.start(f"worker-{at}", cores=cores, variables=own)
        _await_listeners(ports["queue"], len(way.workers))
        with closing(_open(installation)) as index:
            return _import(index, installation, machines, origin)
    finally:
        machines.stop_all()
        installation.drop()


def _import(index: OpenIndex, installation: Installation, machines: Machines, origin: Path) -> Outcome:
    roots = machines.workers()
    before = list(map(processor_seconds, roots))
    with MemoryWatch(*roots) as memory:
        began = time.perf_counter()
        asked = QueueIndexer(Backend(installation.settings, index.store, index.embedder)).submit(
            JobRequest("measured", str(origin))
        )
        job = _await_end(index, asked, machines)
        seconds = time.perf_counter() - began
        spent = tuple(processor_seconds(root) - already for root, already in zip(roots, before, strict=True))
    if job.state != "done":
        raise SystemExit(f"the import ended as {job.state}: {job.error}; see {installation.home}/machines.log")
    head = read_head(index.store)
    timeline = head.defaults["measured"]
    summary = read_summary(index.store, timeline, head.timelines[timeline].published)
    return Outcome(seconds, spent, memory.peak_bytes, summary.chunks if summary else 0)


def _open(installation: Installation) -> OpenIndex:
    with closing(editions_of(installation.settings)) as editions:
        return open_index(installation.settings, editions)


def _await_listeners(port: int, workers: int) -> None:
    """Wait until every worker waits for messages."""
    deadline = time.monotonic() + START_SECONDS
    with redis.Redis(port=port) as client:
        while time.monotonic() < deadline:
            try:
                if client.info("clients")["blocked_clients"] >= workers:
                    return
            except redis.ConnectionError:
                pass
            time.sleep(LOOK_SECONDS)
    raise SystemExit("the workers did not start to wait for messages in time; see machines.log in the data folder")


def _await_end(index: OpenIndex, asked: Job, machines: Machines) -> Job:
    deadline = time.monotonic() + LAST_SECONDS
    while time.monotonic() < deadline:
        if machines.lost():
            raise SystemExit(f"these workers ended before the import: {', '.join(machines.lost())}")
        job = read_job(index.store, asked.id)
        if job is not None and job.is_finished:
            return job
        time.sleep(LOOK_SECONDS)
    raise SystemExit("the import did not end in time")


def compare(comparison: Comparison, origin: Path, scratch: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure pairs in random order and return one row for each pair."""
    rows = []
    chance = random.Random(options.seed)
    for pair in range(options.pairs):
        outcomes: dict[Way, Outcome] = {}
        ways = [comparison.alone, comparison.shared]
        chance.shuffle(ways)
        for way in ways:
            with scratch_folder(None) as folder:
                done = outcomes[way] = measure(way, origin, folder, options)
            took = f"{done.seconds:.1f} s, processor time {', '.join(f'{cpu:.1f} s' for cpu in done.processor_seconds)}"
            progress(f"{comparison.name}, pair {pair + 1}: {way.name}: {took}")
        alone, shared = outcomes[comparison.alone], outcomes[comparison.shared]
        if alone.chunks != shared.chunks:
            raise SystemExit(f"{alone.chunks} chunks with one worker, but {shared.chunks} with two")
        rows.append({"comparison": comparison.name, "chunks": alone.chunks} | _figures(alone, shared))
    return rows


def _figures(alone: Outcome, shared: Outcome) -> Mapping[str, float]:
    return {
        "1 worker s": alone.seconds,
        "2 workers s": shared.seconds,
        "times as fast": alone.seconds / shared.seconds,
        "1 worker cpu s": sum(alone.processor_seconds),
        "2 workers cpu s": sum(shared.processor_seconds),
        "cpu times": sum(shared.processor_seconds) / sum(alone.processor_seconds),
        "busier cpu s": max(shared.processor_seconds),
        "1 worker peak MB": alone.peak_bytes / MEGABYTE,
        "2 workers peak MB": shared.peak_bytes / MEGABYTE,
    }


def medians(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the median of each figure over all pairs of a comparison."""
    figures = {name: statistics.median(row[name] for row in rows) for name in rows[0] if name != "comparison"}
    return {"comparison": f"{rows[0]['comparison']}, median of {len(rows)}"} | figures


def _setting(text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    return "CODEQUARRY_" + key.upper().replace(".", "__"), value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repos", type=Path, required=True, metavar="FOLDER", help="clones, called owner+name or name")
    parser.add_argument("--repo", default="typeorm/typeorm", metavar="OWNER/NAME", help="repository (typeorm/typeorm)")
    parser.add_argument("--pairs", type=int, default=3, help="number of pairs (3)")
    parser.add_argument("--only", choices=["one machine", "two machines"], help="run only this comparison")
    parser.add_argument("--store", choices=STORES, default="embedded")
    parser.add_argument("--set", type=_setting, action="append", default=[], metavar="KEY=VALUE", help="a setting")
    parser.add_argument("--seed", type=int, default=1, help="seed of the order within pairs (1)")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    add_store_options(parser)
    options = parser.parse_args()
    origin = find_clone(options.repos, options.repo).git_dir
    rows: list[dict[str, Any]] = []
    with scratch_folder(None) as scratch:
        for comparison in comparisons():
            if options.only in (None, comparison.name):
                pairs = compare(comparison, origin, scratch, options)
                rows += [*pairs, medians(pairs)]
    if options.json:
        print_json({"imports": rows})
        return
    print_table("imports", list(rows[0]), [list(row.values()) for row in rows])


if __name__ == "__main__":
    main()
