"""The worker inside the service's process, seen from requests."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Event, current_thread

from codequarry.cli.session.embedded_worker import LocalIndexer
from codequarry.search_api.search.backend import Backend
from codequarry.shared.jobs.job import JobRequest

SOON = 60


def test_a_request_that_waits_for_the_store_does_not_block_others(make_workshop, monkeypatch):
    workshop = make_workshop()
    waiting, released = Event(), Event()
    real = workshop.store.list_documents

    def list_documents(prefix):
        if current_thread().name.startswith("slow"):
            waiting.set()
            assert released.wait(2 * SOON)
        return real(prefix)

    monkeypatch.setattr(workshop.store, "list_documents", list_documents)
    indexer = LocalIndexer(Backend(workshop.settings, workshop.store, workshop.embedder))
    indexer.end()
    with closing(indexer), ThreadPoolExecutor(1, "slow") as slow, ThreadPoolExecutor(1, "quick") as quick:
        first = slow.submit(indexer.submit, JobRequest("one", "https://example.org/one"))
        try:
            assert waiting.wait(SOON)
            second = quick.submit(indexer.submit, JobRequest("two", "https://example.org/two"))
            assert second.result(SOON).repo == "two"
        finally:
            released.set()
        assert first.result(SOON).repo == "one"
