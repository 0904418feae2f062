"""State changes of a job: only its holder ends it, transient failures are retried, progress only grows."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from codequarry.shared.errors import Conflict, WrongState
from codequarry.shared.jobs.job import MAX_RETRY_SECONDS, Job, JobRequest, new_job
from codequarry.shared.jobs.lifecycle import (
    MAX_ATTEMPTS,
    MAX_BUSY_SECONDS,
    beaten,
    begun,
    cancelled,
    ended,
    failed,
    failed_once,
    given_back,
    joined,
    put_off,
    retried,
)
from codequarry.shared.timestamps import now
from codequarry.shared.versions.refs import Ref

REQUEST = JobRequest("core", "https://example.org/core", "dev", (Ref("branch", "dev"), Ref("tag", "dev")), priority=6)
# Later than any pause of these tests.
LATER = "2999-01-01T00:00:00.000+00:00"


def running(holder: str = "me", **fields) -> Job:
    return begun(new_job("1", REQUEST), holder, LATER, **fields)


def test_a_job_survives_a_round_trip_through_json():
    job = new_job("1", REQUEST)
    assert job.refs == REQUEST.candidates
    assert (
        Job.from_json({**{name: getattr(job, name) for name in Job.__slots__}, "candidates": list(job.candidates)})
        == job
    )


def test_only_a_queued_job_is_started_and_only_once():
    job = running()
    assert (job.state, job.holder, job.attempts) == ("running", "me", 1)
    with pytest.raises(Conflict, match="running"):
        begun(job, "other", LATER)


@pytest.mark.parametrize("rule", [lambda job: beaten(job, "other", {}), lambda job: ended(job, "other", "done")])
def test_a_former_holder_cannot_change_a_job(rule):
    with pytest.raises(Conflict, match="taken over"):
        rule(running())


def test_progress_only_grows_even_across_attempts():
    job = beaten(running(), "me", {"phase": "indexing", "files_done": 8, "files_total": 10})
    again = begun(given_back(job, "me"), "other", LATER)
    again = beaten(again, "other", {"files_done": 1, "files_total": 10})
    assert (job.percent, again.percent, again.beats) == (80, 80, 1)
    assert beaten(again, "other", {"files_done": 10}).percent == 99, "100 % is reserved for published jobs"
    assert ended(again, "other", "done", commit="c").percent == 100


def test_transient_failures_are_retried_after_growing_pauses_up_to_a_limit():
    job = new_job("1", REQUEST)
    for attempt in range(1, MAX_ATTEMPTS):
        job = failed_once(begun(job, "me", LATER), "me", f"error {attempt}", 0.5)
        assert (job.state, job.is_due(now())) == ("queued", False)
    job = failed_once(begun(job, "me", LATER), "me", "error 5", 0.5)
    assert (job.state, job.error) == ("failed", "error 5")
    assert job.failures == tuple(f"error {attempt}" for attempt in range(1, MAX_ATTEMPTS + 1))
    assert retried(job).is_due(now())


def test_an_attempt_that_got_further_resets_the_count():
    job = new_job("1", REQUEST)
    for number in range(1, 4 * MAX_ATTEMPTS):
        job = begun(job, "me", LATER)
        job = failed_once(beaten(job, "me", {"files_done": number, "files_total": 100}), "me", "killed", 0.5)
        assert (job.state, job.attempts, job.percent) == ("queued", 1, number)
    for _ in range(2, MAX_ATTEMPTS):
        job = begun(job, "me", LATER)
        job = failed_once(beaten(job, "me", {"files_done": 5, "files_total": 100}), "me", "killed", 0.5)
        assert job.state == "queued"
    job = failed_once(begun(job, "me", LATER), "me", "killed", 0.5)
    assert (job.state, job.attempts) == ("failed", MAX_ATTEMPTS)


@pytest.mark.parametrize("release", [given_back, partial(put_off, error="the store is down", share=0.5)])
def test_an_attempt_that_got_further_resets_the_count_if_released(release):
    """A stopping worker gives a job back, and an outage of the store puts it off."""
    job = new_job("1", REQUEST)
    for _ in range(MAX_ATTEMPTS - 1):
        job = failed_once(begun(job, "me", LATER), "me", "killed", 0.5)
    job = beaten(begun(job, "me", LATER), "me", {"files_done": 50, "files_total": 100})
    job = release(job, holder="me")
    assert (job.state, job.attempts) == ("queued", 0)
    job = failed_once(begun(job, "me", LATER), "me", "killed", 0.5)
    assert (job.state, job.attempts) == ("queued", 1)


def test_the_pause_has_jitter_and_a_maximum():
    first, second = (failed_once(running(), "me", "x", share).not_before for share in (0.0, 1.0))
    assert first < second
    assert MAX_RETRY_SECONDS <= 600


def test_giving_a_job_back_costs_no_attempt():
    job = given_back(running(), "me")
    assert (job.state, job.attempts, job.holder) == ("queued", 0, "")
    assert job.not_before == "", "clocks of different machines must not be compared"


def test_a_joining_request_updates_commit_and_priority():
    job = joined(new_job("1", REQUEST), JobRequest("core", "", "dev", priority=3, commit="c2"))
    assert (job.priority, job.wanted_commit) == (3, "c2")
    assert joined(job, JobRequest("core", "", "dev", priority=9)) == job


def test_a_queued_job_is_cancelled_and_a_running_job_asked_to_stop():
    assert cancelled(new_job("1", REQUEST)).state == "cancelled"
    assert cancelled(running()).stopping
    with pytest.raises(WrongState, match="ended: done"):
        cancelled(ended(running(), "me", "done"))
    with pytest.raises(WrongState, match="is done"):
        retried(ended(running(), "me", "done"))


def test_a_failure_ends_a_cancelled_job():
    running = cancelled(begun(new_job("1", JobRequest("core", "https://example.org/core")), "me", now()))
    over = failed_once(running, "me", "the network is down", 0.0)
    assert (over.state, over.stopping, over.failures) == ("cancelled", False, ("the network is down",))


@pytest.mark.parametrize(
    "rule",
    [
        lambda job: given_back(job, "me"),
        lambda job: put_off(job, "me", "the engine is down", 0.5),
        lambda job: put_off(job, "me", "somebody else is at it", 0.5, busy=True),
        lambda job: failed(job, "me", "there is no such branch"),
    ],
    ids=["its-worker-ends", "outage", "busy", "failure"],
)
def test_a_cancelled_job_is_not_queued_again(rule):
    over = rule(cancelled(running()))
    assert (over.state, over.holder, over.stopping) == ("cancelled", "", False)
    assert retried(over).is_due(now())


def test_a_busy_timeline_is_retried_after_growing_pauses_without_attempts():
    job, pauses = new_job("1", REQUEST), []
    for _ in range(8):
        job = put_off(begun(job, "me", LATER), "me", "somebody else is at it", 1.0, busy=True)
        pauses.append((datetime.fromisoformat(job.not_before) - datetime.now(UTC)).total_seconds())
    assert job.attempts == 0
    assert round(pauses[0]) == 1
    assert round(pauses[-1]) == MAX_BUSY_SECONDS


def test_an_impossibly_long_pause_is_ignored():
    """Otherwise a clock that was briefly years ahead would delay a job by years."""
    assert replace(new_job("1", REQUEST), not_before="2999-01-01T00:00:00.000000+00:00").is_due(now())


def test_a_job_waits_for_any_length_of_outage():
    job = new_job("1", REQUEST)
    for _ in range(3 * MAX_ATTEMPTS):
        job = put_off(begun(job, "me", LATER), "me", "the engine is down", 0.5)
        assert (job.state, job.attempts, job.error) == ("queued", 0, "the engine is down")
    assert job.not_before < in_two_minutes()
    assert not job.failures


def in_two_minutes() -> str:
    return (datetime.now(UTC) + timedelta(minutes=2)).isoformat()
