"""Jobs: what somebody asked to have indexed or removed, and how far that is. Only the noun and its rules, no IO.

A job is a document of the catalog, not a message: a queue that loses its messages loses no job, and whoever gets a
message twice finds the job taken.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from codequarry.shared.errors import Conflict, WrongState
from codequarry.shared.versions.refs import Ref

JobState = Literal["queued", "running", "done", "failed", "cancelled"]
JobKind = Literal["index", "remove"]
Trigger = Literal["search", "request", "webhook", "poll", "sync", "command"]
UNFINISHED: tuple[JobState, ...] = ("queued", "running")

# The lowest number goes first: somebody waits for a search's version, a push is small, a first import takes long, and
# nobody waits for what polling found.
PRIORITIES: Mapping[str, int] = {"urgent": 0, "change": 3, "import": 6, "background": 9}
# So often a job is tried before it counts as failed for good; the last failures tell why.
MAX_ATTEMPTS = 5
# The first pause after a failure; each one more doubles it. A random share keeps many from coming back at once.
RETRY_SECONDS = 5.0
MAX_RETRY_SECONDS = 600.0
# An engine or model that was down is looked for this soon: everything waits for it.
MAX_OUTAGE_SECONDS = 60.0
# Somebody else is at the same version, or has just changed it: worth another look soon, and then less and less often.
BUSY_SECONDS = 1.0
MAX_BUSY_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What is asked for: ``repo`` at the version that somebody called ``ref``, "" for its default branch.

    ``candidates`` are what ``ref`` may be, likeliest first; none means the default branch. ``origin`` is where the
    repository comes from, without any credential. ``commit`` is the newest one that is known to be there, if any.
    ``requested_by`` is the principal's name. ``joins_running`` is for who lacks the version altogether: a run that has
    begun already will do. ``guarded`` where the origin came with a request. ``request_id`` and ``traceparent`` (W3C
    Trace Context) name the HTTP request that asks, for logs and traces.
    """

    repo: str
    origin: str
    ref: str = ""
    candidates: tuple[Ref, ...] = ()
    kind: JobKind = "index"
    trigger: Trigger = "request"
    priority: int = PRIORITIES["import"]
    commit: str = ""
    requested_by: str = ""
    joins_running: bool = False
    guarded: bool = False
    request_id: str = ""
    traceparent: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """One wish and what became of it; times are ISO 8601 in UTC.

    ``candidates`` are keys of refs. ``wanted_commit`` is the newest commit that was asked for, ``commit`` what was
    published in the end. ``holder`` runs it, and counts up ``beats`` while it lives. ``percent`` only grows, also over
    several ``attempts``, whose errors are in ``failures``; those that a service's ``outages`` ended do not count.
    ``stopping`` asks the holder to end it.
    """

    id: str
    repo: str
    ref: str
    state: JobState
    created_at: str
    updated_at: str
    phase: str = ""
    files_done: int = 0
    files_total: int = 0
    chunks_done: int = 0
    error: str = ""
    commit: str = ""
    kind: JobKind = "index"
    trigger: Trigger = "search"
    priority: int = PRIORITIES["import"]
    origin: str = ""
    candidates: tuple[str, ...] = ()
    wanted_commit: str = ""
    requested_by: str = ""
    percent: int = 0
    attempts: int = 0
    not_before: str = ""
    holder: str = ""
    beats: int = 0
    failures: tuple[str, ...] = ()
    stopping: bool = False
    guarded: bool = False
    outages: int = 0
    request_id: str = ""
    traceparent: str = ""

    @property
    def is_finished(self) -> bool:
        """Tell whether it ended, well or not."""
        return self.state not in UNFINISHED

    @property
    def refs(self) -> tuple[Ref, ...]:
        """What its ``ref`` may be, likeliest first."""
        return tuple(map(Ref.of_key, self.candidates))

    def is_due(self, moment: str) -> bool:
        """Tell whether it waits for a worker, its pause after a failure being over.

        A pause longer than any was written by a clock that went wrong, and counts as none.
        """
        pauses = moment < self.not_before <= _after(moment, MAX_RETRY_SECONDS)
        return self.state == "queued" and not pauses

    def to_json(self) -> dict[str, Any]:
        """Return the body of ``GET /jobs/<id>``."""
        progress = {
            "phase": self.phase,
            "percent": self.percent,
            "files_done": self.files_done,
            "files_total": self.files_total,
            "chunks_done": self.chunks_done,
        }
        return {
            "job_id": self.id,
            "kind": self.kind,
            "repo": self.repo,
            "ref": self.ref,
            "trigger": self.trigger,
            "priority": self.priority,
            "state": self.state,
            "progress": progress if self.phase else None,
            "attempts": self.attempts,
            "error": self.error or None,
            "failures": list(self.failures),
            "commit": self.commit or None,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Job":
        """Read the document of the catalog."""
        lists = {name: tuple(body[name]) for name in ("candidates", "failures") if name in body}
        return cls(**{**body, **lists})


def now() -> str:
    """Return this moment in UTC, as jobs record it."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _after(moment: str, seconds: float) -> str:
    return (datetime.fromisoformat(moment) + timedelta(seconds=seconds)).isoformat(timespec="microseconds")


def opposites(wish: "Job | JobRequest") -> tuple[tuple[JobKind, str, str], ...]:
    """Return kind, repository and ref of what undoes a wish: removals of an import, imports of a removal."""
    if wish.kind == "remove":
        return (("index", wish.repo, wish.ref),)
    return (("remove", wish.repo, wish.ref), ("remove", wish.repo, ""))


def new_job(job_id: str, request: JobRequest) -> Job:
    """Return the job for a request."""
    moment = now()
    return Job(
        id=job_id,
        repo=request.repo,
        ref=request.ref,
        state="queued",
        created_at=moment,
        updated_at=moment,
        kind=request.kind,
        trigger=request.trigger,
        priority=request.priority,
        origin=request.origin,
        candidates=tuple(ref.key for ref in request.candidates),
        wanted_commit=request.commit,
        requested_by=request.requested_by,
        guarded=request.guarded,
        request_id=request.request_id,
        traceparent=request.traceparent,
    )


def joined(job: Job, request: JobRequest) -> Job:
    """Return a job that still waits with one more request for the same: the newest commit, the highest priority."""
    return replace(job, priority=min(job.priority, request.priority), wanted_commit=request.commit or job.wanted_commit)


def begun(job: Job, holder: str, moment: str) -> Job:
    """Return a job that ``holder`` begins; Conflict if it does not wait, or its pause is not over."""
    if not job.is_due(moment):
        raise Conflict(f"job {job.id} is {job.state}")
    return replace(job, state="running", holder=holder, beats=0, attempts=job.attempts + 1, error="", not_before="")


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

    One that was asked to stop has ended with that. ``share`` (0 to 1) is random; it spreads the pauses of many jobs.
    """
    over = failed(job, holder, error)
    if job.stopping or job.attempts >= MAX_ATTEMPTS:
        return over
    pause = min(MAX_RETRY_SECONDS, RETRY_SECONDS * 2 ** (job.attempts - 1)) * (0.5 + share / 2)
    return replace(over, state="queued", not_before=_after(now(), pause))


def put_off(job: Job, holder: str, error: str, share: float, *, busy: bool = False) -> Job:
    """Return a job for which a service is down that it needs, or somebody else ``busy`` with what it is about.

    It waits for that, however long, and has lost nothing; one that was asked to stop has ended with that. ``share``
    (0 to 1) is random, as in ``failed_once``.
    """
    first, most = (BUSY_SECONDS, MAX_BUSY_SECONDS) if busy else (RETRY_SECONDS, MAX_OUTAGE_SECONDS)
    pause = min(most, first * 2 ** min(job.outages, 10)) * (0.5 + share / 2)
    back = given_back(job, holder)
    if not back.is_finished:
        back = replace(back, not_before=_after(now(), pause))
    return replace(back, error=error, outages=job.outages + 1)


def given_back(job: Job, holder: str) -> Job:
    """Return a job whose holder stops without having failed: it waits again, or has ended where it was asked to."""
    _check_holder(job, holder)
    if job.stopping:
        return replace(job, state="cancelled", holder="", stopping=False)
    return replace(job, state="queued", holder="", attempts=max(0, job.attempts - 1), not_before="")


def retried(job: Job) -> Job:
    """Return a job that failed or was cancelled as one that waits again; WrongState for any other."""
    if job.state not in ("failed", "cancelled"):
        raise WrongState(f"job {job.id} is {job.state}; only one that failed or was cancelled can be retried")
    return replace(job, state="queued", error="", attempts=0, outages=0, not_before="", stopping=False)


def cancelled(job: Job) -> Job:
    """Return a job that waits as cancelled, and one that runs as asked to stop; WrongState for one that ended."""
    if job.is_finished:
        raise WrongState(f"job {job.id} has ended: {job.state}")
    if job.state == "running":
        return replace(job, stopping=True)
    return replace(job, state="cancelled")


def _check_holder(job: Job, holder: str) -> None:
    if job.state != "running" or job.holder != holder:
        raise Conflict(f"job {job.id} was taken over or ended")
