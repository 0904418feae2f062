"""The backend of one process while the index moves to another edition."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from socket import create_server
from threading import Event

import pytest

from codequarry.ingest.migration.migrate import migrate
from codequarry.ingest.request.index_request import IndexRequest
from codequarry.ingest.run.pipeline import index_repository
from codequarry.search_api.query.request import SearchRequest
from codequarry.search_api.search import backend as rooms
from codequarry.search_api.search.backend import RETRY_SECONDS, Backend
from codequarry.shared.access.grants import OWNER
from codequarry.shared.errors import IndexMoved, StoreUnavailable
from codequarry.shared.index.identity import IDENTITY_KEY
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.embedded.editions import EmbeddedEditions
from codequarry.shared.store.factory import editions_of

SOON = 60
REQUEST = SearchRequest("where is the port opened")


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def settings(make_repository, make_workshop, place_table):
    workshop = make_workshop()
    place_table(workshop.settings.home / "models" / "small", 64)
    repository = make_repository(files={"server.py": "def serve(port):\n    return open_socket(port)\n"})
    index_repository(IndexRequest(repository.origin), workshop)
    return workshop.settings


@pytest.fixture
def backend(settings, clock):
    with closing(Backend(settings, clock=clock)) as made:
        yield made


def move(settings: SettingsModel) -> None:
    assert migrate(settings, "small").moved


def test_new_requests_open_the_new_edition_and_running_requests_finish_on_the_old(backend, settings, clock):
    old = backend.engine()
    move(settings)
    new = backend.engine()
    assert (old.embedder.dimension, new.embedder.dimension) == (256, 64)
    assert backend.engine() is new
    for engine in (old, new):
        assert engine.search(REQUEST).results[0].path == "server.py"
    clock.now += settings.retention.grace_seconds
    backend.engine()
    with pytest.raises(StoreUnavailable, match="closed"):
        old.search(REQUEST)
    assert new.search(REQUEST).results


def test_the_old_edition_answers_until_the_new_edition_opens(backend, settings, monkeypatch):
    old = backend.engine()
    move(settings)

    def fail(*_, **__):
        raise StoreUnavailable("busy")

    with monkeypatch.context() as patch:
        patch.setattr(rooms, "open_index", fail)
        assert backend.engine() is old
        assert backend.search(REQUEST, OWNER).results
    assert backend.engine().embedder.dimension == 64


def test_a_request_that_waits_for_the_pointer_does_not_block_others(backend, monkeypatch):
    engine = backend.engine()
    asked, answered = Event(), Event()
    read = EmbeddedEditions.active

    def hang_once(editions):
        if not asked.is_set():
            asked.set()
            assert answered.wait(SOON)
        return read(editions)

    monkeypatch.setattr(EmbeddedEditions, "active", hang_once)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(backend.engine)
        assert asked.wait(SOON)
        assert backend.engine() is engine
        answered.set()
        assert first.result() is engine


def test_opening_an_index_that_hangs_times_out(tmp_path):
    with ExitStack() as stack:
        silent = stack.enter_context(create_server(("127.0.0.1", 0)))
        node = {"urls": [f"http://127.0.0.1:{silent.getsockname()[1]}"], "timeout_seconds": 600}
        settings = SettingsModel(home=tmp_path, store="opensearch", opensearch=node)
        backend = stack.enter_context(closing(Backend(settings)))
        pool = stack.enter_context(ThreadPoolExecutor(1))
        # The socket closes first, which frees the waiting thread.
        with silent, pytest.raises(StoreUnavailable, match="in time"):
            pool.submit(backend.engine).result(SOON)


def test_a_request_retries_on_the_new_edition_if_the_index_moved(backend, settings, monkeypatch):
    old = backend.engine()

    def search(*_):
        move(settings)
        raise IndexMoved("moved")

    monkeypatch.setattr(old, "search", search)
    assert backend.search(REQUEST, OWNER).results[0].path == "server.py"


def test_a_model_that_does_not_fit_is_opened_again_after_a_while(settings, clock):
    with closing(editions_of(settings)) as editions, closing(editions.open(1, 256)) as store:
        document = store.read_document(IDENTITY_KEY)
        store.write_document(IDENTITY_KEY, {**document.body, "model": "another"}, document.version)
        with closing(Backend(settings, clock=clock)) as backend:
            (warning,) = backend.search(REQUEST, OWNER).degraded
            assert warning.startswith("embedding: ") and "codequarry migrate" in warning
            assert backend.checks()["embedding"] == "unavailable: searches use words only"
            lost = store.read_document(IDENTITY_KEY)
            store.write_document(IDENTITY_KEY, document.body, lost.version)
            assert backend.search(REQUEST, OWNER).degraded
            clock.now += RETRY_SECONDS
            assert backend.search(REQUEST, OWNER).degraded == ()
            assert backend.checks()["embedding"] == "ok"
