"""The worker in the service's own process, as requests meet it."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Event, current_thread

from codequarry.cli.session.embedded_worker import LocalIndexer
from codequarry.search_api.search.backend import Backend
from codequarry.shared.jobs.job import JobRequest

SOON = 60


def test_who_waits_for_the_store_keeps_nobody_else_from_asking(make_workshop, monkeypatch):
    workshop = make_workshop()
    waits, goes_on = Event(), Event()
    real = workshop.store.list_documents

    def list_documents(prefix):
        if current_thread().name.startswith("slow"):
            waits.set()
            assert goes_on.wait(2 * SOON)
        return real(prefix)

    monkeypatch.setattr(workshop.store, "list_documents", list_documents)
    indexer = LocalIndexer(Backend(workshop.settings, workshop.store, workshop.embedder))
    indexer.end()
    with closing(indexer), ThreadPoolExecutor(1, "slow") as slow, ThreadPoolExecutor(1, "quick") as quick:
        first = slow.submit(indexer.submit, JobRequest("one", "https://example.org/one"))
        try:
            assert waits.wait(SOON)
            second = quick.submit(indexer.submit, JobRequest("two", "https://example.org/two"))
            assert second.result(SOON).repo == "two"
        finally:
            goes_on.set()
        assert first.result(SOON).repo == "one"
