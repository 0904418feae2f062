"""The service while its queue is down: searches continue, and requested jobs wait in the catalog."""

import socket
from unittest.mock import patch

import pytest
from celery import Celery

from codequarry.search_api.http.app import create_app
from codequarry.search_api.jobs.dispatch import QueueIndexer
from codequarry.shared.jobs.job_list import read_job
from codequarry.shared.settings.config import SettingsModel


@pytest.fixture(params=["gone", "hanging"])
def queue_port(request):
    """Yield a port without a working queue: nothing listens there, or a server that never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        if request.param == "hanging":
            yield port
    if request.param == "gone":
        yield port


@pytest.fixture
def client(queue_port, settings, store, embedder, place, indexed):
    queue = {"url": f"redis://127.0.0.1:{queue_port}/0"}
    sections = {"queue": queue, "api": {"local_roots": [str(place.folder)], "trust_loopback": True}}
    with_queue = SettingsModel.model_validate(settings.model_dump() | sections)
    return create_app(with_queue, store, embedder, QueueIndexer).test_client()


def test_searches_continue_and_indexing_requests_are_accepted(client, store, place, queue_port):
    assert client.post("/search-code", json={"query": "retry_later"}).status_code == 200
    folder = place.repository(f"asked-{queue_port}", {"a.py": "x = 1\n"}).folder
    taken = client.post("/repos", json={"origin": str(folder)})
    assert taken.status_code == 202, taken.text
    assert read_job(store, taken.get_json()["job_id"]).state == "queued"
    with patch.object(
        Celery, "send_task", side_effect=AssertionError("a queue that is down is not tried again for a while")
    ):
        other = place.repository(f"other-{queue_port}", {"a.py": "x = 1\n"}).folder
        assert client.post("/repos", json={"origin": str(other)}).status_code == 202
    assert client.get("/readyz").status_code == 200
    assert client.get("/jobs").status_code == 200
