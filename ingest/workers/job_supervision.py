"""Looking after jobs: those whose holder is lost wait again, those that nobody was told of are told again."""

from collections.abc import Callable
from time import monotonic

from codequarry.ingest.transaction.holder import has_ended
from codequarry.shared.jobs.housekeeping import FAILED_KEPT_SECONDS, KEPT_SECONDS, forget_old, requeue_lost
from codequarry.shared.jobs.job import Job
from codequarry.shared.jobs.job_list import due_jobs
from codequarry.shared.store.port import DocumentStore

# How often an observer reads all jobs that ended, to forget the old ones.
FORGET_SECONDS = 900.0


class Lookout:
    """What one observer has seen of the jobs that run, by its own clock: clocks of two machines are never compared."""

    def __init__(self, silent_seconds: float, clock: Callable[[], float] = monotonic, mine: str = "") -> None:
        """Take a job for lost when it has shown no sign of life for ``silent_seconds``, and one that ``mine`` holds."""
        self._silent_seconds, self._clock, self._mine = silent_seconds, clock, mine
        self._seen: dict[str, tuple[str, int, float]] = {}
        self._forgot = float("-inf")

    def look(self, store: DocumentStore) -> list[Job]:
        """Tidy the jobs; return those that were lost and wait again, or have failed for good."""
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
    """Return the jobs for which a message is missing, where so many ``messages`` wait.

    A message says only that there is work; which job goes first is decided when somebody takes it. So it is enough
    that there are as many messages as jobs.
    """
    due = due_jobs(store)
    return due[: max(0, len(due) - messages)]
