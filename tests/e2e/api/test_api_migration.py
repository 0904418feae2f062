"""Requests to the service at the very end of a migration, after the catalog was copied."""

import threading
import time
from contextlib import closing

import pytest

from codequarry.cli.session.embedded_worker import LocalIndexer
from codequarry.ingest.migration import switch
from codequarry.ingest.migration.migrate import migrate
from codequarry.ingest.request.index_request import IndexRequest, Workshop
from codequarry.ingest.run.pipeline import index_repository
from codequarry.search_api.http.app import create_app
from codequarry.search_api.http.request_context import followed
from codequarry.shared.errors import IndexMoved
from codequarry.shared.index.opened_index import open_index_to_write
from codequarry.shared.jobs.job import JobRequest
from codequarry.shared.jobs.job_list import claim, submit
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.factory import editions_of

FINAL = ("done", "failed", "cancelled")


def test_requests_during_the_switch_are_carried_out_on_the_new_index(
    tmp_path, make_repository, place_table, monkeypatch
):
    repository = make_repository("project", {"a.py": "x = 1\n"})
    place_table(tmp_path / "home" / "models" / "small", 64)
    sections = {"indexing": {"processes": 0, "grace_seconds": 0}, "retention": {"grace_seconds": 60}}
    api = {"local_roots": (repository.folder.parent,), "trust_loopback": True}
    settings = SettingsModel(home=tmp_path / "home", api=api, **sections)
    with closing(editions_of(settings)) as editions, closing(open_index_to_write(settings, editions)) as index:
        index_repository(IndexRequest(repository.origin), Workshop(index.store, index.embedder, settings))
        # Its holder can't publish anything after the index has moved.
        running, _ = submit(index.store, JobRequest("project", repository.origin))
        claim(index.store, running.id, "another machine")
    made, answers = [], []
    client = create_app(settings, make_indexer=lambda backend: made.append(LocalIndexer(backend)) or made[-1])
    origin = make_repository("other", {"b.py": "y = 1\n"}).origin
    asking = threading.Thread(
        target=lambda: answers.append(client.test_client().post("/repos", json={"origin": origin}))
    )
    copy = switch.copy_documents

    def copy_while_somebody_asks(old, new):
        copy(old, new)
        asking.start()
        time.sleep(0.3)
        assert asking.is_alive(), "the request waits for the end of the migration"

    monkeypatch.setattr(switch, "copy_documents", copy_while_somebody_asks)
    assert migrate(settings, "small").moved
    asking.join()
    assert answers[0].status_code == 202, answers[0].text
    deadline = time.monotonic() + 60
    for job_id in (answers[0].get_json()["job_id"], running.id):
        while (job := client.test_client().get(f"/jobs/{job_id}").get_json())["state"] not in FINAL:
            assert time.monotonic() < deadline, job
            time.sleep(0.05)
        assert (job["state"], job["attempts"]) == ("done", 1)
    made[0].close()


def test_a_view_is_not_retried_forever(monkeypatch):
    monkeypatch.setattr("codequarry.search_api.http.request_context.FOLLOW_SECONDS", 0.1)
    runs = []

    @followed
    def view():
        runs.append(1)
        raise IndexMoved("moved")

    with pytest.raises(IndexMoved):
        view()
    assert len(runs) > 1
