"""What may become of a job: only its holder ends it, a failure that may pass is tried again, progress only grows."""

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
# Later than any pause of this test.
LATER = "2999-01-01T00:00:00.000+00:00"


def running(holder: str = "me", **fields) -> Job:
    return begun(new_job("1", REQUEST), holder, LATER, **fields)


def test_a_job_is_read_as_it_was_written():
    job = new_job("1", REQUEST)
    assert job.refs == REQUEST.candidates
    assert (
        Job.from_json({**{name: getattr(job, name) for name in Job.__slots__}, "candidates": list(job.candidates)})
        == job
    )


def test_only_a_job_that_waits_is_begun_and_only_by_one():
    job = running()
    assert (job.state, job.holder, job.attempts) == ("running", "me", 1)
    with pytest.raises(Conflict, match="running"):
        begun(job, "other", LATER)


@pytest.mark.parametrize("rule", [lambda job: beaten(job, "other", {}), lambda job: ended(job, "other", "done")])
def test_who_lost_a_job_can_change_nothing_about_it(rule):
    with pytest.raises(Conflict, match="taken over"):
        rule(running())


def test_progress_only_goes_up_also_over_attempts():
    job = beaten(running(), "me", {"phase": "indexing", "files_done": 8, "files_total": 10})
    again = begun(given_back(job, "me"), "other", LATER)
    again = beaten(again, "other", {"files_done": 1, "files_total": 10})
    assert (job.percent, again.percent, again.beats) == (80, 80, 1)
    assert beaten(again, "other", {"files_done": 10}).percent == 99, "it is done when it is published"
    assert ended(again, "other", "done", commit="c").percent == 100


def test_a_failure_that_may_pass_is_tried_again_after_a_growing_pause_until_it_counts():
    job = new_job("1", REQUEST)
    for attempt in range(1, MAX_ATTEMPTS):
        job = failed_once(begun(job, "me", LATER), "me", f"error {attempt}", 0.5)
        assert (job.state, job.is_due(now())) == ("queued", False)
    job = failed_once(begun(job, "me", LATER), "me", "error 5", 0.5)
    assert (job.state, job.error) == ("failed", "error 5")
    assert job.failures == tuple(f"error {attempt}" for attempt in range(1, MAX_ATTEMPTS + 1))
    assert retried(job).is_due(now())


def test_an_attempt_that_got_further_is_the_first_of_a_new_count():
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


@pytest.mark.parametrize("goes", [given_back, partial(put_off, error="the store is down", share=0.5)])
def test_an_attempt_that_got_further_counts_so_too_where_it_was_given_back(goes):
    """As by a worker that is told to end, and by a store that went away."""
    job = new_job("1", REQUEST)
    for _ in range(MAX_ATTEMPTS - 1):
        job = failed_once(begun(job, "me", LATER), "me", "killed", 0.5)
    job = beaten(begun(job, "me", LATER), "me", {"files_done": 50, "files_total": 100})
    job = goes(job, holder="me")
    assert (job.state, job.attempts) == ("queued", 0)
    job = failed_once(begun(job, "me", LATER), "me", "killed", 0.5)
    assert (job.state, job.attempts) == ("queued", 1)


def test_the_pause_has_a_random_share_and_an_end():
    first, second = (failed_once(running(), "me", "x", share).not_before for share in (0.0, 1.0))
    assert first < second
    assert MAX_RETRY_SECONDS <= 600


def test_a_job_that_was_given_back_has_lost_no_attempt():
    job = given_back(running(), "me")
    assert (job.state, job.attempts, job.holder) == ("queued", 0, "")
    assert job.not_before == "", "no clock is compared with that of another machine"


def test_a_request_that_joins_brings_the_newest_commit_and_its_priority():
    job = joined(new_job("1", REQUEST), JobRequest("core", "", "dev", priority=3, commit="c2"))
    assert (job.priority, job.wanted_commit) == (3, "c2")
    assert joined(job, JobRequest("core", "", "dev", priority=9)) == job


def test_what_waits_is_cancelled_and_what_runs_is_asked_to_stop():
    assert cancelled(new_job("1", REQUEST)).state == "cancelled"
    assert cancelled(running()).stopping
    with pytest.raises(WrongState, match="ended: done"):
        cancelled(ended(running(), "me", "done"))
    with pytest.raises(WrongState, match="is done"):
        retried(ended(running(), "me", "done"))


def test_a_failure_of_a_job_that_was_cancelled_ends_it():
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
def test_a_job_that_was_cancelled_does_not_wait_again(rule):
    over = rule(cancelled(running()))
    assert (over.state, over.holder, over.stopping) == ("cancelled", "", False)
    assert retried(over).is_due(now())


def test_who_finds_somebody_else_at_it_looks_again_soon_and_then_less_and_less_often():
    job, pauses = new_job("1", REQUEST), []
    for _ in range(8):
        job = put_off(begun(job, "me", LATER), "me", "somebody else is at it", 1.0, busy=True)
        pauses.append((datetime.fromisoformat(job.not_before) - datetime.now(UTC)).total_seconds())
    assert job.attempts == 0
    assert round(pauses[0]) == 1
    assert round(pauses[-1]) == MAX_BUSY_SECONDS


def test_a_pause_that_is_longer_than_any_holds_nothing_up():
    """A clock that was years ahead for a moment would keep a job waiting for as long."""
    assert replace(new_job("1", REQUEST), not_before="2999-01-01T00:00:00.000000+00:00").is_due(now())


def test_an_outage_is_waited_for_however_long_it_lasts():
    job = new_job("1", REQUEST)
    for _ in range(3 * MAX_ATTEMPTS):
        job = put_off(begun(job, "me", LATER), "me", "the engine is down", 0.5)
        assert (job.state, job.attempts, job.error) == ("queued", 0, "the engine is down")
    assert job.not_before < in_two_minutes()
    assert not job.failures


def in_two_minutes() -> str:
    return (datetime.now(UTC) + timedelta(minutes=2)).isoformat()
