"""Jobs in the catalog of a real store."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from codequarry.shared.catalog.deliveries import end_delivery, new_delivery
from codequarry.shared.catalog.ledger import change_head
from codequarry.shared.errors import IndexMoved, NotIndexed, StoreUnavailable, WrongState
from codequarry.shared.jobs.housekeeping import forget_old, requeue_lost
from codequarry.shared.jobs.job import PRIORITIES, JobRequest
from codequarry.shared.jobs.job_list import (
    change_job,
    claim,
    claim_next,
    due_jobs,
    list_jobs,
    read_job,
    submit,
    submit_within,
)
from codequarry.shared.jobs.lifecycle import beaten, cancelled, ended, failed_once, retried
from codequarry.shared.versions.moves import hold_timelines, release_timelines, switch_edition


@pytest.fixture
def store(make_workshop):
    return make_workshop().store


def request(repo: str = "core", ref: str = "dev", priority: str = "import", commit: str = "") -> JobRequest:
    return JobRequest(repo, f"https://example.org/{repo}", ref, priority=PRIORITIES[priority], commit=commit)


def test_a_burst_of_requests_makes_a_single_queued_job(store):
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda number: submit(store, request(commit=f"c{number}")), range(40)))
    assert len({job.id for job, _ in made}) == 1
    assert [new for _, new in made].count(True) == 1
    first = claim(store, made[0][0].id, "me")
    assert first is not None
    successors = {submit(store, request(commit=f"d{number}"))[0].id for number in range(5)}
    assert len(successors) == 1
    assert successors != {first.id}
    assert read_job(store, successors.pop()).wanted_commit == "d4"


def test_each_version_and_repository_has_its_own_jobs(store):
    requests = [request(), request(ref="main"), request("site")]
    assert len({submit(store, request)[0].id for request in requests}) == 3


def test_the_most_urgent_job_comes_first_then_the_oldest(store):
    for repo, priority in (("old", "import"), ("new", "import"), ("pushed", "change")):
        submit(store, request(repo, priority=priority))
    taken = [claim_next(store, "me").repo for _ in range(3)]
    assert taken == ["pushed", "old", "new"]
    assert claim_next(store, "me") is None


def test_only_more_urgent_jobs_interrupt_a_running_job(store):
    submit(store, request("other"))
    assert claim_next(store, "me", before=PRIORITIES["import"]) is None
    submit(store, request("pushed", priority="change"))
    assert claim_next(store, "me", before=PRIORITIES["import"]).repo == "pushed"


def test_a_version_being_worked_on_and_excluded_repositories_are_skipped(store):
    """A second worker on the same version would only wait for the lease."""
    first, _ = submit(store, request())
    assert claim_next(store, "me").id == first.id
    next_one, _ = submit(store, request())
    assert claim_next(store, "other") is None
    submit(store, request(ref="v1"))
    assert claim_next(store, "other", passing_over={"core"}) is None
    assert claim_next(store, "other").ref == "v1"
    change_job(store, first.id, lambda job: ended(job, "me", "done"))
    assert claim_next(store, "other").id == next_one.id


def test_a_job_with_a_new_heartbeat_is_not_lost(store):
    job, _ = submit(store, request())
    claim(store, job.id, "me")

    def beats_meanwhile(seen):
        change_job(store, seen.id, lambda known: beaten(known, "me", {}))
        return True

    assert requeue_lost(store, beats_meanwhile) == []
    assert read_job(store, job.id).state == "running"


def test_queued_jobs_are_limited_but_requests_can_still_join(store):
    first, _ = submit_within(store, request(), 1)
    assert submit_within(store, request(), 1)[0].id == first.id
    with pytest.raises(StoreUnavailable, match="1 jobs that are at least as urgent are already waiting"):
        submit_within(store, request("site"), 1)


def test_a_push_is_accepted_however_many_imports_are_queued(store):
    submit_within(store, request(), 1)
    assert submit_within(store, request("site", priority="change"), 1)[1]
    for priority in ("change", "import", "background"):
        with pytest.raises(StoreUnavailable):
            submit_within(store, request("other", priority=priority), 1)


def test_a_job_is_claimed_by_only_one_worker(store):
    job, _ = submit(store, request())
    with ThreadPoolExecutor(8) as pool:
        taken = [claimed for claimed in pool.map(lambda name: claim(store, job.id, str(name)), range(16)) if claimed]
    assert len(taken) == 1


def test_an_ended_job_is_not_claimed_and_an_unknown_job_is_named(store):
    job, _ = submit(store, request())
    change_job(store, job.id, cancelled)
    assert claim(store, job.id, "me") is None
    assert [known.state for known in list_jobs(store, ("cancelled",))] == ["cancelled"]
    with pytest.raises(NotIndexed, match="no job 'nope'"):
        change_job(store, "nope", lambda known: ended(known, "me", "done"))
    assert claim(store, "nope", "me") is None


def test_jobs_of_dead_holders_are_queued_again_and_old_jobs_dropped(store):
    for repo in ("lost", "alive", "ended"):
        submit(store, request(repo))
    lost, alive, done = (claim(store, job.id, job.repo) for job in list_jobs(store))
    change_job(store, done.id, lambda job: ended(job, job.holder, "done"))
    assert [job.id for job in requeue_lost(store, lambda job: job.holder == lost.holder)] == [lost.id]
    forget_old(store, 0, 0)
    states = {job.repo: job.state for job in list_jobs(store)}
    assert states == {lost.repo: "queued", alive.repo: "running"}
    assert read_job(store, lost.id).failures


def test_a_request_for_a_missing_version_joins_a_running_job(store):
    job, _ = submit(store, request())
    claim(store, job.id, "me")
    assert submit(store, replace(request(), joins_running=True))[0].id == job.id
    assert submit(store, request())[0].id != job.id


def test_a_search_joins_a_running_job_for_the_commit_that_it_needs(store):
    """A push does not: the job may have fetched another commit that was pushed in between."""
    job, _ = submit(store, replace(request(), commit="a" * 40))
    claim(store, job.id, "worker")
    needed = replace(request(), commit="a" * 40, trigger="search")
    assert submit(store, needed)[0].id == job.id
    assert submit(store, replace(needed, trigger="webhook"))[0].id != job.id
    assert submit(store, replace(needed, commit="b" * 40))[0].id != job.id


def test_the_pointer_to_a_job_is_deleted_with_it(store):
    for repo in ("ended", "waits"):
        submit(store, request(repo))
    ended_job = next(job for job in list_jobs(store) if job.repo == "ended")
    change_job(store, ended_job.id, cancelled)
    requeue_lost(store, lambda _: False)
    [pointer] = store.list_documents("job-waiting:")
    assert "waits" in pointer.key


def test_a_request_for_a_missing_version_joins_a_job_that_just_started(store):
    job, _ = submit(store, request())
    read = store.read_document
    taken = []

    class Meddled:
        def __getattr__(self, name):
            return getattr(store, name)

        def read_document(self, key):
            document = read(key)
            if key == f"job:{job.id}" and not taken:
                taken.append(claim(store, job.id, "me"))
            return document

    assert submit(Meddled(), replace(request(), joins_running=True)) == (read_job(store, job.id), False)
    assert taken[0].state == "running"


def test_looking_for_work_reads_no_ended_jobs(store):
    """There may be ten thousand ended jobs."""
    for repo in ("done", "cancelled", "waits"):
        submit(store, request(repo))
    done = next(job for job in list_jobs(store) if job.repo == "done")
    claim(store, done.id, "me")
    change_job(store, done.id, lambda job: ended(job, "me", "done"))
    change_job(store, next(job.id for job in list_jobs(store) if job.repo == "cancelled"), cancelled)
    assert [document.body["repo"] for document in store.list_documents("job:")] == ["waits"]
    assert {job.repo: job.state for job in list_jobs(store)} == {
        "waits": "queued",
        "done": "done",
        "cancelled": "cancelled",
    }
    assert [job.repo for job in list_jobs(store, ("done",))] == ["done"]
    assert read_job(store, done.id).state == "done"
    with pytest.raises(WrongState, match="is done"):
        change_job(store, done.id, retried)


def test_a_retried_job_is_found_when_looking_for_work(store):
    job, _ = submit(store, request())
    change_job(store, job.id, cancelled)
    with ThreadPoolExecutor(4) as pool:
        retries = [pool.submit(change_job, store, job.id, retried) for _ in range(4)]
    assert [retry.exception() is None for retry in retries].count(True) == 1
    assert [known.id for known in list_jobs(store)] == [job.id]
    assert claim_next(store, "me").id == job.id
    change_job(store, job.id, lambda known: ended(known, "me", "done"))
    assert read_job(store, job.id).state == "done"
    assert [known.state for known in list_jobs(store)] == ["done"]


@pytest.mark.parametrize("at", ["job-ended:", "job:"])
def test_a_job_retried_while_it_is_being_archived_is_not_lost(store, at):
    """The other process pauses between its two writes."""
    job, _ = submit(store, request())
    change_job(store, job.id, cancelled)
    ended_job = store.read_document(f"job-ended:{job.id}")
    store.write_document(f"job:{job.id}", ended_job.body, None)  # left by a crash or an older process
    read = store.read_document
    tried = []

    class Meddled:
        def __getattr__(self, name):
            return getattr(store, name)

        def read_document(self, key):
            document = read(key)
            if key.startswith(at) and not tried:
                tried.append(change_job(store, job.id, retried))
            return document

    requeue_lost(Meddled(), lambda _: False)
    assert read_job(store, job.id).state == "queued"
    assert [known.state for known in list_jobs(store)] == ["queued"]
    assert claim_next(store, "me").id == job.id


def test_an_ended_job_left_by_a_crash_is_archived(store):
    job, _ = submit(store, request())
    change_job(store, job.id, cancelled)
    body = store.read_document(f"job-ended:{job.id}").body
    store.write_document(f"job:{job.id}", body, None)
    assert [known.id for known in list_jobs(store)] == [job.id]
    requeue_lost(store, lambda _: False)
    assert store.list_documents("job:") == []
    assert [known.id for known in list_jobs(store)] == [job.id]
    forget_old(store, 3600, 3600)
    assert read_job(store, job.id)
    forget_old(store, 0, 0)
    assert list_jobs(store) == []


def test_removals_and_imports_run_in_the_order_of_their_requests(store):
    """The last request wins whatever its priority, even if the first job waits for its next attempt."""
    removal, _ = submit(store, replace(request(ref=""), kind="remove"))
    claim(store, removal.id, "me")
    submit(store, request(ref="", priority="urgent"))
    submit(store, request(ref="v1", priority="urgent"))
    submit(store, request("site"))
    assert [job.repo for job in due_jobs(store)] == ["site"]
    change_job(store, removal.id, lambda job: failed_once(job, "me", "the network is down", 1.0))
    assert [job.repo for job in due_jobs(store)] == ["site"]
    change_job(store, removal.id, lambda job: replace(job, not_before=""))
    assert claim_next(store, "me", passing_over={"site"}).id == removal.id
    change_job(store, removal.id, lambda job: ended(job, "me", "done"))
    assert [(job.repo, job.ref) for job in due_jobs(store)] == [("core", ""), ("core", "v1"), ("site", "dev")]


def test_a_repository_is_removed_after_all_imports_requested_earlier(store):
    """Otherwise an import added between cancelling jobs and the removal would bring the repository back."""
    before, _ = submit(store, request(ref="v1"))
    removal, _ = submit(store, replace(request(ref="", priority="urgent"), kind="remove"))
    submit(store, request(ref="v2", priority="urgent"))
    assert [job.id for job in due_jobs(store)] == [before.id]
    change_job(store, before.id, cancelled)
    assert [job.id for job in due_jobs(store)] == [removal.id]


def test_a_request_does_not_join_a_job_before_its_opposite(store):
    opened, _ = submit(store, request(ref="refs/pull/1"))
    closed, _ = submit(store, replace(request(ref="refs/pull/1"), kind="remove"))
    reopened, is_new = submit(store, request(ref="refs/pull/1"))
    assert (is_new, reopened.id == opened.id) == (True, False)
    assert submit(store, request(ref="refs/pull/1"))[0].id == reopened.id
    done = []
    while job := claim_next(store, "me"):
        done.append(job.id)
        change_job(store, job.id, lambda known: ended(known, "me", "done"))
    assert done == [opened.id, closed.id, reopened.id]


@pytest.mark.parametrize("is_done", [True, False], ids=["switched", "let go"])
def test_no_job_is_written_to_an_edition_that_the_index_has_left(store, is_done):
    """A migration freezes the head document while it copies the catalog."""
    job, _ = submit(store, request())
    change_head(store, lambda head: (hold_timelines(head, "mover", 2, "minilm"), None))

    def finish(head):
        return (
            switch_edition(head, "mover", replace(head, move=None), "now")
            if is_done
            else release_timelines(head, "mover")
        ), None

    with ThreadPoolExecutor(3) as pool:
        writers = [
            pool.submit(submit, store, request("site")),
            pool.submit(change_job, store, job.id, cancelled),
            pool.submit(end_delivery, store, new_delivery("github", "1")),
        ]
        time.sleep(0.1)
        assert not any(writer.done() for writer in writers)
        change_head(store, finish, "mover")
    moved = [isinstance(writer.exception(), IndexMoved) for writer in writers]
    assert moved == [is_done] * 3


def test_invalid_documents_and_fields_of_later_versions_are_ignored(store):
    job, _ = submit(store, request())
    document = store.read_document(f"job:{job.id}")
    store.write_document(document.key, {**document.body, "of_a_later_version": 1}, document.version)
    for number, body in enumerate(
        ({}, {"id": 7}, {**document.body, "priority": "high"}, {**document.body, "updated_at": "soon"})
    ):
        store.write_document(f"job:{number}", body, None)
        store.write_document(f"job-ended:{number}", body, None)
        assert read_job(store, str(number)) is None
        with pytest.raises(NotIndexed):
            change_job(store, str(number), cancelled)
    assert [known.id for known in list_jobs(store)] == [job.id]
    assert requeue_lost(store, lambda _: True) == []
    forget_old(store, 0, 0)
    assert claim_next(store, "me").id == job.id
