"""Answers about jobs."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from codequarry.shared.jobs.job import Job, JobKind, JobState, Trigger


@dataclass(frozen=True, slots=True)
class JobProgress:
    """The progress of a job."""

    phase: str
    percent: int
    files_done: int
    files_total: int
    chunks_done: int


@dataclass(frozen=True)
class JobStatus:
    """A job that indexes or removes a repository or version, or finds a merge base, and its progress."""

    job_id: str
    kind: JobKind
    repo: str
    ref: Annotated[str, Field(description="the version, as requested")]
    trigger: Annotated[Trigger, Field(description="what requested the job")]
    priority: Annotated[int, Field(description="lower numbers run first")]
    state: JobState
    progress: JobProgress | None
    attempts: Annotated[int, Field(description="number of attempts since the job last made progress")]
    error: str | None
    failures: Annotated[tuple[str, ...], Field(description="errors of earlier attempts, latest last")]
    commit: Annotated[str | None, Field(description="the indexed commit, or the merge base, once the job is done")]
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class JobsPage:
    """A page of the list of jobs."""

    jobs: tuple[JobStatus, ...]
    total: Annotated[int, Field(description="number of jobs on all pages")]
    next_cursor: Annotated[str | None, Field(description="`?cursor=` of the next page; null on the last page")]


@dataclass(frozen=True)
class PendingSearch(JobStatus):
    """The answer to a search whose versions are still being indexed: the job that the search is waiting for."""

    jobs: Annotated[tuple[JobStatus, ...], Field(description="every job that the search is waiting for")]


def job_status(job: Job) -> JobStatus:
    """Return the status of a job."""
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
