"""Jobs: requests to index, remove or look up something with git, and their progress. No IO.

A job is a document in the catalog, not a message. If the queue loses its messages, no job is lost, and a worker that
gets a message twice finds the job already taken.
"""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from dataclasses import fields as fields_of
from datetime import datetime
from typing import Any, Literal, get_args

from codequarry.shared.timestamps import later, now
from codequarry.shared.versions.refs import Ref

JobState = Literal["queued", "running", "done", "failed", "cancelled"]
JobKind = Literal["index", "remove", "merge-base"]
Trigger = Literal["search", "request", "webhook", "poll", "sync", "command"]
UNFINISHED: tuple[JobState, ...] = ("queued", "running")

# The lowest number goes first. A user is waiting for the version that a search needs, a push is small, a first import
# takes a long time, and nobody is waiting for changes found by polling.
PRIORITIES: Mapping[str, int] = {"urgent": 0, "change": 3, "import": 6, "background": 9}
# Longest pause after a failure.
MAX_RETRY_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A request for a job on ``repo`` at the version that the caller calls ``ref``; "" means the default branch.

    ``candidates`` are the refs that ``ref`` may mean, most likely first; empty means the default branch. For a merge
    base they are the two commits, and the pull request whose target and head these are, if any. ``origin`` is
    the repository's source, without credentials. ``commit`` is the version's newest known commit, if any.
    ``requested_by`` is the principal's name. ``joins_running`` accepts a job that is already running, because the
    version is not indexed at all. ``guarded`` means that a request named the origin. ``request_id`` and ``traceparent``
    (W3C Trace Context) identify the HTTP request in logs and traces. ``turn`` orders the jobs of several principals
    (``job_order.py``). ``repo_id`` is the repository's id in the catalog. It decides who can see the job, so that a
    later repository with the same name does not inherit the job.
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
    turn: int = 0
    repo_id: str = ""

    @property
    def principal(self) -> str:
        """The party whose jobs take turns with other parties' jobs: a key, the owner, a host's webhooks, or polling."""
        return self.requested_by or self.trigger


@dataclass(frozen=True, slots=True)
class Job:
    """A job and its state; times are ISO 8601 in UTC.

    ``candidates`` are keys of refs. ``wanted_commit`` is the newest commit that was requested, ``commit`` the commit
    that was published. ``holder`` runs the job and increments ``beats`` as a heartbeat. ``percent`` never decreases,
    even across attempts; ``failures`` has their errors. ``attempts`` counts the attempts since the last attempt that
    got beyond ``reached`` (the percent at its start), except attempts ended by service ``outages``. ``stopping`` asks
    the holder to end the job. ``insists`` marks a manual retry, so a commit that failed before is tried again.
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
    reached: int = 0
    not_before: str = ""
    holder: str = ""
    beats: int = 0
    failures: tuple[str, ...] = ()
    stopping: bool = False
    guarded: bool = False
    outages: int = 0
    request_id: str = ""
    traceparent: str = ""
    turn: int = 0
    repo_id: str = ""
    insists: bool = False

    @property
    def principal(self) -> str:
        """The party whose jobs take turns with other parties' jobs: a key, the owner, a host's webhooks, or polling."""
        return self.requested_by or self.trigger

    @property
    def is_finished(self) -> bool:
        """Return whether the job has ended, with or without success."""
        return self.state not in UNFINISHED

    @property
    def refs(self) -> tuple[Ref, ...]:
        """The refs that ``ref`` may mean, likeliest first."""
        return tuple(map(Ref.of_key, self.candidates))

    def is_due(self, moment: str) -> bool:
        """Return whether the job is waiting with its pause over; an impossibly long pause (wrong clock) is ignored."""
        pauses = moment < self.not_before <= later(moment, MAX_RETRY_SECONDS)
        return self.state == "queued" and not pauses

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Job":
        """Read a catalog document, ignoring fields from later versions; raise ValueError if it is not a job."""
        fields: dict[str, Any] = {name: body[name] for name in _TYPES if name in body}
        for name, value in fields.items():
            if not isinstance(value, _TYPES[name]):
                raise ValueError(f"{name} has the wrong type")
        if not _NEEDED.issubset(fields) or fields["state"] not in get_args(JobState):
            raise ValueError("fields are missing, or the state is unknown")
        datetime.fromisoformat(fields["updated_at"])
        fields |= {name: tuple(map(str, fields[name])) for name in ("candidates", "failures") if name in fields}
        return cls(**fields)


_NEEDED = frozenset({"id", "repo", "ref", "state", "created_at", "updated_at"})


def _type_of(default: object) -> tuple[type, ...]:
    """Return the types that a field may have in a document, based on its default; without a default it is a string."""
    if default is MISSING:
        return (str,)
    return (list, tuple) if isinstance(default, tuple) else (type(default),)


_TYPES: Mapping[str, tuple[type, ...]] = {field.name: _type_of(field.default) for field in fields_of(Job)}


def new_job(job_id: str, request: JobRequest) -> Job:
    """Return a new job for a request."""
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
        turn=request.turn,
        repo_id=request.repo_id,
    )
