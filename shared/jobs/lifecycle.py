"""The steps of a job's life, each a pure rule: what a job is after it, or why it can't be taken."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from codequarry.shared.errors import Conflict, WrongState
from codequarry.shared.jobs.job import MAX_RETRY_SECONDS, Job, JobRequest, JobState
from codequarry.shared.timestamps import from_now

# So often a job is tried before it counts as failed for good; the last failures tell why.
MAX_ATTEMPTS = 5
# The first pause after a failure; each one more doubles it. A random share keeps many from coming back at once.
RETRY_SECONDS = 5.0
# An engine or model that was down is looked for this soon: everything waits for it.
MAX_OUTAGE_SECONDS = 60.0
# Somebody else is at the same version, or has just changed it: worth another look soon, and then less and less often.
BUSY_SECONDS = 1.0
MAX_BUSY_SECONDS = 15.0


def joined(job: Job, request: JobRequest) -> Job:
    """Return a job that still waits with one more request for the same: the newest commit, the more urgent of both."""
    priority, turn = min(job.priority, request.priority), min(job.turn, request.turn)
    return replace(job, priority=priority, turn=turn, wanted_commit=request.commit or job.wanted_commit)


def begun(job: Job, holder: str, moment: str) -> Job:
    """Return a job that ``holder`` begins; Conflict if it does not wait, or its pause is not over."""
    if not job.is_due(moment):
        raise Conflict(f"job {job.id} is {job.state}")
    taken = replace(job, state="running", holder=holder, beats=0, error="", not_before="")
    return replace(taken, attempts=job.attempts + 1, reached=job.percent)


def beaten(job: Job, holder: str, progress: Mapping[str, Any]) -> Job:
    """Return a running job with a sign of life and its progress; Conflict if ``holder`` has it no more."""
    _check_holder(job, holder)
    shown = replace(job, beats=job.beats + 1, **progress)
    done = 100 * shown.files_done // shown.files_total if shown.files_total else 0
    return replace(shown, percent=max(job.percent, min(done, 99)))


def ended(job: Job, holder: str, state: JobState, *, commit: str = "", error: str = "") -> Job:
    """Return a job that its holder ended; Conflict if ``holder`` has it no more."""
    _check_holder(job, holder)
    percent = 100 if state == "done" else job.percent
    return replace(job, state=state, commit=commit, error=error, percent=percent, holder="", stopping=False)


def failed(job: Job, holder: str, error: str) -> Job:
    """Return a job after a failure that another attempt would not mend; one that was asked to stop has ended with that.

    Conflict if ``holder`` has it no more.
    """
    _check_holder(job, holder)
    failures = (*job.failures, error)[-MAX_ATTEMPTS:]
    state: JobState = "cancelled" if job.stopping else "failed"
    return replace(job, state=state, error=error, failures=failures, holder="", stopping=False)


def failed_once(job: Job, holder: str, error: str, share: float) -> Job:
    """Return a job after a failure that may pass: it waits again, or has failed for good after MAX_ATTEMPTS.

    An attempt that got further is the first of a new count: a long import whose workers are often stopped comes to its
    end, and what kills each worker at one place does not. A job that was asked to stop has ended with that. ``share``
    (0 to 1) is random; it spreads the pauses of many jobs.
    """
    over = failed(job, holder, error)
    attempts = _attempts(job)
    if job.stopping or attempts >= MAX_ATTEMPTS:
        return over
    pause = min(MAX_RETRY_SECONDS, RETRY_SECONDS * 2 ** (attempts - 1)) * (0.5 + share / 2)
    return replace(over, state="queued", attempts=attempts, not_before=from_now(pause))


def put_off(job: Job, holder: str, error: str, share: float, *, busy: bool = False) -> Job:
    """Return a job for which a service is down that it needs, or somebody else ``busy`` with what it is about.

    It waits for that, however long, and has lost nothing; one that was asked to stop has ended with that. ``share``
    (0 to 1) is random, as in ``failed_once``.
    """
    first, most = (BUSY_SECONDS, MAX_BUSY_SECONDS) if busy else (RETRY_SECONDS, MAX_OUTAGE_SECONDS)
    pause = min(most, first * 2 ** min(job.outages, 10)) * (0.5 + share / 2)
    back = given_back(job, holder)
    if not back.is_finished:
        back = replace(back, not_before=from_now(pause))
    return replace(back, error=error, outages=job.outages + 1)


def given_back(job: Job, holder: str) -> Job:
    """Return a job whose holder stops without having failed: it waits again, or has ended where it was asked to.

    An attempt that got further ends the count of those before it here too.
    """
    _check_holder(job, holder)
    if job.stopping:
        return replace(job, state="cancelled", holder="", stopping=False)
    return replace(job, state="queued", holder="", attempts=max(0, _attempts(job) - 1), not_before="")


def retried(job: Job) -> Job:
    """Return a job that failed or was cancelled as one that waits again; WrongState for any other."""
    if job.state not in ("failed", "cancelled"):
        raise WrongState(f"job {job.id} is {job.state}; only one that failed or was cancelled can be retried")
    again = replace(job, state="queued", error="", attempts=0, outages=0, not_before="", stopping=False)
    return replace(again, insists=True)


def cancelled(job: Job) -> Job:
    """Return a job that waits as cancelled, and one that runs as asked to stop; WrongState for one that ended."""
    if job.is_finished:
        raise WrongState(f"job {job.id} has ended: {job.state}")
    if job.state == "running":
        return replace(job, stopping=True)
    return replace(job, state="cancelled")


def _attempts(job: Job) -> int:
    """Return how many attempts count with this one: one that got further ends the count of those before it."""
    return 1 if job.percent > job.reached else job.attempts


def _check_holder(job: Job, holder: str) -> None:
    if job.state != "running" or job.holder != holder:
        raise Conflict(f"job {job.id} was taken over or ended")
