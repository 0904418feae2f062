"""Slow, many, invalid and unknown clients against a real `codequarry serve`: other clients must not notice."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

ADDRESS = re.compile(r"http://127\.0\.0\.1:([1-9]\d*)")
KEY = "the key of the administrator of this test"
WAIT_SECONDS = 60
STORM = 64
MOST_BODY = 10_000
HOST = b"Host: localhost\r\nAuthorization: Bearer " + KEY.encode() + b"\r\n"
JSON = HOST + b"Content-Type: application/json\r\n"
SEARCH = json.dumps({"query": "retry"}).encode()


@dataclass(frozen=True)
class Service:
    """A running service, and the files it writes to."""

    process: subprocess.Popen
    port: int
    log: Path
    audit: Path

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), WAIT_SECONDS)

    def exchange(self, *parts: bytes) -> bytes:
        """Send parts of a request one after the other and return everything until the connection is closed."""
        with self.connect() as client:
            for part in parts:
                client.sendall(part)
                time.sleep(0.05)
            received = b""
            while data := client.recv(65_536):
                received += data
            return received

    def get(self, path: str = "/repos", key: str | None = KEY) -> tuple[int, str | None, dict]:
        """Send a request as a normal client does and return status, Retry-After and body."""
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_SECONDS)
        try:
            client.request("GET", path, headers={"Authorization": f"Bearer {key}"} if key else {})
            answer = client.getresponse()
            return answer.status, answer.headers["Retry-After"], json.loads(answer.read())
        finally:
            client.close()

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(WAIT_SECONDS) == 0


@contextmanager
def served(folder: Path, **settings: object) -> Iterator[Service]:
    """Serve an empty index on a free port."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CODEQUARRY_")}
    environment |= {"CODEQUARRY_HOME": str(folder / "home"), "CODEQUARRY_AUTH__ADMIN_KEY": KEY}
    given = {"audit.file": folder / "audit.jsonl", "api.max_body_bytes": MOST_BODY} | settings
    options = [part for name, value in given.items() for part in ("--set", f"{name}={value}")]
    log = folder / "service.log"
    command = [sys.executable, "-m", "codequarry.cli.main", *options, "serve", "--port", "0"]
    with log.open("w") as errors:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=errors)
        try:
            deadline = time.monotonic() + WAIT_SECONDS
            while not (found := ADDRESS.search(log.read_text())):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.05)
            yield Service(process, int(found.group(1)), log, folder / "audit.jsonl")
        finally:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Yield a service with its default limits."""
    with served(tmp_path_factory.mktemp("service")) as running:
        yield running


SLOW = {
    "nothing": b"",
    "heads": b"GET /repos HTTP/1.1\r\nHost: loc",
    "bodies": b"POST /search-code HTTP/1.1\r\n" + JSON + b"Content-Length: 4000\r\n\r\n{",
    "chunks": b"POST /search-code HTTP/1.1\r\n" + JSON + b"Transfer-Encoding: chunked\r\n\r\nfff\r\n{",
    "readers": (b"GET /openapi.json HTTP/1.1\r\n" + HOST + b"\r\n") * 20,
}


@contextmanager
def storm(service: Service, kind: str) -> Iterator[None]:
    """Keep slow connections open, each of which transfers a byte from time to time."""
    over = threading.Event()
    with ExitStack() as opened:
        clients = []
        for _ in range(STORM):
            client = opened.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.settimeout(WAIT_SECONDS)
            client.connect(("127.0.0.1", service.port))
            client.sendall(SLOW[kind])
            clients.append(client)

        def drip() -> None:
            while not over.wait(0.5):
                for client in clients:
                    with suppress(OSError):
                        if kind == "readers":
                            client.recv(1, socket.MSG_DONTWAIT)
                        elif kind != "nothing":
                            client.send(b"a", socket.MSG_DONTWAIT)

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


@pytest.mark.parametrize("kind", SLOW)
def test_no_client_is_refused_because_others_are_slow(service: Service, kind: str) -> None:
    with storm(service, kind):
        assert [service.get()[0] for _ in range(30)] == [200] * 30


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def problem(answer: bytes) -> dict:
    """Return the body of a refusal, which must be one complete answer that ends the connection."""
    head, body = answer.split(b"\r\n\r\n", 1)
    assert b"application/problem+json" in head
    assert b"connection: close" in head.lower()
    return json.loads(body)


def post(body: bytes) -> bytes:
    return b"POST /search-code HTTP/1.1\r\n" + JSON + f"Content-Length: {len(body)}\r\n\r\n".encode() + body


CLOSE = b"Connection: close\r\n"
CHUNKED = b"POST /search-code HTTP/1.1\r\n" + JSON + CLOSE + b"Transfer-Encoding: chunked\r\n\r\n"
EXPECTS = b"POST /search-code HTTP/1.1\r\n" + JSON + CLOSE + b"Expect: 100-continue\r\n"
SIZE = f"{len(SEARCH):x}\r\n".encode()


def test_requests_in_all_their_forms_are_answered(service: Service) -> None:
    last = b"GET /repos HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n"
    pipelined = service.exchange(post(SEARCH) + post(SEARCH) + last)
    assert pipelined.count(b"HTTP/1.1 200 OK") == 3
    in_pieces = post(SEARCH) + last
    assert service.exchange(*(in_pieces[at : at + 40] for at in range(0, len(in_pieces), 40))).count(b"200 OK") == 2
    chunks = service.exchange(CHUNKED + SIZE, SEARCH[:5], SEARCH[5:] + b"\r\n0\r\n", b"\r\n")
    assert status(chunks) == 200
    told = service.exchange(EXPECTS + f"Content-Length: {len(SEARCH)}\r\n\r\n".encode(), SEARCH)
    assert told.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK")
    assert told.count(b"100 Continue") == 1
    assert status(service.exchange(b"GET /healthz HTTP/1.0\r\n\r\n")) == 200


WRONG = {
    "request line": (b"nonsense\r\n\r\n", 400),
    "field": (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
    "length": (b"POST /search-code HTTP/1.1\r\n" + JSON + b"Content-Length: many\r\n\r\n", 400),
    "length and chunks": (CHUNKED[:-2] + b"Content-Length: 3\r\n\r\n0\r\n\r\n", 400),
    "chunk size": (CHUNKED + b"nonsense\r\n", 400),
    "chunk end": (CHUNKED + b"3\r\nabcdef\r\n0\r\n\r\n", 400),
    "trailer": (CHUNKED + SIZE + SEARCH + b"\r\n0\r\nno colon\r\n\r\n", 400),
    "long head": (b"GET / HTTP/1.1\r\n" + b"A: a\r\n" * 200 + b"\r\n", 431),
    "long line": (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n\r\n", 414),
    "large body": (post(b" " * (MOST_BODY + 1)), 413),
    "large body not sent": (EXPECTS + b"Content-Length: 1000000000\r\n\r\n", 413),
    "large chunks": (CHUNKED + b"1000\r\n" + b" " * 4096 + b"\r\n" + b"ffff\r\n" + b" " * 8000, 413),
}


@pytest.mark.parametrize("kind", WRONG)
def test_an_invalid_request_gets_a_problem_and_ends_its_connection(service: Service, kind: str) -> None:
    sent, expected = WRONG[kind]
    answer = service.exchange(sent)
    assert status(answer) == expected
    assert problem(answer)["status"] == expected
    assert "Traceback" not in service.log.read_text()


def test_a_client_that_breaks_off_gets_an_error_and_breaks_nothing(service: Service) -> None:
    with service.connect() as client:
        client.sendall(CHUNKED + b"5\r\nab")
        client.shutdown(socket.SHUT_WR)
        assert status(client.recv(65_536)) == 400
    assert service.get()[0] == 200
    assert "Traceback" not in service.log.read_text()


def test_an_address_with_too_many_connections_loses_the_oldest_waiting_ones(tmp_path: Path) -> None:
    with served(tmp_path, **{"limits.connections_per_address": 10}) as service, ExitStack() as opened:
        clients = [opened.enter_context(service.connect()) for _ in range(30)]
        for client in clients:
            client.sendall(SLOW["heads"])
        assert [service.get()[0] for _ in range(5)] == [200] * 5
        answer = clients[0].recv(65_536)
        assert (status(answer), problem(answer)["status"]) == (429, 429)
        assert b"Retry-After" in answer


def test_guessed_keys_are_slowed_down_and_do_not_fill_the_logs(tmp_path: Path) -> None:
    guesses = 300
    with served(tmp_path, **{"limits.refused_per_minute": 30}) as service:
        assert service.get()[0] == 200
        answers = [service.get(key=f"cq_guess{number}_secret") for number in range(guesses)]
        statuses = [status for status, _, _ in answers]
        assert set(statuses) == {401, 429}
        assert statuses.count(401) < 60
        refused = next(answer for answer in answers if answer[0] == 429)
        assert int(refused[1]) >= 1
        assert "valid key" in refused[2]["detail"]
        # Neither a key that was admitted before nor a probe is shut out by other clients at its address.
        assert service.get()[0] == 200
        assert service.get("/healthz", key=None)[0] == 200
        service.end()
        lines = [json.loads(line) for line in service.audit.read_text().splitlines()]
        unknown = [line for line in lines if line["principal"] == "nobody"]
        assert len(unknown) < 40
        assert sum(line.get("times", 1) for line in unknown) == guesses
        assert {line["address"] for line in unknown} == {"127.0.0.1"}
        assert service.log.read_text().count('"status": 401') < 40
