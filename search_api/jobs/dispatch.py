"""Sends jobs to workers: a job is written to the catalog, and a queue message wakes a worker."""

from threading import Lock
from typing import TYPE_CHECKING

from codequarry.search_api.jobs.queue import with_request_context
from codequarry.search_api.search.backend import Backend
from codequarry.shared.errors import QueueUnavailable
from codequarry.shared.jobs.job import Job, JobRequest
from codequarry.shared.jobs.job_list import submit_within
from codequarry.shared.liveness.breaker import Breaker
from codequarry.shared.liveness.deadline import Deadline
from codequarry.shared.queue.messages import APP, RUN_JOB, SCAN, celery_options
from codequarry.shared.queue.probe import QueueProbe
from codequarry.shared.telemetry.logs import logger

if TYPE_CHECKING:
    from celery import Celery

# A request takes seconds to notice that the queue is down, so the next requests skip it. Nothing is lost, because the
# workers check all jobs periodically and send the missing messages.
RETRY_SECONDS = 10.0
# The longest time to send one message, including the client's own retries and waits.
LONGEST_SECONDS = 20.0

log = logger("codequarry.dispatch")


class QueueIndexer:
    """Sends jobs for the index of ``backend`` to workers; if the queue does not answer, workers find them later."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._lock = Lock()
        self._app: Celery | None = None
        self._probe = QueueProbe(backend.settings.queue)
        self._breaker = Breaker(RETRY_SECONDS, LONGEST_SECONDS)

    def submit(self, request: JobRequest, deadline: Deadline | None = None) -> Job:
        """Return a new job, or the queued job for the same version; raise StoreUnavailable if too many jobs wait."""
        store, settings = self._backend.engine(deadline).store, self._backend.settings
        most, most_of_key = settings.queue.max_waiting, settings.limits.jobs_waiting_per_key
        job, is_new = submit_within(store, with_request_context(request), most, most_of_key)
        log.info("job asked for", job_id=job.id, repo=job.repo, ref=job.ref, joined=not is_new)
        # A message makes a worker take the most urgent job, so a joined job needs no second message.
        if is_new:
            self.wake(job)
        return job

    def wake(self, job: Job) -> None:
        """Send a worker a message about a job; if the queue does not answer, a worker finds the job later."""
        from kombu.exceptions import OperationalError

        if not self._breaker.allows():
            return
        try:
            self._probe.check()
            self._celery().send_task(RUN_JOB, (job.id,), queue=SCAN, priority=job.priority, retry=False)
            self._breaker.record_success()
        except (QueueUnavailable, OperationalError) as error:
            self._breaker.record_failure()
            log.warning("the job waits until the queue answers", job_id=job.id, detail=str(error))

    def end(self) -> None:
        """Do nothing: no job runs in this process."""

    def close(self) -> None:
        """Do nothing: no job runs in this process."""

    def _celery(self) -> "Celery":
        """Return the Celery application, created on first use because importing Celery takes a quarter of a second."""
        from celery import Celery

        with self._lock:
            if self._app is None:
                self._app = Celery(APP, set_as_current=False)
                self._app.conf.update(celery_options(self._backend.settings))
            return self._app
