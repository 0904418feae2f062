"""Principals share the workers: a storm of one holds up no job of another."""

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


def wish(by: str, ref: str, priority: str = "urgent", trigger: str = "search") -> JobRequest:
    request = JobRequest("core", "https://example.org/core", ref, trigger=trigger, requested_by=by)
    return replace(request, priority=PRIORITIES[priority])


def ask(store, *wishes, **limits):
    return [submit_within(store, one, NO_LIMIT, **limits)[0] for one in wishes]


def work(store, jobs):
    """Do as many jobs as a worker does one after the other, and return who asked for them."""
    done = []
    for _ in range(jobs):
        job = claim_next(store, "me")
        change_job(store, job.id, lambda known: ended(known, "me", "done"))
        done.append(job.principal)
    return done


def test_a_storm_of_one_key_holds_up_no_webhook_of_another_team(store):
    ask(store, *(wish("storm", f"v{number}") for number in range(STORM)))
    work(store, 10)
    ask(store, wish("webhook github", "main", "change", "webhook"))
    assert "webhook github" in work(store, 2 * JOBS_AT_ONCE + 1)


@pytest.mark.parametrize(("priority", "behind"), [("urgent", 1), ("change", 2), ("import", 3), ("background", 4)])
def test_a_storm_that_goes_on_holds_up_nobody_for_long(store, priority, behind):
    """While it is worked on, as many new jobs of the storm come as are done."""
    ask(store, *(wish("storm", f"v{number}") for number in range(20)))
    ask(store, wish("quiet", "dev", priority))
    done = []
    for number in range(behind * JOBS_AT_ONCE + 1):
        done += work(store, 1)
        ask(store, wish("storm", f"w{number}"))
    assert "quiet" in done


def test_two_storms_are_served_alike(store):
    for number in range(40):
        ask(store, wish("one", f"v{number}"))
    for number in range(40):
        ask(store, wish("two", f"w{number}"))
    done = work(store, 40)
    assert abs(done.count("one") - done.count("two")) <= JOBS_AT_ONCE


def test_a_few_jobs_of_everybody_are_served_by_their_urgency(store):
    ask(store, wish("one", "a", "import"), wish("two", "b", "change"))
    ask(store, wish("one", "c"), wish("", "d", "import", "poll"))
    assert work(store, 4) == ["one", "two", "one", "poll"]


def test_what_somebody_waits_for_goes_before_the_many_imports_that_they_asked_for_themselves(store):
    ask(store, *(wish("one", f"v{number}", "import") for number in range(40)), wish("one", "dev"))
    assert list_jobs(store, UNFINISHED)[0].ref == "dev"


def test_a_storm_of_urgent_jobs_does_not_go_before_a_running_import_for_ever(store):
    ask(store, wish("quiet", "main", "import"))
    running = claim_next(store, "me")
    ask(store, *(wish("storm", f"v{number}") for number in range(40)))
    within = 0
    while job := claim_next(store, "me", before=running.priority):
        within += 1
        change_job(store, job.id, lambda known: ended(known, "me", "done"))
    assert within == 2 * JOBS_AT_ONCE


def test_who_joins_a_job_of_a_storm_does_not_wait_for_the_storm(store):
    ask(store, *(wish("storm", f"v{number}") for number in range(STORM)))
    ask(store, wish("quiet", f"v{STORM - 1}"))
    claimed = [claim_next(store, "me").ref for _ in range(JOBS_AT_ONCE + 1)]
    assert f"v{STORM - 1}" in claimed


def test_a_key_has_a_quota_of_jobs_that_wait(store):
    wishes = [wish("one", f"v{number}") for number in range(3)]
    ask(store, *wishes, most_of_key=3)
    with pytest.raises(TooManyRequests, match="jobs_waiting_per_key") as refused:
        ask(store, wish("one", "dev"), most_of_key=3)
    assert refused.value.retry_after >= 1
    ask(store, wishes[0], wish("two", "dev"), most_of_key=3)
    ask(store, *(wish("one", f"w{number}", trigger="webhook") for number in range(5)), most_of_key=3)
    with pytest.raises(StoreUnavailable):
        submit_within(store, wish("three", "new"), 3, 3)
    work(store, 9)
    ask(store, wish("one", "dev"), most_of_key=3)
