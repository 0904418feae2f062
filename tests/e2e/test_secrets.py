"""Configured secrets are never printed, neither by commands nor by the service, even if a server repeats them."""

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from codequarry.shared.settings.config import LEAVES
from codequarry.shared.settings.sources import is_secret, variable_of
from tests.e2e.conftest import PLANTED, says_a_secret

READY_SECONDS = 60


class Echo(BaseHTTPRequestHandler):
    """Refuses every request and repeats the whole request in its answer."""

    heard: list[str]

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        request = f"{self.requestline} {self.headers} {self.rfile.read(length)!r}"
        self.heard.append(request)
        body = json.dumps({"error": {"message": request, "reason": request, "type": "x"}, "status": 401}).encode()
        self.send_response(401, "no " + self.headers.get("Authorization", ""))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = _answer

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def echo() -> Iterator[Any]:
    """Yield a server that repeats its requests."""
    handler = type("Handler", (Echo,), {"heard": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.heard = handler.heard
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()


@pytest.fixture
def planted(echo: Any) -> dict[str, str]:
    """Return variables that plant a value in every secret setting, and direct every client to the server."""
    address = f"127.0.0.1:{echo.server_address[1]}"
    names = [key for key, field in LEAVES.items() if is_secret(field)]
    secrets = {variable_of(key): f"{PLANTED}-of-setting-{number}" for number, key in enumerate(names)}
    secrets["CODEQUARRY_QUEUE__URL"] = f"redis://:{PLANTED}-of-the-queue@127.0.0.1:1/0"
    secrets["CODEQUARRY_GIT__TOKENS"] = json.dumps({"example.org": f"{PLANTED}-of-a-host"})
    return secrets | {
        "CODEQUARRY_OPENSEARCH__URLS": f"http://{address}",
        "CODEQUARRY_OPENSEARCH__USER": "someone",
        "CODEQUARRY_OPENSEARCH__MAX_RETRIES": "0",
        "CODEQUARRY_EMBEDDING__BASE_URL": f"http://{address}/v1",
        "CODEQUARRY_EMBEDDING__MAX_RETRIES": "0",
    }


COMMANDS = (
    ("config",),
    ("config", "--json"),
    ("doctor",),
    ("status", "--json"),
    ("repos", "list"),
    ("jobs", "list"),
    ("deliveries",),
    ("sync", "--dry-run"),
    ("search", "something"),
    ("index", "project"),
)


@pytest.mark.parametrize("store", ["embedded", "opensearch"])
def test_no_command_prints_a_secret(workspace: Any, planted: dict[str, str], echo: Any, store: str) -> None:
    workspace.repository("project", {"a.py": "def a():\n    return 1\n"})
    variables = planted | {"CODEQUARRY_STORE": store, "CODEQUARRY_EMBEDDING__MODEL": "text-embedding-3-small"}
    for command in COMMANDS:
        # `run` itself searches the output for planted secrets.
        workspace.run(*command, variables=variables)
    account = f"someone:{PLANTED}"
    elsewhere = f"http://{account}@127.0.0.1:{echo.server_address[1]}/v1"
    workspace.run("index", "project", variables=variables | {"CODEQUARRY_EMBEDDING__BASE_URL": elsewhere})
    workspace.run("index", f"http://someone:{PLANTED}@127.0.0.1:{echo.server_address[1]}/a/b", variables=variables)
    assert any(map(says_a_secret, echo.heard)), "the server received a secret that it could repeat"


def test_the_service_shows_no_secret_in_answers_or_logs(workspace: Any, planted: dict[str, str]) -> None:
    workspace.indexed("project", {"a.py": "def a():\n    return 1\n"})
    environment = workspace.environment | planted | {"CODEQUARRY_EMBEDDING__MODEL": "text-embedding-3-small"}
    process = subprocess.Popen(
        [sys.executable, "-m", "codequarry.cli.main", "serve", "--port", "0", "--trust-loopback"],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        outputs = [_address(process)]
        url = outputs[0].rpartition(" ")[2].strip()
        for path, body in (("/readyz", None), ("/repos", None), ("/metrics", None), ("/search-code", {"query": "x"})):
            outputs += [_ask(url + path, body, key) for key in (None, planted["CODEQUARRY_AUTH__ADMIN_KEY"])]
    finally:
        os.killpg(process.pid, signal.SIGTERM)
    outputs += process.communicate(timeout=READY_SECONDS)
    assert not list(filter(says_a_secret, outputs))


def _address(process: Any) -> str:
    """Return everything that the service prints until it has announced its address."""
    output = ""
    for line in process.stderr:
        output += line
        if "listens on" in line:
            return output.rstrip("\n")
    raise AssertionError(output)


def _ask(url: str, body: object, key: str | None) -> str:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"} | headers)
    try:
        with urllib.request.urlopen(request, timeout=READY_SECONDS) as response:
            return f"{response.headers}{response.read().decode()}"
    except urllib.error.HTTPError as error:
        with error:
            return f"{error.headers}{error.read().decode()}"
