"""Compare the speed of two versions: both index the same repositories and answer the same searches in turns.

A version is the folder of a virtual environment that has it. Indexing: each run uses an empty data folder with a
separate embedding cache; then a running process indexes commits of one file each to the first repository
(``one_commit.py``). Searching: both services run at the same time and take turns to answer ten requests over a
persistent connection. The questions are those of bench/questions with a number appended, so that no cache can answer.

    python -m bench.two_versions ~/old/.venv .venv ~/clones/celery --rounds 5
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path

from bench.acceptance.installation import free_port
from bench.acceptance.report import percentile, print_table, progress
from bench.acceptance.speed import queries

START_SECONDS = 30
TURN = 10
WARM_UP = 30


@dataclass(slots=True)
class Version:
    """One version: how to run it, and its measurements in seconds."""

    name: str
    environment: Path
    home: Path
    clock: list[float] = field(default_factory=list)
    processors: list[float] = field(default_factory=list)
    commits: list[float] = field(default_factory=list)
    searches: list[float] = field(default_factory=list)

    def command(self, home: Path, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a command with its data in ``home``."""
        variables = {name: value for name, value in os.environ.items() if not name.startswith("CODEQUARRY_")}
        return subprocess.Popen(
            [self.environment / "bin" / "codequarry", *arguments],
            env=variables | {"CODEQUARRY_HOME": str(home)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def index(self, home: Path, repositories: Sequence[Path]) -> tuple[float, float]:
        """Index repositories one after the other; return the wall time and the processor time."""
        before, started = os.times(), time.monotonic()
        for repository in repositories:
            if self.command(home, "index", str(repository)).wait():
                raise SystemExit(f"{self.name}: codequarry index {repository} failed")
        after = os.times()
        used = after.children_user + after.children_system - before.children_user - before.children_system
        return time.monotonic() - started, used

    def index_commits(self, repository: Path) -> list[float]:
        """Return the seconds of each of several commits that change one file."""
        script = Path(__file__).with_name("one_commit.py")
        done = subprocess.run([self.environment / "bin" / "python", script, repository], capture_output=True)
        if done.returncode:
            raise SystemExit(f"{self.name}: {script.name} failed: {done.stderr.decode()}")
        found: list[float] = json.loads(done.stdout)
        return found

    def serve(self, stack: ExitStack) -> HTTPConnection:
        """Run the service until the stack is closed, and connect to it."""
        port = free_port()
        shown = subprocess.run([self.environment / "bin" / "codequarry", "serve", "--help"], capture_output=True)
        trust = ["--trust-loopback"] if b"--trust-loopback" in shown.stdout else []
        process = self.command(self.home, "serve", "--port", str(port), *trust)
        stack.callback(process.wait)
        stack.callback(process.terminate)
        connection = HTTPConnection("127.0.0.1", port)
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            try:
                connection.request("GET", "/readyz")
                if connection.getresponse().read():
                    return connection
            except OSError:
                connection.close()
                time.sleep(0.1)
        raise SystemExit(f"{self.name}: codequarry serve did not become ready on port {port}")


def search(connection: HTTPConnection, query: str) -> float:
    """Return the seconds that an answer took."""
    started = time.perf_counter()
    body = json.dumps({"query": query, "top_k": 10})
    connection.request("POST", "/search-code", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = response.read()
    if response.status != 200:
        raise SystemExit(f"POST /search-code answered {response.status}: {answer!r}")
    return time.perf_counter() - started


def measure_indexing(versions: Sequence[Version], repositories: Sequence[Path], rounds: int, scratch: Path) -> None:
    """Index everything ``rounds`` times with each version; the order alternates."""
    for at in range(rounds):
        progress(f"indexing, round {at + 1} of {rounds}")
        for version in versions if at % 2 else reversed(versions):
            with tempfile.TemporaryDirectory(dir=scratch) as home:
                clock, processors = version.index(Path(home), repositories)
            version.clock.append(clock)
            version.processors.append(processors)
            version.commits += version.index_commits(repositories[0])


def measure_searches(versions: Sequence[Version], repositories: Sequence[Path], count: int) -> None:
    """Search each service ``count`` times."""
    questions = queries(WARM_UP * 4, seed=0)
    chance = random.Random(0)
    for version in versions:
        version.home.mkdir(mode=0o700)
        version.index(version.home, repositories)
    with ExitStack() as stack:
        connections = [(version, version.serve(stack)) for version in versions]
        for _, connection in connections:
            for question in questions[:WARM_UP]:
                search(connection, question)
        progress(f"searching, {count} times each")
        for _ in range(count // TURN):
            asked = [f"{chance.choice(questions)} {chance.randrange(10**6)}" for _ in range(TURN)]
            for version, connection in connections:
                version.searches += [search(connection, question) for question in asked]


def main() -> None:
    """Measure and print the medians of both versions, and the change from the first to the second."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="virtual environment of the older version")
    parser.add_argument("after", type=Path, help="virtual environment of the newer version")
    parser.add_argument("repositories", type=Path, nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--searches", type=int, default=600)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        sides = [("before", given.before), ("after", given.after)]
        versions = [Version(name, environment, scratch / name) for name, environment in sides]
        measure_indexing(versions, given.repositories, given.rounds, scratch)
        measure_searches(versions, given.repositories, given.searches)
    figures = {
        "indexing, clock, s": [statistics.median(version.clock) for version in versions],
        "indexing, processors, s": [statistics.median(version.processors) for version in versions],
        "a commit of one file, ms": [statistics.median(version.commits) * 1000 for version in versions],
        "search p50, ms": [percentile(version.searches, 50) * 1000 for version in versions],
        "search p95, ms": [percentile(version.searches, 95) * 1000 for version in versions],
    }
    rows = [[name, before, after, 100 * (after / before - 1)] for name, (before, after) in figures.items()]
    print_table("two versions in turns", ["figure", "before", "after", "change %"], rows)


if __name__ == "__main__":
    main()
