"""What is known of jobs."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from codequarry.shared.jobs.job import Job, JobKind, JobState, Trigger


@dataclass(frozen=True, slots=True)
class JobProgress:
    """How far a job is."""

    phase: str
    percent: int
    files_done: int
    files_total: int
    chunks_done: int


@dataclass(frozen=True)
class JobStatus:
    """A repository or version that is to be indexed or removed, and how far that is."""

    job_id: str
    kind: JobKind
    repo: str
    ref: Annotated[str, Field(description="the version, as it was asked for")]
    trigger: Annotated[Trigger, Field(description="what asked for it")]
    priority: Annotated[int, Field(description="the lowest goes first")]
    state: JobState
    progress: JobProgress | None
    attempts: Annotated[int, Field(description="how often it was begun")]
    error: str | None
    failures: Annotated[tuple[str, ...], Field(description="why earlier attempts failed, the last one last")]
    commit: Annotated[str | None, Field(description="what was indexed, once the job is done")]
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class JobsPage:
    """Some of the jobs."""

    jobs: tuple[JobStatus, ...]
    total: Annotated[int, Field(description="how many there are, on other pages too")]
    next_cursor: Annotated[str | None, Field(description="the next page, as `?cursor=`; null on the last one")]


@dataclass(frozen=True)
class PendingSearch(JobStatus):
    """What a search answers while the versions that it names are being indexed: the job that it waits for."""

    jobs: Annotated[tuple[JobStatus, ...], Field(description="every job that the search waits for")]


def job_status(job: Job) -> JobStatus:
    """Return what is told of a job."""
    progress = JobProgress(job.phase, job.percent, job.files_done, job.files_total, job.chunks_done)
    return JobStatus(
        job_id=job.id,
        kind=job.kind,
        repo=job.repo,
        ref=job.ref,
        trigger=job.trigger,
        priority=job.priority,
        state=job.state,
        progress=progress if job.phase else None,
        attempts=job.attempts,
        error=job.error or None,
        failures=job.failures,
        commit=job.commit or None,
        created_at=job.created_at,
        updated_at=job.updated_at,
    )
