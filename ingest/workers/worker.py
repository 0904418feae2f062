"""One process of a worker: takes a job at a time, looks after those of others, and ends when it is told to."""

from collections.abc import Callable
from time import monotonic
from typing import Protocol

from codequarry.ingest.git.mirror_cache import trim_mirrors
from codequarry.ingest.remotes.polling import poll_due
from codequarry.ingest.removal.interrupted_removal import remove_left_mirrors, repair
from codequarry.ingest.request.index_request import CallHelpers
from codequarry.ingest.shared_import.helper import Helper
from codequarry.ingest.transaction.holder import new_holder, retire_holder
from codequarry.ingest.workers.job_runner import run_job
from codequarry.ingest.workers.job_supervision import Lookout, jobs_without_message
from codequarry.ingest.workers.open_index import WorkerIndex
from codequarry.ingest.workers.running_job import BEAT_SECONDS
from codequarry.shared.catalog.repositories import Progress
from codequarry.shared.errors import Interrupted
from codequarry.shared.jobs.job import PRIORITIES, Job, JobRequest
from codequarry.shared.jobs.job_list import claim_next, submit_within
from codequarry.shared.stop_request import stoppable
from codequarry.shared.telemetry.logs import logger

# A job beats so many times before it counts as lost, so that a slow store costs nothing.
BEATS_UNTIL_LOST = 6
# So often a running job looks for one that is more urgent, however small its batches are.
LOOK_SECONDS = 0.5
# A first import may take hours: within another job it would hold up whatever waits for the end of that, a push perhaps.
NEVER_WITHIN = PRIORITIES["import"]

log = logger("codequarry.worker")


class Messages(Protocol):
    """The queue as a worker sees it; QueueUnavailable where it does not answer."""

    def tell(self, job: Job) -> None:
        """Tell some worker that there is a job."""
        ...

    def call_helper(self, timeline: int, number: int, priority: int) -> None:
        """Ask some worker to take part in writing a transaction."""
        ...

    def waiting_jobs(self) -> int:
        """Return how many messages about jobs nobody has taken."""
        ...

    def waiting_calls(self) -> int:
        """Return how many calls for help nobody has taken."""
        ...


class Worker:
    """What the tasks of one process do; not for threads."""

    def __init__(self, workplace: WorkerIndex, messages: Messages, is_ending: Callable[[], bool]) -> None:
        """Work at ``workplace`` until ``is_ending``: then what is under way is left for others to go on with."""
        self._workplace, self._messages, self._is_ending = workplace, messages, is_ending
        lease_seconds = workplace.settings.indexing.lease_seconds
        self._lookout = Lookout(max(lease_seconds, BEATS_UNTIL_LOST * BEAT_SECONDS))
        self._helper = Helper()
        self._doing: list[Job] = []
        self._looked = float("-inf")

    def do_next(self) -> None:
        """Do the job that goes first, if there is one."""
        store = self._workplace.workshop().store
        if not self._is_ending():
            self._take(lambda holder: claim_next(store, holder))
            self._trim_mirrors()

    def write_batch(self, timeline: int, number: int, priority: int) -> None:
        """Take part in somebody's import for a turn, and see that there is a message for the next one.

        A message of its own for each turn lets a more urgent one overtake in between.
        """
        if self._is_ending():
            return
        with stoppable(self._keep_on):
            more = self._helper.take_part(timeline, number, self._workplace.workshop(), lambda _: self._keep_on())
        if more:
            self._messages.call_helper(timeline, number, priority)
        self._trim_mirrors()

    def look_after_jobs(self) -> None:
        """Let lost jobs wait again, and tell of those that nobody was told of."""
        store, settings = self._workplace.workshop().store, self._workplace.settings
        repair(store, settings)
        for job in self._lookout.look(store):
            log.warning("job lost", job_id=job.id, repo=job.repo, ref=job.ref, state=job.state, attempts=job.attempts)
        for job in jobs_without_message(store, self._messages.waiting_jobs()):
            self._messages.tell(job)

    def poll_origins(self) -> None:
        """Ask the origins that are due what has changed."""
        store, settings = self._workplace.workshop().store, self._workplace.settings

        def submit(request: JobRequest) -> None:
            job, is_new = submit_within(store, request, settings.queue.max_waiting)
            if is_new:
                self._messages.tell(job)

        poll_due(store, settings, submit)

    def close(self) -> None:
        """Give back what is open between two messages."""
        self._helper.close()
        self._workplace.close()

    def _trim_mirrors(self) -> None:
        settings = self._workplace.settings
        remove_left_mirrors(self._workplace.workshop(anew=False).store, settings)
        if settings.git.mirror_cache_bytes is not None:
            removed = trim_mirrors(settings.home, settings.git.mirror_cache_bytes)
            if removed:
                log.info("mirrors removed for want of room", mirrors=removed)

    def _take(self, claim: Callable[[str], Job | None]) -> None:
        holder = new_holder()
        try:
            job = claim(holder)
            if job is None:
                return
            self._doing.append(job)
            try:
                self._run(job, holder)
            finally:
                self._doing.pop()
        finally:
            retire_holder(holder)

    def _run(self, job: Job, holder: str) -> None:
        outermost = len(self._doing) == 1
        names = {"job_id": job.id, "repo": job.repo, "ref": job.ref, "request_id": job.request_id or None}
        log.info("job begins", **names, attempt=job.attempts)
        workshop = self._workplace.workshop(self._helpers_of(job), anew=outermost)
        ended = run_job(job, holder, lambda: workshop, self._attend)
        if ended is not None:
            log.info("job", **names, state=ended.state, commit=ended.commit or None)

    def _keep_on(self) -> None:
        if self._is_ending():
            raise Interrupted("the worker is to end; another one goes on with this")

    def _attend(self, job: Job, progress: Progress) -> None:
        """Leave a job between two of its steps where the process is to end; let one that is more urgent go first."""
        self._keep_on()
        if progress.phase != "indexing" or not progress.files_total:
            return
        if monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked = monotonic()
        store = self._workplace.workshop(anew=False).store
        skips_failed = {one.repo for one in self._doing}
        before = min(job.priority, NEVER_WITHIN)
        self._take(lambda holder: claim_next(store, holder, before, skips_failed))

    def _helpers_of(self, job: Job) -> CallHelpers:
        def call(timeline: int, number: int, most: int) -> None:
            for _ in range(most - self._messages.waiting_calls()):
                self._messages.call_helper(timeline, number, job.priority)

        return call
