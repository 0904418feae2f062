"""The port between requests and the process that runs their jobs."""

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from structlog.contextvars import get_contextvars

from codequarry.search_api.search.backend import Backend
from codequarry.shared.jobs.job import Job, JobRequest
from codequarry.shared.liveness.deadline import Deadline
from codequarry.shared.telemetry.traces import traceparent


class Indexer(Protocol):
    """Runs jobs: in a thread of this process, or in workers that a queue wakes."""

    def submit(self, request: JobRequest, deadline: Deadline | None = None) -> Job:
        """Return a new job, or the version's queued job; raise StoreUnavailable at ``deadline`` or if too many wait."""
        ...

    def wake(self, job: Job) -> None:
        """Start a requeued job soon; without this call, it would be found later."""
        ...

    def end(self) -> None:
        """Accept no more jobs, and release the running job at its next step; return at once."""
        ...

    def close(self) -> None:
        """Do the same as ``end``, and wait until the running job is released."""
        ...


MakeIndexer = Callable[[Backend], Indexer]
"""Returns the indexer for a process's requests, which uses the same store."""


def with_request_context(request: JobRequest) -> JobRequest:
    """Return a job request with the id and trace of the current HTTP request, if there is one."""
    request_id = str(get_contextvars().get("request_id", ""))
    return replace(request, request_id=request_id, traceparent=traceparent())
