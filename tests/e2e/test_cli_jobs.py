"""`codequarry jobs` as users run it."""

from dataclasses import replace

import pytest

from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.jobs.job import JobRequest
from codequarry.shared.jobs.job_list import change_job, claim, submit
from codequarry.shared.jobs.lifecycle import ended
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.factory import open_store


@pytest.fixture
def failed(workspace):
    """Return the id of a failed job in the user's index."""
    settings = SettingsModel(home=workspace.folder / "home")
    settings.home.mkdir()
    embedder = open_embedder(settings.embedding, settings.home / "models")
    store = open_store(settings, embedder.dimension)
    job, _ = submit(store, JobRequest("core", "/nowhere"))
    claim(store, job.id, "worker")
    change_job(store, job.id, lambda job: replace(ended(job, "worker", "failed", error="b"), failures=("a", "b")))
    store.close()
    embedder.close()
    return job.id


def test_a_failed_job_is_listed_shown_retried_and_cancelled(workspace, failed):
    listed = workspace.run("jobs", "list", "--state", "failed", "--json").json
    assert ([job["job_id"] for job in listed["jobs"]], listed["total"]) == ([failed], 1)
    assert failed in workspace.run("jobs", "list").out
    assert "failure 2   b" in workspace.run("jobs", "show", failed).out
    assert workspace.run("jobs", "retry", failed, "--json").json["state"] == "queued"
    assert workspace.run("jobs", "cancel", failed, "--json").json["state"] == "cancelled"
    outcome = workspace.run("jobs", "cancel", failed)
    assert (outcome.code, "has ended" in outcome.error) == (2, True)


def test_empty_lists_and_unknown_jobs_are_reported(workspace):
    assert workspace.run("jobs", "list", "--json").json == {"jobs": [], "total": 0}
    assert "known: queued" in workspace.run("jobs", "list", "--state", "lost").error
    assert workspace.run("jobs", "show", "nope").code == 1
