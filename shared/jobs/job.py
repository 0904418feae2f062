"""Jobs: requests to index or remove something, and their progress. No IO.

A job is a document of the catalog, not a message. A queue that loses its messages loses no job, and a worker that gets
a message twice finds the job already taken.
"""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from dataclasses import fields as fields_of
from datetime import datetime
from typing import Any, Literal, get_args

from codequarry.shared.timestamps import later, now
from codequarry.shared.versions.refs import Ref

JobState = Literal["queued", "running", "done", "failed", "cancelled"]
JobKind = Literal["index", "remove"]
Trigger = Literal["search", "request", "webhook", "poll", "sync", "command"]
UNFINISHED: tuple[JobState, ...] = ("queued", "running")

# The lowest number goes first. A user waits for a search's version, a push is small, a first import takes long, and
# no user waits for what polling found.
PRIORITIES: Mapping[str, int] = {"urgent": 0, "change": 3, "import": 6, "background": 9}
# Longest pause after a failure.
MAX_RETRY_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A request for a job on ``repo`` at the version that the caller named ``ref``, "" for the default branch.

    ``candidates`` are the refs that ``ref`` may mean, likeliest first; none means the default branch. ``origin`` is the
    repository's source, without credentials. ``commit`` is the newest known commit there, if any. ``requested_by`` is
    the principal's name. ``joins_running``: a job that is already running will do, because the version is not indexed
    at all. ``guarded``: the origin came with a request. ``request_id`` and ``traceparent`` (W3C Trace Context) identify
    the HTTP request in logs and traces. ``turn`` orders the jobs of several principals (``job_order.py``). ``repo_id``
    is the repository's id in the catalog. It decides who can see the job, so that a later repository of the same name
    does not inherit it.
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
        """The party whose jobs take turns with those of others: a key, the owner, a host's webhooks, polling."""
        return self.requested_by or self.trigger


@dataclass(frozen=True, slots=True)
class Job:
    """A job and its state; times are ISO 8601 in UTC.

    ``candidates`` are keys of refs. ``wanted_commit`` is the newest commit that was requested, ``commit`` the commit
    that was published. ``holder`` runs the job and increments ``beats`` as a heartbeat. ``percent`` never decreases,
    not even over several attempts; their errors are in ``failures``. ``attempts`` counts attempts since the last one
    that got beyond ``reached``, the percent before it, without those ended by ``outages`` of a service. ``stopping``
    asks the holder to end the job. ``insists``: retried by hand, so a commit that failed before is tried again.
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
        """The party whose jobs take turns with those of others: a key, the owner, a host's webhooks, polling."""
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
        """Return whether the job waits and its pause is over; an impossibly long pause, by a wrong clock, is none."""
        pauses = moment < self.not_before <= later(moment, MAX_RETRY_SECONDS)
        return self.state == "queued" and not pauses

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Job":
        """Read a document of the catalog; ValueError if it is not a job. Fields of later versions are ignored."""
        fields: dict[str, Any] = {name: body[name] for name in _TYPES if name in body}
        for name, value in fields.items():
            if not isinstance(value, _TYPES[name]):
                raise ValueError(f"{name} has an unknown type")
        if not _NEEDED.issubset(fields) or fields["state"] not in get_args(JobState):
            raise ValueError("fields are missing, or the state is unknown")
        datetime.fromisoformat(fields["updated_at"])
        fields |= {name: tuple(map(str, fields[name])) for name in ("candidates", "failures") if name in fields}
        return cls(**fields)


_NEEDED = frozenset({"id", "repo", "ref", "state", "created_at", "updated_at"})


def _type_of(default: object) -> tuple[type, ...]:
    """Return the types that a field may have in a document, from its default; a field without a default is text."""
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
