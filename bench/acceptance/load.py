"""Search with many clients for minutes while repositories are indexed: errors, latency and memory.

The repositories of bench/questions are indexed. Then the clients search through `codequarry serve`, each over its own
persistent connection, with questions, short words, names, filters and pages, as fast as the answers come. Meanwhile
further repositories are indexed into the same index, one after the other, alternating between two commits. Both commits
were indexed before the service started, but each switch adds history, and so rows. Memory is the proportional set size
of the service's processes, sampled twice a second; the figures are the medians of each minute. The last minute is
compared with the first, and with a fresh service under the same clients on the final index: what the running service
uses above that is lost memory, the rest is the cost of the rows.

    python -m bench.acceptance.load --repos ~/clones --more jhy/jsoup square/okio
"""

import argparse
import http.client
import json
import random
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.acceptance.corpus import scratch_folder
from bench.acceptance.installation import STORES, Installation, add_store_options, request_body
from bench.acceptance.processes import memory_of, tree
from bench.acceptance.questions import load
from bench.acceptance.report import percentile, print_json, print_table, progress
from bench.acceptance.repositories import Clone, empty_repository, find_clone, git, pinned
from bench.acceptance.speed import queries

CLIENTS = 50
SECONDS = 300
SAMPLE_SECONDS = 0.5
MEGABYTE = 1_000_000
# Far enough apart that a run has files to write.
COMMITS_BACK = 50
LANGUAGES = ("python", "go", "typescript", "java", "ruby")


@dataclass
class Seen:
    """What the clients observed: milliseconds and statuses."""

    took: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, status: str, milliseconds: float) -> None:
        """Count one answer."""
        with self.lock:
            self.statuses[status] += 1
            self.took.append(milliseconds)


def mixed_bodies(number: int, seed: int) -> list[dict[str, Any]]:
    """Return search bodies of every kind."""
    chance = random.Random(seed)
    bodies = []
    for text in queries(number, seed):
        body = request_body(text, None, chance.choice((5, 10, 20, 100)))
        kind = chance.random()
        if kind < 0.2:
            body["filters"] = {"language": chance.choice(LANGUAGES)}
        elif kind < 0.3:
            body["filters"] = {"path": chance.choice(("src/**", "!tests/", "*.py"))}
        elif kind < 0.4:
            body["explain"] = True
        elif kind < 0.5:
            body["query"] = text.split()[-1]
        bodies.append(body)
    return bodies


