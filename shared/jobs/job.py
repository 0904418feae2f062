"""Jobs: what somebody asked to have indexed or removed, and how far that is. Only the noun, no IO.

A job is a document of the catalog, not a message: a queue that loses its messages loses no job, and whoever gets a
message twice finds the job taken.
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

# The lowest number goes first: somebody waits for a search's version, a push is small, a first import takes long, and
# nobody waits for what polling found.
PRIORITIES: Mapping[str, int] = {"urgent": 0, "change": 3, "import": 6, "background": 9}
# No pause after a failure is longer.
MAX_RETRY_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What is asked for: ``repo`` at the version that somebody called ``ref``, "" for its default branch.

    ``candidates`` are what ``ref`` may be, likeliest first; none means the default branch. ``origin`` is where the
    repository comes from, without any credential. ``commit`` is the newest one that is known to be there, if any.
    ``requested_by`` is the principal's name. ``joins_running`` is for who lacks the version altogether: a run that has
    begun already will do. ``guarded`` where the origin came with a request. ``request_id`` and ``traceparent`` (W3C
    Trace Context) name the HTTP request that asks, for logs and traces. ``turn`` is when the principal's job is due
    beside those of others (``fairness.py``). ``repo_id`` is the repository's id in the catalog: who sees a job is
    decided by it, so that a later repository of the same name does not inherit it.
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
        """Who shares the workers with others: a key, the owner, the webhooks of a host, polling."""
        return self.requested_by or self.trigger


@dataclass(frozen=True, slots=True)
class Job:
    """One wish and what became of it; times are ISO 8601 in UTC.

    ``candidates`` are keys of refs. ``wanted_commit`` is the newest commit that was asked for, ``commit`` what was
    published in the end. ``holder`` runs it, and counts up ``beats`` while it lives. ``percent`` only grows, also over
    several attempts, whose errors are in ``failures``; ``attempts`` are those since one got further than the percent
    ``reached`` before it, without those that a service's ``outages`` ended. ``stopping`` asks the holder to end it.
    Somebody ``insists`` who had it tried again by hand: also a commit that failed before.
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
        """Who shares the workers with others: a key, the owner, the webhooks of a host, polling."""
        return self.requested_by or self.trigger

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
        pauses = moment < self.not_before <= later(moment, MAX_RETRY_SECONDS)
        return self.state == "queued" and not pauses

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Job":
        """Read the document of the catalog; ValueError where it is none of a job.

        What a later version of this code knows of a job is left out.
        """
        fields: dict[str, Any] = {name: body[name] for name in _TYPES if name in body}
        for name, value in fields.items():
            if not isinstance(value, _TYPES[name]):
                raise ValueError(f"{name} is of no known type")
        if not _NEEDED.issubset(fields) or fields["state"] not in get_args(JobState):
            raise ValueError("fields are missing, or the state is unknown")
        datetime.fromisoformat(fields["updated_at"])
        fields |= {name: tuple(map(str, fields[name])) for name in ("candidates", "failures") if name in fields}
        return cls(**fields)


_NEEDED = frozenset({"id", "repo", "ref", "state", "created_at", "updated_at"})


def _type_of(default: object) -> tuple[type, ...]:
    """Return what a field may be in a document, by its default; a field without one is text."""
    if default is MISSING:
        return (str,)
    return (list, tuple) if isinstance(default, tuple) else (type(default),)


_TYPES: Mapping[str, tuple[type, ...]] = {field.name: _type_of(field.default) for field in fields_of(Job)}


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
        turn=request.turn,
        repo_id=request.repo_id,
    )
