"""No secret that is configured is ever said: not by a command, not by the service, not when a server repeats it."""

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
    """Refuses everything, and repeats in its answer all that it was told."""

    heard: list[str]

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        told = f"{self.requestline} {self.headers} {self.rfile.read(length)!r}"
        self.heard.append(told)
        body = json.dumps({"error": {"message": told, "reason": told, "type": "x"}, "status": 401}).encode()
        self.send_response(401, "no " + self.headers.get("Authorization", ""))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = _answer

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def echo() -> Iterator[Any]:
    """Run a server that repeats what it was told."""
    handler = type("Handler", (Echo,), {"heard": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.heard = handler.heard
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()


@pytest.fixture
def planted(echo: Any) -> dict[str, str]:
    """Return variables that plant a secret in every setting that is one, and lead every client to the server."""
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
def test_no_command_says_a_secret(workspace: Any, planted: dict[str, str], echo: Any, store: str) -> None:
    workspace.repository("project", {"a.py": "def a():\n    return 1\n"})
    variables = planted | {"CODEQUARRY_STORE": store, "CODEQUARRY_EMBEDDING__MODEL": "text-embedding-3-small"}
    for command in COMMANDS:
        # `run` itself looks for what was planted.
        workspace.run(*command, variables=variables)
    account = f"someone:{PLANTED}"
    elsewhere = f"http://{account}@127.0.0.1:{echo.server_address[1]}/v1"
    workspace.run("index", "project", variables=variables | {"CODEQUARRY_EMBEDDING__BASE_URL": elsewhere})
    workspace.run("index", f"http://someone:{PLANTED}@127.0.0.1:{echo.server_address[1]}/a/b", variables=variables)
    assert any(map(says_a_secret, echo.heard)), "the server was told a secret that it could repeat"


def test_the_service_says_none_in_answers_or_logs(workspace: Any, planted: dict[str, str]) -> None:
    workspace.indexed("project", {"a.py": "def a():\n    return 1\n"})
    environment = workspace.environment | planted | {"CODEQUARRY_EMBEDDING__MODEL": "text-embedding-3-small"}
    process = subprocess.Popen(
        [sys.executable, "-m", "codequarry.cli.main", "serve", "--port", "0", "--trust-loopback"],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        said = [_address(process)]
        url = said[0].rpartition(" ")[2].strip()
        for path, body in (("/readyz", None), ("/repos", None), ("/metrics", None), ("/search-code", {"query": "x"})):
            said += [_ask(url + path, body, key) for key in (None, planted["CODEQUARRY_AUTH__ADMIN_KEY"])]
    finally:
        os.killpg(process.pid, signal.SIGTERM)
    said += process.communicate(timeout=READY_SECONDS)
    assert not list(filter(says_a_secret, said))


def _address(process: Any) -> str:
    """Return all that the service says until it has said where it listens."""
    said = ""
    for line in process.stderr:
        said += line
        if "listens on" in line:
            return said.rstrip("\n")
    raise AssertionError(said)


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
