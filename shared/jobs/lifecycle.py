"""The transitions of a job's state. Each is a pure function that returns the changed job or raises an error."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from codequarry.shared.errors import Conflict, WrongState
from codequarry.shared.jobs.job import MAX_RETRY_SECONDS, Job, JobRequest, JobState
from codequarry.shared.timestamps import from_now

# Attempts before a job fails for good.
MAX_ATTEMPTS = 5
# The pause after a first failure. Each further failure doubles it; a random part keeps jobs from retrying all at once.
RETRY_SECONDS = 5.0
# Longest pause while an engine or model is down; short, because everything is waiting for it.
MAX_OUTAGE_SECONDS = 60.0
# First and longest pause while another process works on the same version.
BUSY_SECONDS = 1.0
MAX_BUSY_SECONDS = 15.0


def joined(job: Job, request: JobRequest) -> Job:
    """Return a waiting job that another request joins, with the newest commit and the more urgent priority."""
    priority, turn = min(job.priority, request.priority), min(job.turn, request.turn)
    return replace(job, priority=priority, turn=turn, wanted_commit=request.commit or job.wanted_commit)


def begun(job: Job, holder: str, moment: str) -> Job:
    """Return a job that ``holder`` has begun; raise Conflict if it is not waiting or its pause is not over."""
    if not job.is_due(moment):
        raise Conflict(f"job {job.id} is {job.state}")
    taken = replace(job, state="running", holder=holder, beats=0, error="", not_before="")
    return replace(taken, attempts=job.attempts + 1, reached=job.percent)


def beaten(job: Job, holder: str, progress: Mapping[str, Any]) -> Job:
    """Return a running job with a heartbeat and its progress; raise Conflict if ``holder`` no longer holds it."""
    _check_holder(job, holder)
    shown = replace(job, beats=job.beats + 1, **progress)
    done = 100 * shown.files_done // shown.files_total if shown.files_total else 0
    return replace(shown, percent=max(job.percent, min(done, 99)))


def ended(job: Job, holder: str, state: JobState, *, commit: str = "", error: str = "") -> Job:
    """Return a job that its holder has ended; raise Conflict if ``holder`` no longer holds it."""
    _check_holder(job, holder)
    percent = 100 if state == "done" else job.percent
    return replace(job, state=state, commit=commit, error=error, percent=percent, holder="", stopping=False)


def failed(job: Job, holder: str, error: str) -> Job:
    """Return a job as failed, or as cancelled if it was stopping; raise Conflict if ``holder`` no longer holds it."""
    _check_holder(job, holder)
    failures = (*job.failures, error)[-MAX_ATTEMPTS:]
    state: JobState = "cancelled" if job.stopping else "failed"
    return replace(job, state=state, error=error, failures=failures, holder="", stopping=False)


def failed_once(job: Job, holder: str, error: str, share: float) -> Job:
    """Return a job after a possibly temporary failure: queued again, or failed for good after MAX_ATTEMPTS.

    An attempt that got further restarts the count. So a long import whose workers are often stopped still ends, but a
    job that kills each worker at the same point does not run forever. A stopping job is cancelled. ``share`` (0 to 1)
    is random and spreads the pauses of many jobs.
    """
    over = failed(job, holder, error)
    attempts = _attempts(job)
    if job.stopping or attempts >= MAX_ATTEMPTS:
        return over
    pause = min(MAX_RETRY_SECONDS, RETRY_SECONDS * 2 ** (attempts - 1)) * (0.5 + share / 2)
    return replace(over, state="queued", attempts=attempts, not_before=from_now(pause))


def put_off(job: Job, holder: str, error: str, share: float, *, busy: bool = False) -> Job:
    """Return a job that must wait because a service is down or another process is ``busy`` with its version.

    The job waits as long as necessary, and no attempt is counted. A stopping job is cancelled. ``share`` (0 to 1) is
    random, as in ``failed_once``.
    """
    first, most = (BUSY_SECONDS, MAX_BUSY_SECONDS) if busy else (RETRY_SECONDS, MAX_OUTAGE_SECONDS)
    pause = min(most, first * 2 ** min(job.outages, 10)) * (0.5 + share / 2)
    back = given_back(job, holder)
    if not back.is_finished:
        back = replace(back, not_before=from_now(pause))
    return replace(back, error=error, outages=job.outages + 1)


def given_back(job: Job, holder: str) -> Job:
    """Return a job whose holder stops without a failure: queued again, or cancelled if it was stopping."""
    _check_holder(job, holder)
    if job.stopping:
        return replace(job, state="cancelled", holder="", stopping=False)
    return replace(job, state="queued", holder="", attempts=max(0, _attempts(job) - 1), not_before="")


def retried(job: Job) -> Job:
    """Return a failed or cancelled job as queued again; raise WrongState for any other job."""
    if job.state not in ("failed", "cancelled"):
        raise WrongState(f"job {job.id} is {job.state}; only failed and cancelled jobs can be retried")
    again = replace(job, state="queued", error="", attempts=0, outages=0, not_before="", stopping=False)
    return replace(again, insists=True)


def cancelled(job: Job) -> Job:
    """Return a waiting job as cancelled, or a running job as stopping; raise WrongState if the job has ended."""
    if job.is_finished:
        raise WrongState(f"job {job.id} has ended: {job.state}")
    if job.state == "running":
        return replace(job, stopping=True)
    return replace(job, state="cancelled")


def _attempts(job: Job) -> int:
    """Return the number of attempts including the current one, which restarts the count if it got further."""
    return 1 if job.percent > job.reached else job.attempts


def _check_holder(job: Job, holder: str) -> None:
    if job.state != "running" or job.holder != holder:
        raise Conflict(f"job {job.id} was taken over or has ended")
