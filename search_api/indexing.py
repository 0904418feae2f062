"""The port between a search that names a version which is not indexed, and whatever can index it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

from codequarry.shared.errors import Conflict
from codequarry.shared.refs import Ref
from codequarry.shared.repositories import Repository
from codequarry.shared.store.port import Store

JobState = Literal["queued", "running", "done", "failed"]
UNFINISHED: tuple[JobState, ...] = ("queued", "running")
JOB_PREFIX = "job:"
# A job that nobody has shown a sign of for so long has lost whoever ran it.
LOST_AFTER_SECONDS = 60
LOST = "whoever ran it stopped; ask again"


@dataclass(frozen=True, slots=True)
class Job:
    """An import that a request asked for; ``ref`` is the version as it was asked for, empty for the default branch.

    Times are ISO 8601 in UTC.
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

    @property
    def is_finished(self) -> bool:
        """Tell whether it ended, well or not."""
        return self.state not in UNFINISHED

    def to_json(self) -> dict[str, Any]:
        """Return the body of ``GET /jobs/<id>``."""
        done = 100 * self.files_done // self.files_total if self.files_total else 0
        progress = {
            "phase": self.phase,
            "percent": done,
            "files_done": self.files_done,
            "files_total": self.files_total,
            "chunks_done": self.chunks_done,
        }
        return {
            "job_id": self.id,
            "repo": self.repo,
            "ref": self.ref,
            "state": self.state,
            "progress": progress if self.phase else None,
            "error": self.error or None,
            "commit": self.commit or None,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
        }


class Indexer(Protocol):
    """Something that indexes versions of repositories that are in the catalog."""

    def submit(self, repository: Repository, ref: str, candidates: Sequence[Ref]) -> Job:
        """Ask for a version (none: the default branch) and return its job; one that is asked for already is the same.

        ``candidates`` are what ``ref`` may be called in the repository, likeliest first.
        """
        ...


def now() -> str:
    """Return this moment in UTC, as jobs record it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def save_job(store: Store, job: Job) -> Job:
    """Write a job with the time of writing; the last writer wins."""
    stamped = replace(job, updated_at=now())
    key = JOB_PREFIX + job.id
    while True:
        document = store.read_document(key)
        try:
            store.write_document(key, asdict(stamped), document.version if document else None)
        except Conflict:
            continue
        return stamped


def read_job(store: Store, job_id: str) -> Job | None:
    """Return a job, if it is known; one that lost whoever ran it has failed."""
    document = store.read_document(JOB_PREFIX + job_id)
    return _job(document.body) if document else None


def list_jobs(store: Store) -> list[Job]:
    """Return every job that is known."""
    return [_job(document.body) for document in store.list_documents(JOB_PREFIX)]


def forget_job(store: Store, job_id: str) -> None:
    """Remove a job."""
    store.delete_document(JOB_PREFIX + job_id)


def age_seconds(job: Job) -> float:
    """Return how long ago a job was written."""
    return (datetime.now(UTC) - datetime.fromisoformat(job.updated_at)).total_seconds()


def _job(body: Mapping[str, Any]) -> Job:
    job = Job(**body)
    lost = not job.is_finished and age_seconds(job) > LOST_AFTER_SECONDS
    return replace(job, state="failed", error=LOST) if lost else job
