"""`.ci/audit` against a server that implements the protocol of the vulnerability database."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[3] / ".ci" / "audit"
VULNERABILITY = {
    "id": "PYSEC-2026-1",
    "summary": "Flask answers the wrong client",
    "affected": [
        {
            "package": {"ecosystem": "PyPI", "name": "flask"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "99.0"}]}],
        }
    ],
}


class Database(BaseHTTPRequestHandler):
    """Answers queries about one package at a time."""

    def do_POST(self) -> None:
        """Answer as the server was configured."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["package"]["name"]
        server: Any = self.server
        server.asked.add(asked)
        content = json.dumps({"vulns": [VULNERABILITY]} if asked in server.vulnerable else {}).encode()
        self.send_response(500 if asked in server.failing else 200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def database(vulnerable: tuple[str, ...] = (), failing: tuple[str, ...] = ()) -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Database)
    server.vulnerable, server.failing, server.asked = vulnerable, failing, set()
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def audit(port: int) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHON": sys.executable, "NO_PROXY": "127.0.0.1"}
    command = [str(SCRIPT), "--osv-url", f"http://127.0.0.1:{port}/v1/query"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


def test_an_audit_asks_about_every_package_and_succeeds_if_none_is_vulnerable() -> None:
    with database() as server:
        done = audit(server.server_port)
    assert done.returncode == 0, done.stderr
    assert {"flask", "opensearch-py", "pytest", "ruff"} <= server.asked


def test_an_audit_fails_and_names_the_vulnerable_package() -> None:
    with database(vulnerable=("flask",)) as server:
        done = audit(server.server_port)
    assert done.returncode == 1
    assert "flask" in done.stdout and "PYSEC-2026-1" in done.stdout
    assert "service.txt has known vulnerabilities" in done.stderr


@pytest.mark.parametrize("is_down", [True, False], ids=["no-answer", "error-for-one-package"])
def test_an_audit_that_cannot_run_fails(is_down: bool) -> None:
    with database(failing=("redis",)) as server:
        port = server.server_port
        if not is_down:
            done = audit(port)
    if is_down:
        done = audit(port)
    assert done.returncode == 1
    assert "could not be audited" in done.stderr
    assert "Traceback" not in done.stderr
