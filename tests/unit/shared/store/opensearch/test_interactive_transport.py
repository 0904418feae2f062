"""A cluster for whose answer somebody waits: a slow one is waited for, a silent one given up, and found again."""

import json
import socket
import threading
import time

import pytest
import stamina

from codequarry.shared.errors import StoreUnavailable
from codequarry.shared.liveness import pulse
from codequarry.shared.liveness.deadline import Deadline
from codequarry.shared.model import Filters, Layer, Snapshot
from codequarry.shared.settings.config import OpenSearchSettings
from codequarry.shared.store.opensearch import connection, interactive_transport
from codequarry.shared.store.opensearch.connection import Retries
from codequarry.shared.store.opensearch.store import OpenSearchStore

NOW = Snapshot((Layer((1,), 1),))
JSON = {"Content-Type": "application/json"}
FOUND = {"hits": {"total": {"value": 7}, "hits": []}, "timed_out": False, "_shards": {"failed": 0}}
# Longer than any test run: who waits for it never comes back.
FOR_EVER = 100_000
SOON = 60


class Node:
    """A node with nothing in it, which can fall silent and be slow to search."""

    def __init__(self, serve, **options):
        self.requests = []
        self.talks = threading.Event()
        self.talks.set()
        self.began, self.searches = threading.Event(), threading.Event()
        self.searches.set()
        self.url = serve(self._reply, **options)

    def _reply(self, method, path, _):
        self.requests.append((method, path))
        if method == "POST":
            self.began.set()
            self.searches.wait(SOON)
        self.talks.wait(SOON)
        if method == "POST":
            return 200, JSON, json.dumps(FOUND).encode()
        return 404, JSON, json.dumps({"found": False}).encode()

    @property
    def asked(self):
        """What it was asked but for signs of life."""
        return [request for request in self.requests if request != ("HEAD", "/")]

    def release(self):
        self.talks.set()
        self.searches.set()


@pytest.fixture
def nodes(serve):
    """Make nodes, which end with the test."""
    made = []

    def make(**options):
        made.append(Node(serve, **options))
        return made[-1]

    yield make
    for node in made:
        node.release()
    # A server that ends while it is asked for a sign would leave a TLS socket open (CPython's `SSLSocket._create`).
    for known in list(pulse._known.values()):
        wait_until(lambda known=known: known._thread is None)


@pytest.fixture
def stores():
    """Make stores over nodes."""
    made = []

    def make(*nodes, **settings):
        urls = tuple(node.url for node in nodes)
        made.append(OpenSearchStore(OpenSearchSettings(urls=urls, timeout_seconds=FOR_EVER, **settings), 4))
        return made[-1]

    yield make
    for store in made:
        store.close()


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr(pulse, "PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr(pulse, "AGAIN_SECONDS", 0.05)
    monkeypatch.setattr(interactive_transport, "SIGN_SECONDS", SOON)
    monkeypatch.setattr(pulse, "_known", {})
    monkeypatch.setattr(pulse, "INTEREST_SECONDS", 0.2)
    # What is not given up for want of a sign is not given up in a test.
    monkeypatch.setattr(interactive_transport, "QUICK_SECONDS", FOR_EVER)
    monkeypatch.setattr(interactive_transport, "SLOW_SECONDS", FOR_EVER)


@pytest.fixture
def _quick_signs(monkeypatch):
    monkeypatch.setattr(interactive_transport, "SIGN_SECONDS", 0.3)


def waiting(store, seconds=FOR_EVER):
    """Return a store as a request has it, whose client waits."""
    return store.within(Deadline(seconds))


def wait_until(holds):
    deadline = time.monotonic() + SOON
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.usefixtures("_quick_signs")
def test_who_waits_is_told_of_a_node_that_hangs_the_next_ones_at_once_and_it_is_found_again(nodes, stores, monkeypatch):
    monkeypatch.setattr(pulse, "PAUSE_SECONDS", FOR_EVER)
    node = nodes()
    store = stores(node)
    node.talks.clear()
    with pytest.raises(StoreUnavailable, match="did not answer in time"):
        waiting(store).read_document("head")
    asked = len(node.asked)
    with pytest.raises(StoreUnavailable, match="does not answer"):
        waiting(stores(node)).read_document("head")
    assert len(node.asked) == asked, "another client of the process knows of it"
    node.talks.set()
    wait_until(lambda: answers(store))


def answers(store):
    try:
        return waiting(store).read_document("head") is None
    except StoreUnavailable:
        return False


def test_a_search_of_a_node_that_shows_life_may_take_its_time(nodes, stores):
    node = nodes()
    node.searches.clear()
    signs = ("HEAD", "/")
    threading.Thread(target=lambda: (wait_until(lambda: node.requests.count(signs) > 9), node.searches.set())).start()
    assert waiting(stores(node)).count(NOW, Filters()) == 7


@pytest.mark.usefixtures("_quick_signs")
@pytest.mark.parametrize("over_tls", [False, True])
def test_a_search_ends_when_its_node_falls_silent_in_the_middle_of_it(nodes, stores, tls, over_tls):
    node = nodes(tls=tls[0] if over_tls else None)
    node.searches.clear()
    threading.Thread(target=lambda: (node.began.wait(SOON), node.talks.clear())).start()
    with pytest.raises(StoreUnavailable, match="did not answer in time"):
        waiting(stores(node, ca_file=tls[1])).count(NOW, Filters())


def test_a_node_that_takes_no_connections_any_more_is_given_up_as_well(monkeypatch):
    monkeypatch.setattr(interactive_transport, "CONNECT_SECONDS", 0.2)
    with (
        socket.create_server(("127.0.0.1", 0), backlog=0) as full,
        socket.create_connection(full.getsockname()),
    ):
        store = OpenSearchStore(OpenSearchSettings(urls=(f"http://127.0.0.1:{full.getsockname()[1]}",)), 4)
        with pytest.raises(StoreUnavailable):
            waiting(store).read_document("head")
        store.close()


@pytest.mark.usefixtures("_quick_signs")
def test_a_node_that_hangs_is_passed_over_where_there_are_others(nodes, stores):
    hanging, answering = nodes(), nodes()
    store = stores(hanging, answering)
    hanging.talks.clear()
    assert [waiting(store).read_document("head") for _ in range(4)] == [None] * 4
    assert [waiting(store).count(NOW, Filters()) for _ in range(4)] == [7] * 4
    assert len(hanging.asked) <= 1, "it is not asked again while it is silent"


def test_what_takes_too_long_on_a_node_that_shows_life_ends_and_shuts_nobody_out(nodes, stores, monkeypatch):
    monkeypatch.setattr(interactive_transport, "SLOW_SECONDS", 0.3)
    node = nodes()
    store = stores(node)
    node.searches.clear()
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="did not answer in time"):
            waiting(store).count(NOW, Filters())
    assert answers(store)


