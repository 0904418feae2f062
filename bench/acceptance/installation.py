"""An installation with its own data folder, used through the `codequarry` command, the API or in this process."""

import argparse
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codequarry.search_api.answers.json import to_json
from codequarry.search_api.query.request import parse_request
from codequarry.search_api.search.engine import SearchEngine
from codequarry.shared.data_folder import private_folder
from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.settings.config import SettingsModel, load_settings
from codequarry.shared.store.factory import open_store
from codequarry.shared.store.port import Store

STORES = ("embedded", "opensearch")
OPENSEARCH = "http://127.0.0.1:9200"
INDEX = "bench_acceptance"
SERVICE_START_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Hit:
    """The fields of a result that the checks need."""

    id: str
    repo: str
    path: str
    start_line: int
    end_line: int
    score: float


class Engine:
    """The search engine, opened in this process."""

    def __init__(self, engine: SearchEngine) -> None:
        self._engine = engine

    def search(self, query: str, repo: str | None = None, top_k: int = 10) -> list[Hit]:
        """Return the hits of one repository or of all, best first."""
        return hits_of(to_json(self._engine.search(parse_request(request_body(query, repo, top_k)))))


class Service:
    """The HTTP API over one persistent connection."""

    def __init__(self, host: str, port: int) -> None:
        self._connection = http.client.HTTPConnection(host, port, timeout=60)

    def search(self, query: str, repo: str | None = None, top_k: int = 10) -> list[Hit]:
        """Return the hits of one repository or of all, best first."""
        body = json.dumps(request_body(query, repo, top_k))
        self._connection.request("POST", "/search-code", body, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        answer = json.loads(response.read())
        if response.status != http.HTTPStatus.OK:
            raise SystemExit(f"POST /search-code answered {response.status}: {answer}")
        return hits_of(answer)


@dataclass(frozen=True, slots=True)
class Installation:
    """One data folder on one store; ``extra`` adds settings as environment variables."""

    home: Path
    store: str = "embedded"
    opensearch: str = OPENSEARCH
    index: str = INDEX
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def variables(self) -> dict[str, str]:
        """The environment of its processes: the current one, with every Codequarry setting replaced."""
        outside = {name: value for name, value in os.environ.items() if not name.startswith("CODEQUARRY_")}
        settings = {
            "CODEQUARRY_HOME": str(self.home),
            "CODEQUARRY_STORE": self.store,
            "CODEQUARRY_OPENSEARCH__URLS": self.opensearch,
            "CODEQUARRY_OPENSEARCH__INDEX": self.index,
            # The benchmarks' repositories borrow the objects of the clones through alternates.
            "CODEQUARRY_GIT__ALTERNATES": '["/"]',
        }
        return outside | settings | dict(self.extra)

    @property
    def settings(self) -> SettingsModel:
        """Its effective settings."""
        return load_settings(variables=self.variables).settings

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start the `codequarry` command in a new process group; its output goes to files in the data folder."""
        private_folder(self.home)
        with (self.home / "command.out").open("wb") as out, (self.home / "command.err").open("wb") as err:
            return subprocess.Popen(
                [sys.executable, "-m", "codequarry.cli.main", *arguments],
                env=self.variables, cwd=self.home, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                start_new_session=True,
            )  # fmt: skip

    def run(self, *arguments: str) -> dict[str, Any]:
        """Run the `codequarry` command with ``--json``, wait for it, and return what it prints."""
        process = self.start(*arguments, "--json")
        if process.wait():
            message = (self.home / "command.err").read_text(errors="replace").strip()
            raise SystemExit(f"codequarry {' '.join(arguments)} ended with {process.returncode}: {message}")
        answer: dict[str, Any] = json.loads((self.home / "command.out").read_bytes())
        return answer

    @contextmanager
    def open_store(self) -> Iterator[Store]:
        """Open the store in this process."""
        embedder = open_embedder(self.settings.embedding, self.settings.home / "models")
        store = open_store(self.settings, embedder.dimension)
        try:
            yield store
        finally:
            store.close()
            embedder.close()

    @contextmanager
    def engine(self) -> Iterator[Engine]:
        """Open the search engine in this process."""
        settings = self.settings
        embedder = open_embedder(settings.embedding, settings.home / "models")
        store = open_store(settings, embedder.dimension)
        try:
            yield Engine(SearchEngine(store, embedder, settings))
        finally:
            store.close()
            embedder.close()

    @contextmanager
    def service(self) -> Iterator[Service]:
        """Run `codequarry serve` and connect to it."""
        with self.running() as (_, port):
            yield Service("127.0.0.1", port)

    @contextmanager
    def running(self) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
        """Run `codequarry serve` and yield its process and port."""
        port = free_port()
        process = self.start("serve", "--trust-loopback", "--port", str(port))
        try:
            _await_ready(process, port)
            yield process, port
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()

    def drop(self) -> None:
        """Delete its OpenSearch indices. The caller deletes the data folder."""
        if self.store != "opensearch":
            return
        with urllib.request.urlopen(f"{self.opensearch}/_cat/indices/{self.index}*?format=json") as listing:
            names = [index["index"] for index in json.load(listing)]
        for name in names:
            urllib.request.urlopen(urllib.request.Request(f"{self.opensearch}/{name}", method="DELETE")).close()


def request_body(query: str, repo: str | None, top_k: int) -> dict[str, Any]:
    """Return the body of a search."""
    body: dict[str, Any] = {"query": query, "top_k": top_k}
    return body | ({"filters": {"repo": repo}} if repo else {})


def hits_of(answer: Mapping[str, Any]) -> list[Hit]:
    """Return the hits of an answer."""
    results: Sequence[Mapping[str, Any]] = answer["results"]
    return [Hit(**{name: result[name] for name in Hit.__dataclass_fields__}) for result in results]


def free_port() -> int:
    """Return a free TCP port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def add_store_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which OpenSearch to use."""
    parser.add_argument(
        "--opensearch",
        default=OPENSEARCH,
        metavar="URL",
        help=f"node URL ({OPENSEARCH}); see codequarry opensearch start",
    )
    parser.add_argument("--index", default=INDEX, help=f"alias of the indices, which are deleted at the end ({INDEX})")


def _await_ready(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + SERVICE_START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"codequarry serve did not become ready on port {port}; see command.err in its data folder")
