"""The port between a request that asks for indexing and whatever does it."""

from typing import Protocol

from codequarry.shared.jobs.job import Job, JobRequest


class Indexer(Protocol):
    """Something that does jobs: a thread of this process, or workers that a queue wakes."""

    def submit(self, request: JobRequest) -> Job:
        """Ask for a version and return its job at once; one that waits for the same is joined.

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
