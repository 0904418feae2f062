"""A commit that can't be indexed because of its content is not retried at every push, only when a retry makes sense."""

from dataclasses import replace

import pytest

from codequarry.ingest.removal.removal import remove_repository
from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.ingest.workers.job_runner import run_job
from codequarry.search_api.versions.catalog import Catalog
from codequarry.search_api.versions.repositories import describe
from codequarry.shared.access.grants import Grant, Principal
from codequarry.shared.catalog.failures import FAILURE_PREFIX, fingerprint
from codequarry.shared.catalog.repositories import read_repository
from codequarry.shared.errors import LimitExceeded
from codequarry.shared.jobs.job import JobRequest
from codequarry.shared.jobs.job_list import change_job, claim, submit
from codequarry.shared.jobs.lifecycle import retried
from codequarry.shared.model import PathGlobs

TOO_MANY = "".join(f"*{number}\n" for number in range(10_001))


@pytest.fixture
def repository(make_repository):
    return make_repository(files={"a.py": "a = 1\n"})


@pytest.fixture
def workshop(make_workshop, repository):
    workshop = make_workshop()
    index_repository(IndexRequest(repository.origin, name="core"), workshop)
    return workshop


@pytest.fixture
def do(repository, workshop):
    """Return a function that runs a job with the given trigger and returns it at its end."""

    def run(trigger="webhook", shop=None, **fields):
        known = read_repository(workshop.store, "core")
        request = JobRequest("core", repository.origin, trigger=trigger, repo_id=known.id, **fields)
        job, _ = submit(workshop.store, request)
        return run_job(claim(workshop.store, job.id, "me"), "me", lambda: shop or workshop)

    return run


@pytest.fixture
def failed(do, repository):
    """Push a commit that exceeds a limit, and return its failed job."""
    repository.write(".codequarryignore", TOO_MANY)
    commit = repository.commit()
    job = do(commit=commit)
    assert (job.state, job.attempts) == ("failed", 1)
    assert "has 10001 lines" in job.error
    return replace(job, wanted_commit=commit)


@pytest.mark.parametrize("named", [True, False], ids=["commit named", "no commit named"])
@pytest.mark.parametrize("trigger", ["webhook", "poll", "search", "sync"])
def test_it_is_not_tried_again_by_automatic_triggers(do, failed, trigger, named):
    job = do(trigger, commit=failed.wanted_commit if named else "")
    assert job.state == "failed"
    assert job.error.startswith(f"commit {failed.wanted_commit[:12]} failed before")
    assert "has 10001 lines" in job.error


@pytest.mark.parametrize("trigger", ["request", "command"])
def test_it_is_tried_again_on_request_of_a_person(do, failed, trigger):
    assert do(trigger).error == failed.error


def test_it_is_tried_again_manually(workshop, repository, do, failed):
    with pytest.raises(LimitExceeded, match=r"^\.codequarryignore has 10001 lines"):
        index_repository(IndexRequest(repository.origin), workshop)
    left_alone = do()
    assert left_alone.error != failed.error
    change_job(workshop.store, left_alone.id, retried)
    again = run_job(claim(workshop.store, left_alone.id, "me"), "me", lambda: workshop)
    assert again.error == failed.error


def test_it_is_tried_again_after_the_settings_have_changed(workshop, do, failed):
    assert do().error != failed.error
    indexing = workshop.settings.indexing.model_copy(update={"max_paths": 5})
    changed = replace(workshop, settings=workshop.settings.model_copy(update={"indexing": indexing}))
    assert do(shop=changed).error == failed.error
    assert fingerprint(changed.settings) != fingerprint(workshop.settings)
    more = changed.settings.indexing.model_copy(update={"processes": 7})
    of_a_worker = changed.settings.model_copy(update={"indexing": more})
    assert fingerprint(of_a_worker) == fingerprint(changed.settings)


def test_the_next_commit_is_tried_and_clears_the_failure(workshop, repository, do, failed):
    repository.write(".codequarryignore", "*.log\n")
    commit = repository.commit()
    assert (do(commit=commit).state, do().state) == ("done", "done")
    assert workshop.store.list_documents(FAILURE_PREFIX) == []
    assert describe(Catalog(workshop.store))[0].failures == ()


def test_it_is_shown_to_callers_who_see_the_whole_repository(workshop, failed):
    catalog = Catalog(workshop.store)
    shown = describe(catalog)[0].failures
    assert [(failure.ref, failure.commit) for failure in shown] == [("main", failed.wanted_commit)]
    assert "has 10001 lines" in shown[0].reason
    known = read_repository(workshop.store, "core")
    part = Principal("part", frozenset({"search"}), (Grant("core", PathGlobs(("src/",)), known.id),))
    assert describe(catalog.seen_by(part))[0].failures == ()


def test_it_is_removed_with_its_repository(workshop, failed):
    remove_repository("core", workshop.store, workshop.settings)
    assert workshop.store.list_documents(FAILURE_PREFIX) == []


def test_a_limit_of_the_command_line_does_not_affect_other_runs(workshop, repository, do):
    for name in "bcd":
        repository.write(f"{name}.py", f"{name} = 1\n")
    repository.commit()
    with pytest.raises(LimitExceeded, match="--max-chunks"):
        index_repository(IndexRequest(repository.origin, max_chunks=1), workshop)
    assert do().state == "done"
