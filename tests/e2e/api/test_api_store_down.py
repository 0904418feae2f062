"""The service while OpenSearch is down: a clear answer soon, and searches again as soon as it is back."""

import socket
import threading
import time
from contextlib import suppress

import pytest

from codequarry.cli.session.embedded_worker import LocalIndexer
from codequarry.ingest.run.pipeline import IndexRequest, Workshop, index_repository
from codequarry.search_api.http.app import create_app
from codequarry.search_api.http.problems import RETRY_AFTER_SECONDS
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.factory import open_store
from codequarry.shared.store.opensearch import interactive_transport
from codequarry.shared.telemetry.metrics import render

pytestmark = pytest.mark.opensearch

TIMEOUT_SECONDS = 60


class Way:
    """A proxy between service and node that forwards, hangs or refuses."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._open: list[socket.socket] = []
        self._listener: socket.socket | None = None
        self._hanging = threading.Event()
        self._trigger: bytes | None = None
        self.port = 0
        self.restore()

    def restore(self) -> None:
        """Forward traffic."""
        self.cut()
        self._hanging.clear()
        self._trigger = None
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def cut(self) -> None:
        """Refuse connections and close the existing ones, as when a node is stopped."""
        for connection in (*self._open, self._listener):
            if connection is not None:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
                connection.close()
        self._open, self._listener = [], None

    def hang(self) -> None:
        """Accept connections but forward nothing, as when a machine is frozen or packets are lost."""
        self._hanging.set()

    def hang_at(self, request: bytes) -> None:
        """Hang from the moment when this request is forwarded."""
        self._trigger = request

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.create_connection(self._target)
                self._open += [near, far]
                for source, target in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=(source, target), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if self._trigger is not None and self._trigger in data:
                    self.hang()
                if not self._hanging.is_set():
                    target.sendall(data)
        # Nothing else closes a connection that was accepted during a cut. Closing both ends also ends the other
        # direction.
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


@pytest.fixture
def way(opensearch_node):
    host, _, port = opensearch_node.node.url.removeprefix("http://").partition(":")
    made = Way(host, int(port))
    yield made
    made.cut()


@pytest.fixture(autouse=True)
def _for_ever(monkeypatch):
    """Raise the store's own time limits, so that nothing ends by them and a wait would exceed the test's patience."""
    for limit in ("QUICK_SECONDS", "SLOW_SECONDS"):
        monkeypatch.setattr(interactive_transport, limit, 600)


@pytest.fixture
def client(way, opensearch_node, workspace, embedder):
    """Yield a client of a service that reaches its OpenSearch through the proxy, with an indexed repository."""
    with opensearch_node.empty_index(embedder.dimension) as opensearch:
        api = {"trust_loopback": True}
        direct = SettingsModel(home=workspace.folder / "cluster", store="opensearch", opensearch=opensearch, api=api)
        store = open_store(direct, embedder.dimension)
        repository = workspace.repository("away", {"retry.py": "def retry_later(job):\n    return job\n"})
        index_repository(IndexRequest(str(repository.folder)), Workshop(store, embedder, direct))
        store.close()
        behind = opensearch.model_copy(update={"urls": (f"http://127.0.0.1:{way.port}",), "timeout_seconds": 600})
        app = create_app(direct.model_copy(update={"opensearch": behind}), make_indexer=only_asked)
        yield app.test_client()
        app.extensions["codequarry"].close()


def only_asked(backend):
    """Return an indexer that accepts requests and runs no jobs."""
    indexer = LocalIndexer(backend)
    indexer.end()
    return indexer


def search(client):
    return client.post("/search-code", json={"query": "retry_later"})


def wait_for_answers(client):
    """Search until the cluster answers; a cluster that has just started may be too slow for the first checks."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while search(client).status_code != 200:
        assert time.monotonic() < deadline
        time.sleep(0.1)


RECALL = b"POST /_msearch"
CATALOG = b"/_refresh"


@pytest.mark.parametrize("request_line", [RECALL, CATALOG])
def test_a_search_is_abandoned_wherever_the_cluster_falls_silent(client, way, request_line):
    wait_for_answers(client)
    way.hang_at(request_line)
    client.application.extensions["codequarry"].engine().catalog.expire()
    refused = search(client)
    assert refused.status_code == 503
    assert refused.headers["Retry-After"] == str(RETRY_AFTER_SECONDS)
    assert client.get("/readyz").status_code == 503
    way.restore()
    wait_for_answers(client)


@pytest.mark.parametrize("how", ["cut", "hang"])
def test_searches_are_refused_clearly_and_recover(client, way, how):
    wait_for_answers(client)
    assert search(client).get_json()["results"][0]["path"] == "retry.py"
    assert client.get("/readyz").status_code == 200
    getattr(way, how)()
    for _ in range(3):
        refused = search(client)
        assert refused.status_code == 503
        assert refused.headers["Retry-After"] == str(RETRY_AFTER_SECONDS)
        assert refused.mimetype == "application/problem+json"
        assert "OpenSearch" in refused.get_json()["detail"]
        assert "127.0.0.1" not in refused.text
        assert "://" not in refused.text
    ready = client.get("/readyz")
    assert (ready.status_code, ready.get_json()["status"]) == (503, "unavailable")
    assert client.get("/healthz").status_code == 200
    assert "codequarry_store_errors_total" in render().decode()
    way.restore()
    wait_for_answers(client)
    assert client.get("/readyz").status_code == 200


def test_a_service_started_without_its_cluster_answers_once_it_is_up(client, way):
    way.cut()
    assert search(client).status_code == 503
    way.restore()
    wait_for_answers(client)


def test_a_full_disk_is_a_503_that_says_so_and_searches_continue(client, opensearch_node):
    """At its flood stage, OpenSearch refuses all writes."""
    wait_for_answers(client)
    store = client.application.extensions["codequarry"].engine().store
    alias = store.settings.index
    block = {"index.blocks.read_only_allow_delete": True}
    store.client.indices.put_settings(index=f"{alias}*", body=block)
    try:
        for refused in (
            client.delete("/repos/away"),
            client.post(
                "/search-code?index=true",
                json={"query": "x", "filters": {"repo": "away", "branch": "dev"}, "wait_ms": 0},
            ),
        ):
            assert refused.status_code == 503, refused.text
            assert int(refused.headers["Retry-After"]) >= 30
            assert "no room left" in refused.get_json()["detail"]
            assert "127.0.0.1" not in refused.text
            assert "://" not in refused.text
        assert search(client).status_code == 200
    finally:
        store.client.indices.put_settings(index=f"{alias}*", body={"index.blocks.read_only_allow_delete": None})