def ask(port: int, number: int, until: float, seen: Seen) -> None:
    """Search until the time is over, on one connection that is reopened when it breaks."""
    bodies = mixed_bodies(200, number)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    at = 0
    while time.monotonic() < until:
        began = time.perf_counter()
        try:
            body = json.dumps(bodies[at % len(bodies)])
            connection.request("POST", "/search-code", body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            response.read()
            status = str(response.status)
        except (OSError, http.client.HTTPException) as error:
            status = type(error).__name__
            connection.close()
        seen.add(status, (time.perf_counter() - began) * 1000)
        at += 1


def index_moved(installation: Installation, clone: Clone, scratch: Path, back: int) -> None:
    """Index a repository as it was some commits ago, under a separate name."""
    target = scratch / f"moving-{clone.short_name}"
    if not target.exists():
        empty_repository(target, [clone.git_dir])
    git(target, "update-ref", "refs/heads/main", f"{clone.commit}~{back}" if back else clone.commit)
    installation.run("index", str(target), "--name", f"moving-{clone.short_name}")


def keep_indexing(
    installation: Installation, clones: list[Clone], scratch: Path, until: float, runs: list[str]
) -> None:
    """Index repositories one after the other, alternating between an older and a newer commit."""
    step = 0
    while time.monotonic() < until and clones:
        clone = clones[step % len(clones)]
        index_moved(installation, clone, scratch, COMMITS_BACK * (1 - (step // len(clones)) % 2))
        runs.append(clone.short_name)
        step += 1


def watch_memory(process: int, until: float) -> list[tuple[float, int]]:
    """Sample the memory of a process tree as (seconds since the start, bytes)."""
    began, samples = time.monotonic(), []
    while time.monotonic() < until:
        samples.append((time.monotonic() - began, sum(map(memory_of, tree(process)))))
        time.sleep(SAMPLE_SECONDS)
    return samples


def by_window(samples: list[tuple[float, int]], seconds: float) -> list[float]:
    """Return the median size in each full window of this many seconds, in order."""
    windows: dict[int, list[int]] = {}
    for at, size in samples:
        windows.setdefault(int(at // seconds), []).append(size)
    # The remainder at the end may be too short to compare.
    return [statistics.median(sizes) for sizes in windows.values() if 2 * len(sizes) > len(windows[0])]


def serve_clients(
    installation: Installation, clients: int, seconds: float, seen: Seen, meanwhile: Callable[[float], None] | None
) -> list[tuple[float, int]]:
    """Run clients against a new service, and a task beside them; return samples of the service's memory."""
    with installation.running() as (process, port):
        until = time.monotonic() + seconds
        threads = [threading.Thread(target=ask, args=(port, number, until, seen)) for number in range(clients)]
        if meanwhile:
            threads.append(threading.Thread(target=meanwhile, args=(until,)))
        for thread in threads:
            thread.start()
        samples = watch_memory(process.pid, until)
        for thread in threads:
            thread.join()
    return samples


def measure(installation: Installation, options: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    """Run the clients against one service and return the figures."""
    moving = [find_clone(options.repos, name) for name in options.more]
    for clone in moving:
        progress(f"indexing two commits of {clone.short_name}")
        index_moved(installation, clone, scratch, COMMITS_BACK)
        index_moved(installation, clone, scratch, 0)
    progress(f"{options.clients} clients for {options.seconds:g} s")
    seen, runs = Seen(), list[str]()
    aside = Installation(scratch / "indexer", installation.store, installation.opensearch, installation.index)
    indexer = aside if installation.store == "opensearch" else installation
    samples = serve_clients(
        installation,
        options.clients,
        options.seconds,
        seen,
        lambda until: keep_indexing(indexer, moving, scratch, until, runs),
    )
    progress("a fresh service on the same index")
    window = min(60.0, options.seconds / 3)
    fresh_samples = serve_clients(installation, options.clients, window, Seen(), None)
    minutes = by_window(samples, window)
    return {
        "store": installation.store,
        "clients": options.clients,
        "searches": len(seen.took),
        "per second": len(seen.took) / options.seconds,
        "statuses": " ".join(f"{status}:{count}" for status, count in sorted(seen.statuses.items())),
        "p50 ms": percentile(seen.took, 50),
        "p95 ms": percentile(seen.took, 95),
        "p99 ms": percentile(seen.took, 99),
        "index runs": len(runs),
        "first minute MB": minutes[0] / MEGABYTE,
        "last minute MB": minutes[-1] / MEGABYTE,
        "fresh service MB": statistics.median(size for _, size in fresh_samples) / MEGABYTE,
        "MB by minute": " ".join(f"{size / MEGABYTE:.0f}" for size in minutes),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repos", type=Path, required=True, metavar="FOLDER", help="clones: owner+name or name")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="OWNER/NAME", help="index these instead of bench/questions"
    )
    parser.add_argument("--more", nargs="+", default=[], metavar="OWNER/NAME", help="repositories to index meanwhile")
    parser.add_argument("--clients", type=int, default=CLIENTS, help=f"number of clients ({CLIENTS})")
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"how long they search ({SECONDS})")
    parser.add_argument("--scratch", type=Path, metavar="FOLDER", help="keep the repositories and the index here")
    parser.add_argument("--store", choices=STORES, default="embedded")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    add_store_options(parser)
    options = parser.parse_args()
    with scratch_folder(options.scratch) as scratch:
        installation = Installation(scratch / options.store, options.store, options.opensearch, options.index)
        try:
            for name in options.only or [questionnaire.repo for questionnaire in load()]:
                progress(f"indexing {name}")
                clone = find_clone(options.repos, name)
                installation.run("index", str(pinned(clone, scratch)), "--name", clone.short_name)
            figures = measure(installation, options, scratch)
        finally:
            if options.scratch is None:
                installation.drop()
    if options.json:
        print_json(figures)
    else:
        print_table("under load", list(figures), [list(figures.values())])


if __name__ == "__main__":
    main()
