"""The port between a request that asks for indexing and whatever does it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from structlog.contextvars import get_contextvars

from codequarry.search_api.search.backend import Backend
from codequarry.shared.jobs.job import Job, JobRequest
from codequarry.shared.liveness.deadline import Deadline
from codequarry.shared.telemetry.traces import traceparent


class Indexer(Protocol):
    """Something that does jobs: a thread of this process, or workers that a queue wakes."""

    def submit(self, request: JobRequest, deadline: Deadline | None = None) -> Job:
        """Ask for a version and return its job at once; one that waits for the same is joined.

        The store must answer by ``deadline``, if there is one.

        StoreUnavailable where no more jobs are taken, or the store does not answer.
        """
        ...

    def wake(self, job: Job) -> None:
        """Have a job looked at soon that waits again; it would be found later all the same."""
        ...

    def end(self) -> None:
        """Take no more jobs, and give back the one that runs at its next step; returns at once."""
        ...

    def close(self) -> None:
        """End, and wait until the job that runs was given back."""
        ...


MakeIndexer = Callable[[Backend], Indexer]
"""Return what indexes for a process's requests, over the same store."""


def with_request_context(request: JobRequest) -> JobRequest:
    """Return a request for a job with what names the HTTP request that is being answered, if there is one."""
    request_id = str(get_contextvars().get("request_id", ""))
    return replace(request, request_id=request_id, traceparent=traceparent())
