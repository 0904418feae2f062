"""What the bodies of answers about the index look like: repositories, jobs, probes, errors."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from codequarry.search_api.states import State
from codequarry.shared.jobs.job import JobKind, JobState, Trigger
from codequarry.shared.versions.refs import RefKind


class Open(BaseModel):
    """A body of an answer: later versions may add fields to it."""

    model_config = ConfigDict(extra="allow")


class Freshness(Open):
    """How fresh the answer is for one version of a repository."""

    repo: str
    ref: str
    kind: RefKind
    indexed_commit: str | None
    head_commit: str | None = Field(description="the newest that a fetch has seen of this version")
    commits_behind: int | None = Field(description="0 at head, null where it is unknown")
    indexed_at: str | None
    skipped_files: int | None = Field(description="null for who sees some paths of the repository alone")
    state: State
    percent: int | None


class VersionBody(Open):
    """One version of a repository."""

    ref: str
    kind: RefKind
    indexed_commit: str | None
    indexed_at: str | None
    head_commit: str | None
    commits_behind: int | None
    files: int | None = Field(description="null for who sees some paths of the repository alone")
    chunks: int | None


class FailureBody(Open):
    """A commit that could not be indexed by its own fault."""

    ref: str
    commit: str
    reason: str
    failed_at: str


class RepositoryBody(Open):
    """One repository of the catalog."""

    name: str
    origin: str
    branch: str
    indexed_commit: str | None
    indexed_at: str | None
    head_commit: str | None
    commits_behind: int | None
    files: int | None = Field(description="null for who sees some paths of the repository alone")
    chunks: int | None
    skipped: dict[str, int] | None = Field(description="files left out, by reason")
    state: State
    percent: int | None = Field(description="of a running first import")
    model: str | None = Field(description="that made the vectors; null before the first import")
    versions: list[VersionBody] = Field(description="every indexed version, that of the default branch first")
    failures: list[FailureBody] = Field(
        description="commits that reached a limit of the settings: left alone until they or the settings change, or "
        "somebody asks for them by hand; empty for who sees some paths alone"
    )


class RepositoriesBody(Open):
    """What `GET /repos` answers."""

    repos: list[RepositoryBody]


class HealthBody(Open):
    """What the probes answer."""

    status: Literal["ok", "unavailable"]
    checks: dict[str, str] = Field({}, description="each part and what is wrong with it, or ok")


class JobProgress(Open):
    """How far a job is."""

    phase: str
    percent: int
    files_done: int
    files_total: int
    chunks_done: int


class JobBody(Open):
    """What somebody asked to be indexed or removed, and how far that is."""

    job_id: str
    kind: JobKind
    repo: str
    ref: str = Field(description="the version that is indexed, as it was asked for")
    trigger: Trigger = Field(description="who asked for it")
    priority: int = Field(description="the lowest goes first")
    state: JobState
    attempts: int = Field(description="how often it was begun; after a failure that may pass it is tried again")
    progress: JobProgress | None
    error: str | None
    failures: list[str] = Field(description="why the attempts before failed, the last one last")
    commit: str | None = Field(description="what was indexed, once the job is done")
    created_at: str
    updated_at: str


class PendingBody(JobBody):
    """What a search answers while the version that it names is being indexed."""

    jobs: list[JobBody] = Field(description="every import that the search waits for; the first one is above")


class Problem(Open):
    """An error, as RFC 9457 has it."""

    type: str
    title: str
    status: int
    detail: str
    request_id: str | None = None
    name: str | None = Field(None, description="the unknown field, filter or value")
    known: list[str] | None = Field(None, description="what there is instead")
    candidates: list[str] | None = Field(None, description="what an ambiguous commit may mean")
    freshness: list[Freshness] | None = Field(None, description="where the index stands, where a commit did not come")
