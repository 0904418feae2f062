"""Indexing for `--index`: a command first indexes what its search needs, in its own process unless there is a queue."""

from typing import TYPE_CHECKING

from codequarry.cli.session.job_execution import finish
from codequarry.shared.errors import NotIndexed
from codequarry.shared.jobs.job import Job, JobRequest
from codequarry.shared.jobs.job_list import submit

if TYPE_CHECKING:
    from codequarry.cli.session.session import Workplace
    from codequarry.search_api.answers.jobs import PendingSearch
    from codequarry.shared.liveness.deadline import Deadline
    from codequarry.shared.versions.refs import Ref


class CommandIndexer:
    """Runs each job to its end before ``submit`` returns, unless another process has taken it."""

    def __init__(self, place: "Workplace") -> None:
        self._place = place

    def submit(self, request: JobRequest, deadline: "Deadline | None" = None) -> Job:
        """Return the ended job, or the running job of another process; raise NotIndexed if it must be retried later."""
        job, _ = submit(self._place.store, request)
        [done], _ = finish([job], self._place, detach=False)
        if done.state == "queued" and done.error:
            raise NotIndexed(f"indexing {done.ref or 'the default branch'} of {done.repo} failed: {done.error}")
        return done

    def wake(self, job: Job) -> None:
        """Do nothing: no job waits here."""

    def end(self) -> None:
        """Do nothing: no job runs when a method returns."""

    def close(self) -> None:
        """Do nothing: no job runs when a method returns."""


def index_working_tree(place: "Workplace", ref: "Ref") -> None:
    """Bring the index up to date with the files of a working tree; only the command line may read one."""
    from codequarry.cli.terminal import progress
    from codequarry.ingest.request.index_request import IndexRequest, Workshop
    from codequarry.ingest.run.pipeline import index_repository

    with progress.shown() as observe:
        index_repository(IndexRequest("", ref), Workshop(place.store, place.embedder, place.settings), observe)


def still_indexing(pending: "PendingSearch") -> NotIndexed:
    """Return the error for a version that another process is still indexing."""
    where = f"{pending.ref} of {pending.repo}" if pending.ref else pending.repo
    return NotIndexed(
        f"{where} is still being indexed by another process (codequarry jobs list); repeat the command when it is done"
    )
