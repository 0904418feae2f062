"""Jobs in the catalog of a real store."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from codequarry.shared.errors import NotIndexed, StoreUnavailable
from codequarry.shared.jobs.job import PRIORITIES, JobRequest, beaten, cancelled, ended
from codequarry.shared.jobs.job_list import (
    change_job,
    claim,
    claim_next,
    list_jobs,
    read_job,
    submit,
    submit_within,
    tidy,
)


@pytest.fixture
def store(make_workshop):
    return make_workshop().store


def request(repo: str = "core", ref: str = "dev", priority: str = "import", commit: str = "") -> JobRequest:
    return JobRequest(repo, f"https://example.org/{repo}", ref, priority=PRIORITIES[priority], commit=commit)


def test_a_burst_makes_one_job_that_waits_and_one_more_while_that_runs(store):
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


def test_other_versions_and_repositories_have_jobs_of_their_own(store):
    requests = [request(), request(ref="main"), request("site")]
    assert len({submit(store, one)[0].id for one in requests}) == 3


def test_the_most_urgent_job_goes_first_then_the_oldest(store):
    for repo, priority in (("old", "import"), ("new", "import"), ("pushed", "change")):
        submit(store, request(repo, priority=priority))
    taken = [claim_next(store, "me").repo for _ in range(3)]
    assert taken == ["pushed", "old", "new"]
    assert claim_next(store, "me") is None


def test_only_what_is_more_urgent_goes_before_a_running_job(store):
    submit(store, request("other"))
    assert claim_next(store, "me", before=PRIORITIES["import"]) is None
    submit(store, request("pushed", priority="change"))
    assert claim_next(store, "me", before=PRIORITIES["import"]).repo == "pushed"


def test_a_version_that_somebody_is_at_is_left_alone_and_so_is_what_is_passed_over(store):
    """Whoever took its next job meanwhile would only wait for the lease."""
    first, _ = submit(store, request())
    assert claim_next(store, "me").id == first.id
    next_one, _ = submit(store, request())
    assert claim_next(store, "other") is None
    submit(store, request(ref="v1"))
    assert claim_next(store, "other", passing_over={"core"}) is None
    assert claim_next(store, "other").ref == "v1"
    change_job(store, first.id, lambda job: ended(job, "me", "done"))
    assert claim_next(store, "other").id == next_one.id


def test_a_job_that_showed_life_since_it_was_looked_at_is_not_lost(store):
    job, _ = submit(store, request())
    claim(store, job.id, "me")

    def beats_meanwhile(seen):
        change_job(store, seen.id, lambda known: beaten(known, "me", {}))
        return True

    assert tidy(store, beats_meanwhile, 0, 0) == []
    assert read_job(store, job.id).state == "running"


def test_no_more_than_so_many_jobs_wait_but_a_burst_still_joins(store):
    first, _ = submit_within(store, request(), 1)
    assert submit_within(store, request(), 1)[0].id == first.id
    with pytest.raises(StoreUnavailable, match="1 imports are waiting"):
        submit_within(store, request("site"), 1)


def test_one_of_many_gets_a_job(store):
    job, _ = submit(store, request())
    with ThreadPoolExecutor(8) as pool:
        taken = [one for one in pool.map(lambda name: claim(store, job.id, str(name)), range(16)) if one]
    assert len(taken) == 1


def test_an_ended_job_is_not_taken_and_an_unknown_one_is_named(store):
    job, _ = submit(store, request())
    change_job(store, job.id, cancelled)
    assert claim(store, job.id, "me") is None
    assert [one.state for one in list_jobs(store, ("cancelled",))] == ["cancelled"]
    with pytest.raises(NotIndexed, match="no job 'nope'"):
        change_job(store, "nope", lambda one: ended(one, "me", "done"))
    assert claim(store, "nope", "me") is None


def test_a_job_whose_holder_died_waits_again_and_old_ones_go(store):
    for repo in ("lost", "alive", "ended"):
        submit(store, request(repo))
    lost, alive, done = (claim(store, job.id, job.repo) for job in list_jobs(store))
    change_job(store, done.id, lambda job: ended(job, job.holder, "done"))
    assert [job.id for job in tidy(store, lambda job: job.holder == lost.holder, 0, 0)] == [lost.id]
    states = {job.repo: job.state for job in list_jobs(store)}
    assert states == {lost.repo: "queued", alive.repo: "running"}
    assert read_job(store, lost.id).failures


def test_who_lacks_a_version_altogether_joins_the_run_that_has_begun(store):
    job, _ = submit(store, request())
    claim(store, job.id, "me")
    assert submit(store, replace(request(), joins_running=True))[0].id == job.id
    assert submit(store, request())[0].id != job.id


def test_what_points_to_a_job_goes_with_it(store):
    for repo in ("ended", "waits"):
        submit(store, request(repo))
    ended_job = next(job for job in list_jobs(store) if job.repo == "ended")
    change_job(store, ended_job.id, cancelled)
    tidy(store, lambda _: False, 0, 0)
    tidy(store, lambda _: False, 0, 0)
    [pointer] = store.list_documents("job-waiting:")
    assert "waits" in pointer.key


def test_who_lacks_a_version_joins_a_job_that_begins_at_that_moment(store):
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
