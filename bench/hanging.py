"""Measure searches while OpenSearch or the embedding server hangs, and how soon they are complete again.

Indexes a repository on a new node, with a model behind its own server, starts `codequarry serve`, and has clients
search continuously. Then it suspends the node (SIGSTOP) at random moments for some seconds each, and after that the
embedding server. A request counts from its start, or from the stop if it had started before. In a last round the node
gets a fifth of its processor time: it is only slow then, and no search may do without it. Failures outside the stops
are counted too. All data is in --scratch and is kept.

    python -m bench.hanging ~/clones/pallets+werkzeug --stops 20
"""

import argparse
import http.client
import json
import os
import random
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from bench.acceptance.installation import Installation, free_port, request_body
from bench.acceptance.machines import Machines
from bench.acceptance.report import percentile, print_table, progress
from bench.acceptance.speed import queries
from codequarry.shared.data_folder import private_folder

# Between two stops: the time until everything works again, and a random additional pause.
CALM_SECONDS = 10.0
SETTLED_SECONDS = 8.0
RANDOM_SECONDS = 2.0
START_SECONDS = 60
PAUSE_SECONDS = 0.02
# A slowed node alternates between being suspended and running for these seconds.
STAND_SECONDS, GO_SECONDS = 0.2, 0.05


@dataclass(frozen=True, slots=True)
class Request:
    """One request: its start and end, its status (0 if none), and whether it was answered by words only."""

    path: str
    began: float
    ended: float
    status: int
    degraded: bool = False


@dataclass(frozen=True, slots=True)
class Stop:
    """One stop of a process."""

    began: float
    ended: float


Round = Callable[[int, float, random.Random], Stop]
"""Acts on a process for some seconds."""


@dataclass
class Seen:
    """What the clients observed."""

    requests: list[Request] = field(default_factory=list)
    done: threading.Event = field(default_factory=threading.Event)

    def during(self, stop: Stop, path: str = "/search-code") -> list[Request]:
        """Return the requests that overlap a stop."""
        met = (request for request in self.requests if request.began < stop.ended and request.ended > stop.began)
        return [request for request in met if request.path == path]


def client(port: int, number: int, seen: Seen) -> None:
    """Search until the round is over."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    texts = queries(200, number)
    while not seen.done.is_set():
        body = json.dumps(request_body(random.choice(texts), None, 10))
        seen.requests.append(ask(connection, "POST", "/search-code", body))
        time.sleep(PAUSE_SECONDS)


def watcher(port: int, seen: Seen) -> None:
    """Poll /readyz until the round is over."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    while not seen.done.is_set():
        seen.requests.append(ask(connection, "GET", "/readyz", ""))
        time.sleep(0.1)


def ask(connection: http.client.HTTPConnection, method: str, path: str, body: str) -> Request:
    """Send one request and return its outcome."""
    began = time.monotonic()
    try:
        connection.request(method, path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        answer = json.loads(response.read())
    except (OSError, http.client.HTTPException, ValueError):
        connection.close()
        return Request(path, began, time.monotonic(), 0)
    return Request(path, began, time.monotonic(), response.status, bool(answer.get("degraded")))


@contextmanager
def clients(port: int, number: int) -> Iterator[Seen]:
    """Run this many clients during the block."""
    seen = Seen()
    threads = [threading.Thread(target=client, args=(port, at, seen)) for at in range(number)]
    threads.append(threading.Thread(target=watcher, args=(port, seen)))
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        seen.done.set()
        for thread in threads:
            thread.join()


def stopped(process: int, seconds: float, chance: random.Random) -> Stop:
    """Suspend a process for a while."""
    time.sleep(CALM_SECONDS + chance.uniform(0, RANDOM_SECONDS))
    began = time.monotonic()
    os.kill(process, signal.SIGSTOP)
    try:
        time.sleep(seconds)
    finally:
        os.kill(process, signal.SIGCONT)
    return Stop(began, time.monotonic())


def slowed(process: int, seconds: float, chance: random.Random) -> Stop:
    """Take most of a process's processor time for a while."""
    time.sleep(CALM_SECONDS + chance.uniform(0, RANDOM_SECONDS))
    began = time.monotonic()
    try:
        while time.monotonic() - began < seconds:
            os.kill(process, signal.SIGSTOP)
            time.sleep(STAND_SECONDS)
            os.kill(process, signal.SIGCONT)
            time.sleep(GO_SECONDS)
    finally:
        os.kill(process, signal.SIGCONT)
    return Stop(began, time.monotonic())


def failures_outside(seen: Seen, stops: Sequence[Stop]) -> int:
    """Return how many searches failed or lacked a stage although no stop was near."""
    calm = [(before.ended + SETTLED_SECONDS, after.began) for before, after in pairwise(stops)]
    calm.append((0.0, stops[0].began))
    asked = [request for request in seen.requests if request.path == "/search-code" and not is_whole(request)]
    return sum(any(since < request.began and request.ended < until for since, until in calm) for request in asked)


def row(part: str, seen: Seen, stops: Sequence[Stop]) -> list[object]:
    """Return what the clients observed during the stops of one part."""
    met = [(request, stop) for stop in stops for request in seen.during(stop)]
    waits = [request.ended - max(request.began, stop.began) for request, stop in met]
    kinds = Counter(f"{request.status}{' by words' if request.degraded else ''}" for request, _ in met)
    back = [
        min(request.ended for request in seen.requests if is_whole(request) and request.began > stop.ended)
        for stop in stops
    ]
    again = [ended - stop.ended for ended, stop in zip(back, stops, strict=True)]
    ready = Counter(request.status for stop in stops for request in seen.during(stop, "/readyz"))
    return [
        part, len(stops), ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items())),
        f"{percentile(waits, 50):.3f}", f"{percentile(waits, 95):.3f}", f"{max(waits):.2f}", f"{max(again):.2f}",
        ", ".join(f"{number} {status}" for status, number in sorted(ready.items())),
        failures_outside(seen, stops),
    ]  # fmt: skip


