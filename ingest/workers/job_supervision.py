"""Job supervision: requeues jobs whose holder is lost, and finds due jobs that have no message."""

from collections.abc import Callable
from time import monotonic

from codequarry.ingest.transaction.holder import has_ended
from codequarry.shared.jobs.housekeeping import FAILED_KEPT_SECONDS, KEPT_SECONDS, forget_old, requeue_lost
from codequarry.shared.jobs.job import Job
from codequarry.shared.jobs.job_list import due_jobs
from codequarry.shared.store.port import DocumentStore

# How often an observer reads all finished jobs, to delete old jobs.
FORGET_SECONDS = 900.0


class Lookout:
    """What one observer has seen of the running jobs, by its own clock; two machines' clocks are never compared."""

    def __init__(self, silent_seconds: float, clock: Callable[[], float] = monotonic, mine: str = "") -> None:
        """Count a job as lost after ``silent_seconds`` without a heartbeat, or if ``mine`` is its holder."""
        self._silent_seconds, self._clock, self._mine = silent_seconds, clock, mine
        self._seen: dict[str, tuple[str, int, float]] = {}
        self._forgot = float("-inf")

    def look(self, store: DocumentStore) -> list[Job]:
        """Requeue lost jobs and delete old jobs; return the lost jobs, now waiting again or failed for good."""
        before, self._seen = self._seen, {}

        def is_lost(job: Job) -> bool:
            holder, beats, since = before.get(job.id, ("", -1, 0.0))
            if (holder, beats) != (job.holder, job.beats):
                since = self._clock()
            self._seen[job.id] = (job.holder, job.beats, since)
            return job.holder == self._mine or has_ended(job.holder) or self._clock() - since >= self._silent_seconds

        if self._clock() - self._forgot >= FORGET_SECONDS:
            forget_old(store, KEPT_SECONDS, FAILED_KEPT_SECONDS)
            self._forgot = self._clock()
        return requeue_lost(store, is_lost)


def jobs_without_message(store: DocumentStore, messages: int) -> list[Job]:
    """Return the due jobs in excess of the number of waiting ``messages``."""
    # A message only says that there is work; the worker that takes it decides which job goes first.
    due = due_jobs(store)
    return due[: max(0, len(due) - messages)]
