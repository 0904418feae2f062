"""Secrets planted in every kind of file: none is sent to an embedding server, a client, an agent or a log."""

import http.client
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.e2e.conftest import Workspace
from tests.e2e.test_mcp import asking
from tests.gate.planted import planted

PLANTED = planted(seed=16)
FILES = {f"{at:03}/{plant.path}": plant.text for at, plant in enumerate(PLANTED)}
SECRETS = {secret: plant.kind for plant in PLANTED for secret in plant.secrets}
ADDRESS = re.compile(r"http://127\.0\.0\.1:([1-9]\d*)")
WAIT_SECONDS = 60
DIMENSION = 8
QUERIES = ("password of the database", "private key", "token", "api key", "import", "users", "config", "-----BEGIN")


@dataclass
class EmbeddingServer:
    """A server of the embeddings protocol that records the requests."""

    url: str
    told: list[bytes] = field(default_factory=list)


@pytest.fixture(scope="module")
def embedding_server() -> Iterator[EmbeddingServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            running.told.append(body)
            texts = json.loads(body)["input"]
            data = [
                {
                    "object": "embedding",
                    "index": at,
                    "embedding": [float(1 + (len(text) + place) % 7) for place in range(DIMENSION)],
                }
                for at, text in enumerate(texts)
            ]
            answer = json.dumps({"object": "list", "data": data, "model": "m", "usage": {"total_tokens": 1}}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running = EmbeddingServer(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield running
    server.shutdown()
    thread.join()
    server.server_close()


@dataclass(frozen=True)
class Indexed:
    """A workspace whose repository was indexed with the recording server."""

    workspace: Workspace
    server: EmbeddingServer
    variables: dict[str, str]
    said: str


@pytest.fixture(scope="module")
def indexed(embedding_server, tmp_path_factory) -> Indexed:
    workspace = Workspace(tmp_path_factory.mktemp("planted"))
    repository = workspace.repository("project", FILES)
    variables = {
        "CODEQUARRY_EMBEDDING__MODEL": "m",
        "CODEQUARRY_EMBEDDING__BASE_URL": embedding_server.url,
        "CODEQUARRY_EMBEDDING__DIMENSIONS": str(DIMENSION),
    }
    outcome = workspace.run("index", repository.folder, variables=variables)
    assert outcome.code == 0, outcome.err
    return Indexed(workspace, embedding_server, variables, outcome.out + outcome.err)


def shown_in(text: str) -> list[str]:
    """Return the kinds of secrets that a text contains, also in the form escaped for JSON."""
    return [kind for secret, kind in SECRETS.items() if secret in text or json.dumps(secret)[1:-1] in text]


def test_the_embedding_server_and_the_log_get_no_secret(indexed):
    told = "\n".join(body.decode() for body in indexed.server.told)
    assert all(path in told for path in FILES), "every file was embedded"
    assert shown_in(told) == []
    assert shown_in(indexed.said) == []


@contextmanager
def served(indexed: Indexed) -> Iterator[tuple[http.client.HTTPConnection, list[str]]]:
    """Serve and yield a connection; the list gets the service's log after it has ended."""
    log = indexed.workspace.folder / "service.log"
    written: list[str] = []
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "codequarry.cli.main", "serve", "--trust-loopback", "--port", "0"],
            env=indexed.workspace.environment | indexed.variables, stdout=out, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            until = time.monotonic() + WAIT_SECONDS
            while not (found := ADDRESS.search(log.read_text())):
                assert process.poll() is None and time.monotonic() < until, log.read_text()
                time.sleep(0.05)
            with closing(http.client.HTTPConnection("127.0.0.1", int(found.group(1)), timeout=WAIT_SECONDS)) as client:
                yield client, written
        finally:
            process.terminate()
            process.wait(WAIT_SECONDS)
            written.append(log.read_text())


def test_no_http_answer_contains_a_secret(indexed):
    answers = []
    with served(indexed) as (connection, written):
        for query in QUERIES:
            body = {"query": query, "top_k": 100, "explain": True}
            connection.request("POST", "/search-code", json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answers.append(answer.read().decode())
            assert answer.status == 200, answers[-1]
    paths = {hit["path"] for answer in answers for hit in json.loads(answer)["results"]}
    assert len(set(FILES) - paths) < 5, "nearly every file occurred in an answer"
    assert any(hit["masked"] for answer in answers for hit in json.loads(answer)["results"])
    assert shown_in("\n".join(answers)) == []
    assert shown_in(written[0]) == []


def test_no_mcp_tool_returns_a_secret(indexed):
    said = []
    with asking(indexed.workspace, **indexed.variables) as client:
        for query in QUERIES:
            said.append(client.call_tool("search_code", query=query, top_k=20))
        for path in FILES:
            said.append(client.call_tool("read_file", repo="project", path=path))
    assert [answer.content for answer in said if answer.is_error] == []
    text = "\n".join(answer.model_dump_json() for answer in said)
    assert "****" in text
    assert shown_in(text) == []