def is_whole(request: Request) -> bool:
    """Return whether a request is a search that was answered completely."""
    return request.path == "/search-code" and request.status == http.HTTPStatus.OK and not request.degraded


def main() -> None:
    """Print what clients observed while parts hung."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path, help="a clone to index, bare or not")
    parser.add_argument("--stops", type=int, default=20, help="stops of each part (20)")
    parser.add_argument("--seconds", type=float, default=6.0, help="length of each stop (6)")
    parser.add_argument("--clients", type=int, default=8, help="searching clients (8)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scratch", type=Path, help="keep all data here; a temporary folder if not given")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="codequarry-bench-") as folder:
        measure(asked, asked.scratch or Path(folder))


def measure(asked: argparse.Namespace, scratch: Path) -> None:
    """Start all parts, hang each of them, and print the figures."""
    ports = {name: free_port() for name in ("store", "model", "service")}
    extra = {
        "CODEQUARRY_EMBEDDING__MODEL": "words",
        "CODEQUARRY_EMBEDDING__BASE_URL": f"http://127.0.0.1:{ports['model']}/v1",
        "CODEQUARRY_EMBEDDING__DIMENSIONS": "128",
        # A search that waits for a thread must count as a wait, not as a refusal.
        "CODEQUARRY_API__LONGEST_WAIT_SECONDS": "60",
    }
    home = scratch / "home"
    private_folder(home)
    url = f"http://127.0.0.1:{ports['store']}"
    installation = Installation(home, "opensearch", url, f"bench_hanging_{ports['store']}", extra)
    machines = Machines(installation, ports)
    try:
        for name in ("store", "model"):
            machines.start(name)
        installation.run("index", str(asked.repository), "--name", "measured")
        machines.start("service")
        await_ready(ports["service"])
        node = node_process(installation)
        rounds: list[tuple[str, Round, int]] = [
            ("OpenSearch hangs", stopped, node),
            ("embedding server hangs", stopped, machines.process("model")),
            ("OpenSearch is slow", slowed, node),
        ]
        rows, chance = [], random.Random(asked.seed)
        for name, do, process in rounds:
            with clients(ports["service"], asked.clients) as seen:
                stops = [told(number, name, do(process, asked.seconds, chance)) for number in range(asked.stops)]
                time.sleep(CALM_SECONDS)
            rows.append(row(name, seen, stops))
    finally:
        machines.stop_all()
    headings = ["what", "times", "searches met", "p50 s", "p95 s", "worst s", "whole again s", "/readyz", "failed else"]
    load = os.getloadavg()[0]
    title = f"{asked.repository}, {asked.clients} clients, {asked.seconds:g} s each, load {load:.1f} at the end"
    print_table(title, headings, rows)


def told(number: int, part: str, stop: Stop) -> Stop:
    """Print a progress message and return the stop."""
    progress(f"{part}: stop {number + 1}")
    return stop


def node_process(installation: Installation) -> int:
    """Return the process id of the node."""
    process: int = installation.run("opensearch", "status")["node"]["pid"]
    return process


def await_ready(port: int) -> None:
    """Wait until the service is ready."""
    deadline = time.monotonic() + START_SECONDS
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    while ask(connection, "GET", "/readyz", "").status != http.HTTPStatus.OK:
        if time.monotonic() > deadline:
            raise SystemExit("codequarry serve did not become ready; see machines.log in its data folder")
        time.sleep(0.2)


if __name__ == "__main__":
    main()
