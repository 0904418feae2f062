"""Measure what slow clients cost others: refused requests and response times of a normal client.

Starts `codequarry serve` over a new small index, opens slow connections, and has a normal client search meanwhile. The
slow connections send the head or the body of a request at 2 bytes a second, or request much and read 1 byte a second.
All connections come from the same address.

    python -m bench.slow_clients
    python -m bench.slow_clients --connections 8 16 --seconds 5 --kinds heads
"""

import argparse
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import HTTPError

from bench.acceptance.report import print_table

ADDRESS = re.compile(r"http://127\.0\.0\.1:([1-9]\d*)")
CONNECTIONS = (0, 8, 16, 64, 256)
# Longer rounds show nothing new if no client waits longer than this.
SECONDS = 12.0
BYTES_PER_SECOND = 2.0
# The system buffers this much of an answer; the rest must wait for the reader.
ROOM_BYTES = 4096
CODE = "class Retrier:\n    def retry_later(self, job, attempt):\n        return 2.0**attempt\n"

HEAD = b"POST /search-code HTTP/1.1\r\nHost: localhost\r\nX-Slow: " + b"a" * 4000
BODY = (
    b"POST /search-code HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: 4000\r\n\r\n" + b" " * 4000
)
# Many answers that nobody reads, more than the system buffers.
READER = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 40
SENT_AT_ONCE = {"heads": 40, "bodies": 110, "readers": len(READER)}
REQUESTS = {"heads": HEAD, "bodies": BODY, "readers": READER}


@dataclass(slots=True)
class Seen:
    """What the normal client observed."""

    seconds: list[float] = field(default_factory=list)
    refused: int = 0

    def row(self) -> tuple[str, ...]:
        """Return the columns of the report."""
        total = len(self.seconds)
        p95 = statistics.quantiles(self.seconds, n=20)[-1] if total > 1 else float("nan")
        return f"{total}", f"{100 * self.refused / max(total, 1):.0f} %", f"{p95 * 1000:.0f} ms"


@dataclass(frozen=True, slots=True)
class Storm:
    """Slow connections to a service."""

    port: int
    kind: str
    count: int

    @contextmanager
    def raging(self) -> Iterator[None]:
        """Keep the connections slow, and reopen those that the service closes."""
        over = threading.Event()
        threads = [threading.Thread(target=self._drip, args=(over,), daemon=True) for _ in range(self.count)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            over.set()
            for thread in threads:
                thread.join()

    def _drip(self, over: threading.Event) -> None:
        while not over.is_set():
            with suppress(OSError):
                self._one(over)
            over.wait(0.05)

    def _one(self, over: threading.Event) -> None:
        request, begun = REQUESTS[self.kind], SENT_AT_ONCE[self.kind]
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM_BYTES)
            client.settimeout(5)
            client.connect(("127.0.0.1", self.port))
            client.sendall(request[:begun])
            for position in range(begun, len(request)) if begun < len(request) else iter(int, 1):
                if over.wait(1 / BYTES_PER_SECOND):
                    return
                if self.kind == "readers":
                    if not client.recv(1):
                        return
                else:
                    client.sendall(request[position : position + 1])


def search(port: int, until: Callable[[], bool]) -> Seen:
    """Search repeatedly, as a normal client does, and return what it observed."""
    seen = Seen()
    body = json.dumps({"query": "retry later"}).encode()
    while not until():
        began = time.perf_counter()
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/search-code", body, {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                answer.read()
        except HTTPError as error:
            seen.refused += 1
            error.close()
        except OSError:
            seen.refused += 1
        seen.seconds.append(time.perf_counter() - began)
        time.sleep(0.02)
    return seen


@contextmanager
def served(scratch: Path) -> Iterator[int]:
    """Serve a small new index and yield the port."""
    environment = {**os.environ, "CODEQUARRY_HOME": str(scratch / "home")}
    origin = scratch / "origin"
    origin.mkdir()
    (origin / "retry.py").write_text(CODE)
    account = ("-c", "user.name=Bench", "-c", "user.email=bench@example.org", "-c", "commit.gpgsign=false")
    for arguments in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "--message", "one")):
        subprocess.run(["git", "-C", str(origin), *account, *arguments], check=True)
    program = [sys.executable, "-m", "codequarry.cli.main"]
    subprocess.run([*program, "index", str(origin)], env=environment, check=True, capture_output=True)
    log = (scratch / "service.log").open("w+")
    service = subprocess.Popen([*program, "serve", "--port", "0"], env=environment, stderr=log)
    try:
        while not (found := ADDRESS.search((scratch / "service.log").read_text())):
            time.sleep(0.1)
        yield int(found.group(1))
    finally:
        service.kill()
        service.wait()
        log.close()


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, nargs="+", default=CONNECTIONS)
    parser.add_argument("--kinds", nargs="+", choices=REQUESTS, default=list(REQUESTS))
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long each storm takes")
    arguments = parser.parse_args()
    rows: list[tuple[str, ...]] = []
    for kind in arguments.kinds:
        for count in arguments.connections:
            # Each storm gets a new service, because the storm before it leaves connections behind.
            with ExitStack() as opened:
                scratch = opened.enter_context(tempfile.TemporaryDirectory())
                port = opened.enter_context(served(Path(scratch)))
                search(port, iter([False, True]).__next__)
                opened.enter_context(Storm(port, kind, count).raging())
                time.sleep(1)
                end = time.monotonic() + arguments.seconds
                seen = search(port, lambda end=end: time.monotonic() > end)
                rows.append((kind, str(count), *seen.row()))
    print_table("What a normal client saw", ("slow", "connections", "requests", "refused", "p95"), rows)


if __name__ == "__main__":
    main()
