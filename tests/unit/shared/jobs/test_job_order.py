"""Principals share the workers: many jobs of one principal do not delay those of another."""

from dataclasses import replace

import pytest

from codequarry.shared.errors import StoreUnavailable, TooManyRequests
from codequarry.shared.jobs.job import PRIORITIES, JobRequest
from codequarry.shared.jobs.job_list import UNFINISHED, change_job, claim_next, list_jobs, submit_within
from codequarry.shared.jobs.job_order import JOBS_AT_ONCE
from codequarry.shared.jobs.lifecycle import ended

STORM = 120
NO_LIMIT = 10_000


@pytest.fixture
def store(make_workshop):
    return make_workshop().store


def job_of(by: str, ref: str, priority: str = "urgent", trigger: str = "search") -> JobRequest:
    request = JobRequest("core", "https://example.org/core", ref, trigger=trigger, requested_by=by)
    return replace(request, priority=PRIORITIES[priority])


def ask(store, *requests, **limits):
    return [submit_within(store, request, NO_LIMIT, **limits)[0] for request in requests]


def work(store, jobs):
    """Run jobs one after the other as a worker does, and return their principals."""
    done = []
    for _ in range(jobs):
        job = claim_next(store, "me")
        change_job(store, job.id, lambda known: ended(known, "me", "done"))
        done.append(job.principal)
    return done


def test_many_jobs_of_a_key_do_not_delay_a_webhook(store):
    ask(store, *(job_of("storm", f"v{number}") for number in range(STORM)))
    work(store, 10)
    ask(store, job_of("webhook github", "main", "change", "webhook"))
    assert "webhook github" in work(store, 2 * JOBS_AT_ONCE + 1)


@pytest.mark.parametrize(("priority", "behind"), [("urgent", 1), ("change", 2), ("import", 3), ("background", 4)])
def test_a_lasting_storm_delays_other_jobs_only_briefly(store, priority, behind):
    """The storm adds a new job for each job that ends."""
    ask(store, *(job_of("storm", f"v{number}") for number in range(20)))
    ask(store, job_of("quiet", "dev", priority))
    done = []
    for number in range(behind * JOBS_AT_ONCE + 1):
        done += work(store, 1)
        ask(store, job_of("storm", f"w{number}"))
    assert "quiet" in done


def test_two_storms_are_served_equally(store):
    for number in range(40):
        ask(store, job_of("one", f"v{number}"))
    for number in range(40):
        ask(store, job_of("two", f"w{number}"))
    done = work(store, 40)
    assert abs(done.count("one") - done.count("two")) <= JOBS_AT_ONCE


def test_a_few_jobs_of_each_principal_are_served_by_urgency(store):
    ask(store, job_of("one", "a", "import"), job_of("two", "b", "change"))
    ask(store, job_of("one", "c"), job_of("", "d", "import", "poll"))
    assert work(store, 4) == ["one", "two", "one", "poll"]


def test_an_urgent_job_precedes_imports_of_the_same_principal(store):
    ask(store, *(job_of("one", f"v{number}", "import") for number in range(40)), job_of("one", "dev"))
    assert list_jobs(store, UNFINISHED)[0].ref == "dev"


def test_urgent_jobs_interrupt_a_running_import_only_a_limited_number_of_times(store):
    ask(store, job_of("quiet", "main", "import"))
    running = claim_next(store, "me")
    ask(store, *(job_of("storm", f"v{number}") for number in range(40)))
    within = 0
    while job := claim_next(store, "me", before=running.priority):
        within += 1
        change_job(store, job.id, lambda known: ended(known, "me", "done"))
    assert within == 2 * JOBS_AT_ONCE


def test_joining_a_job_of_a_storm_moves_it_forward(store):
    ask(store, *(job_of("storm", f"v{number}") for number in range(STORM)))
    ask(store, job_of("quiet", f"v{STORM - 1}"))
    claimed = [claim_next(store, "me").ref for _ in range(JOBS_AT_ONCE + 1)]
    assert f"v{STORM - 1}" in claimed


def test_a_key_has_a_quota_of_queued_jobs(store):
    requests = [job_of("one", f"v{number}") for number in range(3)]
    ask(store, *requests, most_of_key=3)
    with pytest.raises(TooManyRequests, match="jobs_waiting_per_key") as refused:
        ask(store, job_of("one", "dev"), most_of_key=3)
    assert refused.value.retry_after >= 1
    ask(store, requests[0], job_of("two", "dev"), most_of_key=3)
    ask(store, *(job_of("one", f"w{number}", trigger="webhook") for number in range(5)), most_of_key=3)
    with pytest.raises(StoreUnavailable):
        submit_within(store, job_of("three", "new"), 3, 3)
    work(store, 9)
    ask(store, job_of("one", "dev"), most_of_key=3)