def test_a_node_that_has_just_refused_to_search_has_little_time_for_the_next_answers(serve, monkeypatch):
    monkeypatch.setattr(interactive_transport, "UNREADY_ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(interactive_transport, "QUICK_SECONDS", FOR_EVER)
    slow, over = threading.Event(), threading.Event()

    def reply(method, _, __):
        if method == "POST":
            return 503, JSON, json.dumps({"error": "all shards failed", "status": 503}).encode()
        if method == "GET" and slow.is_set():
            over.wait(SOON)
        return 404, JSON, json.dumps({"found": False}).encode()

    store = OpenSearchStore(OpenSearchSettings(urls=(serve(reply),), timeout_seconds=FOR_EVER), 4)
    assert waiting(store).read_document("head") is None
    slow.set()
    with pytest.raises(StoreUnavailable, match="not ready"):
        list(waiting(store).list_documents("job:"))
    with pytest.raises(StoreUnavailable, match="did not answer in time"):
        waiting(store).read_document("head")
    over.set()
    store.close()


def test_a_search_that_a_node_refuses_is_not_asked_again(serve):
    asked = []

    def reply(method, path, _):
        if method == "POST":
            asked.append(path)
            return 503, JSON, json.dumps({"error": "all shards failed", "status": 503}).encode()
        return 404, JSON, json.dumps({"found": False}).encode()

    store = OpenSearchStore(OpenSearchSettings(urls=(serve(reply),), timeout_seconds=FOR_EVER), 4)
    with pytest.raises(StoreUnavailable, match="not ready"):
        waiting(store).count(NOW, Filters())
    assert len(asked) == 1
    store.close()


def test_all_that_one_request_asks_for_shares_its_time(nodes, stores):
    node = nodes()
    store = waiting(stores(node), seconds=0.3)
    node.searches.clear()
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="did not answer in time"):
            store.count(NOW, Filters())
    assert len(node.asked) == 1


def test_a_busy_cluster_is_asked_once_more_where_somebody_waits_and_often_where_nobody_does(serve, monkeypatch):
    requests = []

    def busy(method, path, _):
        requests.append(path)
        return 429, JSON, json.dumps({"error": {"type": "rejected", "reason": "queue is full"}}).encode()

    monkeypatch.setattr(pulse, "PATIENCE_SECONDS", FOR_EVER)
    monkeypatch.setattr(connection, "patient_retries", lambda settings: Retries(settings.max_retries, *[0.001] * 3))
    monkeypatch.setattr(connection, "interactive_retries", lambda _: Retries(1, *[0.001] * 3))
    assert not stamina.is_testing()
    store = OpenSearchStore(OpenSearchSettings(urls=(serve(busy),), max_retries=5), 4)
    with pytest.raises(StoreUnavailable):
        waiting(store).read_document("head")
    assert len(requests) == 2
    with pytest.raises(StoreUnavailable):
        store.read_document("head")
    assert len(requests) == 2 + 6
    store.close()


def test_runs_wait_for_a_cluster_although_somebody_else_gave_it_up(nodes, stores):
    node = nodes()
    store = stores(node)
    pulse.pulse_of(node.url, lambda _: True).record_failure()
    with pytest.raises(StoreUnavailable):
        waiting(store).read_document("head")
    assert node.asked == []
    assert store.read_document("head") is None
    assert len(node.asked) == 1
