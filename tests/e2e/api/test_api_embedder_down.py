"""The service without its embedding server: searches continue by words and say so until the server is back."""

import json
import threading
import zlib
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from codequarry.ingest.run.pipeline import IndexRequest, Workshop, index_repository
from codequarry.search_api.http.app import create_app
from codequarry.search_api.search import engine
from codequarry.shared.embedding import retries
from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.factory import open_store

DIMENSION = 8
MOST_SECONDS = 60


class Embeddings:
    """A server of the OpenAI protocol that can be stopped and restarted on its port."""

    def __init__(self):
        self.asked = 0
        self.talks = threading.Event()
        self.talks.set()
        self._server = None
        self.port = 0
        self.start()

    def start(self):
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                owner.talks.wait(MOST_SECONDS)
                self.send_error(404)

            def do_POST(self):
                owner.asked += 1
                owner.talks.wait(MOST_SECONDS)
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                data = [
                    {"index": index, "object": "embedding", "embedding": vector(text)}
                    for index, text in enumerate(body["input"])
                ]
                content = json.dumps({"object": "list", "data": data, "model": body["model"]}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()


def vector(text):
    return [float(value) for value in np.random.default_rng(zlib.crc32(text.encode())).normal(2.0, 3.0, DIMENSION)]


@pytest.fixture
def embeddings():
    server = Embeddings()
    yield server
    server.talks.set()
    server.stop()


@pytest.fixture
def client(embeddings, workspace):
    """Yield a client of a service over an index that was made with that server's model."""
    settings = SettingsModel.model_validate(
        {
            "home": workspace.folder / "remote",
            "api": {"trust_loopback": True},
            "embedding": {
                "model": "small", "base_url": f"http://127.0.0.1:{embeddings.port}/v1", "dimensions": DIMENSION,
                "max_retries": 0, "timeout_seconds": 600,
            },
        }
    )  # fmt: skip
    repository = workspace.repository("away", {"retry.py": "def retry_later(job):\n    return job\n"})
    with (
        closing(open_embedder(settings.embedding, settings.home / "models")) as model,
        closing(open_store(settings, DIMENSION)) as store,
    ):
        index_repository(IndexRequest(str(repository.folder)), Workshop(store, model, settings))
    app = create_app(settings)
    yield app.test_client()
    app.extensions["codequarry"].close()


def search(client):
    answer = client.post("/search-code", json={"query": "retry_later"})
    assert answer.status_code == 200
    return answer.get_json()


def test_searches_continue_by_words_and_say_so_until_the_model_is_back(client, embeddings, monkeypatch):
    assert search(client)["degraded"] == []
    embeddings.stop()
    for _ in range(2):
        answer = search(client)
        assert answer["degraded"] == ["embedding"]
        assert answer["results"][0]["path"] == "retry.py"
    ready = client.get("/readyz")
    assert ready.status_code == 200
    assert "unavailable" in ready.get_json()["checks"]["embedding"]
    assert 'codequarry_degraded_searches_total{stage="embedding"}' in client.get("/metrics").text
    embeddings.start()
    before = embeddings.asked
    assert search(client)["degraded"] == ["embedding"], "it is not asked again for a while"
    assert embeddings.asked == before
    monkeypatch.setattr(client.application.extensions["codequarry"].engine()._health.breaker, "_closed_until", 0.0)
    assert search(client)["degraded"] == []
    assert client.get("/readyz").get_json()["checks"]["embedding"] == "ok"


def test_a_service_started_without_its_model_uses_it_once_it_is_available(client, embeddings, monkeypatch):
    monkeypatch.setattr(engine, "MODEL_RETRY_SECONDS", 0.0)
    embeddings.stop()
    assert search(client)["degraded"] == ["embedding"]
    embeddings.start()
    assert search(client)["degraded"] == []


def test_a_hanging_model_delays_no_search(client, embeddings, monkeypatch):
    monkeypatch.setattr(retries, "QUERY_TIMEOUT_SECONDS", 600)
    assert search(client)["degraded"] == []
    embeddings.talks.clear()
    for _ in range(2):
        answer = search(client)
        assert answer["degraded"] == ["embedding"]
        assert answer["results"][0]["path"] == "retry.py"
    assert "unavailable" in client.get("/readyz").get_json()["checks"]["embedding"]
