"""A cluster for whose answer somebody waits: given up soon, left alone for a moment, found again by itself."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
import stamina

from codequarry.shared.errors import StoreUnavailable
from codequarry.shared.model import Filters, Layer, Snapshot
from codequarry.shared.settings.config import OpenSearchSettings
from codequarry.shared.store.haste import hurried, is_hurried
from codequarry.shared.store.opensearch import connection, transport
from codequarry.shared.store.opensearch.store import OpenSearchStore

NOW = Snapshot((Layer((1,), 1),))
JSON = {"Content-Type": "application/json"}
# Longer than any test run: who waits for it never comes back.
FOR_EVER = 100_000


@pytest.fixture
def asked(serve):
    """Give a server that records what it is asked and has no document, and a store on it."""
    requests = []

    def reply(method, path, _):
        requests.append((method, path))
        return 404, JSON, json.dumps({"found": False}).encode()

    store = OpenSearchStore(OpenSearchSettings(urls=(serve(reply),), timeout_seconds=FOR_EVER), 4)
    yield store, requests
    store.close()


@pytest.fixture
def silent():
    """Give the address of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_who_waits_is_told_of_a_cluster_that_hangs(silent, monkeypatch):
    monkeypatch.setattr(transport, "QUICK_SECONDS", 0.1)
    store = OpenSearchStore(OpenSearchSettings(urls=(silent,), timeout_seconds=FOR_EVER), 4)
    with hurried(), pytest.raises(StoreUnavailable, match="did not answer in time"):
        store.read_document("head")
    with hurried(), pytest.raises(StoreUnavailable, match="does not answer"):
        store.read_document("head")
    store.close()


def test_a_node_that_hangs_is_passed_over_where_there_are_others(silent, serve, monkeypatch):
    monkeypatch.setattr(transport, "QUICK_SECONDS", 0.4)
    answering = serve(lambda *_: (404, JSON, json.dumps({"found": False}).encode()))
    store = OpenSearchStore(OpenSearchSettings(urls=(silent, answering), timeout_seconds=FOR_EVER), 4)
    with hurried():
        assert [store.read_document("head") for _ in range(4)] == [None] * 4
    store.close()


def test_a_search_may_take_longer_than_a_read_and_one_that_does_not_end_shuts_nobody_out(serve, monkeypatch):
    monkeypatch.setattr(transport, "SLOW_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        store = OpenSearchStore(OpenSearchSettings(urls=(url,), timeout_seconds=FOR_EVER), 4)
        for _ in range(2):
            with hurried(), pytest.raises(StoreUnavailable, match="did not answer in time"):
                store.count(NOW, Filters())
        store.close()


def test_a_busy_cluster_is_asked_once_more_where_somebody_waits_and_often_where_nobody_does(serve, monkeypatch):
    requests = []

    def busy(method, path, _):
        requests.append(path)
        return 429, JSON, json.dumps({"error": {"type": "rejected", "reason": "queue is full"}}).encode()

    monkeypatch.setattr(connection, "HURRIED_WAIT_SECONDS", 0.001)
    monkeypatch.setattr(connection, "FIRST_WAIT_SECONDS", 0.001)
    monkeypatch.setattr(connection, "JITTER_SECONDS", 0.001)
    assert not stamina.is_testing()
    store = OpenSearchStore(OpenSearchSettings(urls=(serve(busy),), max_retries=5), 4)
    with hurried(), pytest.raises(StoreUnavailable):
        store.read_document("head")
    assert len(requests) == 2
    with pytest.raises(StoreUnavailable):
        store.read_document("head")
    assert len(requests) == 2 + 6
    store.close()


def test_runs_wait_for_a_cluster_although_somebody_else_gave_it_up(asked):
    store, requests = asked
    store.client.transport._breaker.is_gone()
    with hurried(), pytest.raises(StoreUnavailable):
        store.read_document("head")
    assert requests == []
    assert store.read_document("head") is None
    assert len(requests) == 1


def test_haste_is_of_one_thread_and_ends_with_its_block():
    with hurried(), ThreadPoolExecutor(1) as pool:
        assert is_hurried()
        assert not pool.submit(is_hurried).result()
    assert not is_hurried()
