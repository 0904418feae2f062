"""Asking for work where workers do it: the job goes into the catalog, and a message tells a worker of it."""

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

# It takes a request seconds to find out that the queue is gone. Nothing is lost if the next ones do not try: whoever
# looks after jobs tells workers of those that nobody was told of.
PAUSE_SECONDS = 10.0
# The attempts of one message, with the waits of the client's own between them.
LONGEST_SECONDS = 20.0

log = logger("codequarry.dispatch")


class QueueIndexer:
    """Has workers do the jobs; where the queue does not answer they are told later, by whoever looks after jobs."""

    def __init__(self, backend: Backend) -> None:
        """Ask for work on the index that ``backend`` searches."""
        self._backend = backend
        self._lock = Lock()
        self._app: Celery | None = None
        self._probe = QueueProbe(backend.settings.queue)
        self._breaker = Breaker(PAUSE_SECONDS, LONGEST_SECONDS)

    def submit(self, request: JobRequest, deadline: Deadline | None = None) -> Job:
        """Ask for a version and return its job, or the one that waits for the same; StoreUnavailable if too many do."""
        store, settings = self._backend.engine(deadline).store, self._backend.settings
        most, most_of_key = settings.queue.max_waiting, settings.limits.jobs_waiting_per_key
        job, is_new = submit_within(store, with_request_context(request), most, most_of_key)
        log.info("job asked for", job_id=job.id, repo=job.repo, ref=job.ref, joined=not is_new)
        # Whoever gets a message takes the most urgent job there is, so one that was joined needs no second one.
        if is_new:
            self.wake(job)
        return job

    def wake(self, job: Job) -> None:
        """Tell a worker of a job; where the queue does not answer it is found later."""
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
        """Do nothing: the jobs are the workers'."""

    def close(self) -> None:
        """Do nothing: the jobs are the workers'."""

    def _celery(self) -> "Celery":
        """Return the application that sends, made at the first use: importing Celery takes a quarter of a second."""
        from celery import Celery

        with self._lock:
            if self._app is None:
                self._app = Celery(APP, set_as_current=False)
                self._app.conf.update(celery_options(self._backend.settings))
            return self._app
