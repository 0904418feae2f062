"""A running job: written to the catalog every few seconds, and stopped if it was cancelled or taken over."""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from time import monotonic

from structlog.contextvars import bind_contextvars

from codequarry.ingest.request.index_request import Workshop
from codequarry.shared.catalog.repositories import Progress
from codequarry.shared.errors import CodequarryError, Conflict, IndexMoved, NotIndexed, Stopped, StoreError, public
from codequarry.shared.jobs.job import Job
from codequarry.shared.jobs.job_list import change_job, read_job
from codequarry.shared.jobs.lifecycle import beaten, failed, put_off
from codequarry.shared.telemetry.logs import logger
from codequarry.shared.telemetry.metrics import count_job, count_job_failure
from codequarry.shared.telemetry.traces import Phases

# Much shorter than the silence after which a job counts as lost.
BEAT_SECONDS = 5.0
# The first beat comes sooner, because the client that submitted the job watches its phase.
FIRST_BEAT_SECONDS = 0.5
# How often a running job is checked for cancellation; the job ends within two seconds of it.
LOOK_SECONDS = 0.5
# Why a run stops.
TAKEN, CANCELLED = "another process took the job over", "it was cancelled"
# The state under which a job is counted if another process had taken it over by the time it ended here.
LOST = "lost"
# The progress that ``check`` reports: only its phase matters.
WAITING = Progress("", "waiting", "", 0, 0, 0, "", "")

log = logger("codequarry.jobs")

Attend = Callable[[Job, Progress], None]
"""Called at every step of a job; it may run something else first, or raise Interrupted."""


class RunningJob:
    """The record of a job while it runs, as other processes see it."""

    def __init__(self, workshop: Workshop, job: Job, holder: str, attend: Attend) -> None:
        self._store, self._job, self._holder, self._attend = workshop.store, job, holder, attend
        self._began, self._phases = monotonic(), Phases("job.")
        self._progress: dict[str, str | int] = {}
        self._stop: str | None = None
        self._ended = threading.Event()

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Write the job's record every few seconds, so that the job does not count as lost."""
        thread = threading.Thread(target=self._run, name="job-beat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._phases.end()
            self._ended.set()
            thread.join()

    def check(self) -> None:
        """Raise Stopped or Interrupted if the job must end, wherever the run is waiting."""
        if self._stop is not None:
            raise Stopped(self._stop)
        self._attend(self._job, WAITING)

    def observe(self, progress: Progress) -> None:
        """Record the progress for the next beat; raise Stopped if the job was cancelled or taken over."""
        if progress.phase != self._progress.get("phase"):
            self._look()
        if self._stop is not None:
            raise Stopped(self._stop)
        # A phase may name the process that the run is waiting for.
        self._phases.enter(progress.phase.partition(" ")[0])
        if progress.commit:
            bind_contextvars(commit=progress.commit)
        self._progress = {
            "phase": progress.phase,
            "files_done": progress.files_done,
            "files_total": progress.files_total,
            "chunks_done": progress.chunks_done,
        }
        self._attend(self._job, progress)

    def _look(self) -> None:
        """Check whether the job must stop; also called at the start of each phase, above all of publishing."""
        with suppress(StoreError):  # the next check decides
            job = read_job(self._store, self._job.id)
            if job is None or job.holder != self._holder:
                self._stop = TAKEN
            elif job.stopping:
                self._stop = CANCELLED

    def fail(self, error: CodequarryError) -> Job | None:
        """Record that the job failed for good; API clients read the message, so only the log contains addresses."""
        log.warning("job failed", detail=str(error))
        message = public(error)
        return self.close(lambda now: failed(now, self._holder, message), error)

    def put_off(self, error: CodequarryError, *, busy: bool = False) -> Job | None:
        """Record that the job waits for a service that is down or, if ``busy``, for a process doing the same work."""
        message = public(error)
        change = partial(put_off, holder=self._holder, error=message, share=random.random(), busy=busy)
        return self.close(change, None if busy else error)

    def close(self, change: Callable[[Job], Job], error: Exception | None = None) -> Job | None:
        """Record how the job ended, and count ``error`` as the cause; return None if another process has the job."""

        def last(job: Job) -> Job:
            return change(beaten(job, self._holder, self._progress))

        left: Job | None = None
        with suppress(Conflict, NotIndexed, IndexMoved):  # the job moved with the index and is waiting there again
            left = change_job(self._store, self._job.id, last)
        count_job(self._job.kind, self._job.trigger, left.state if left else LOST, monotonic() - self._began)
        if error is not None and left and left.state != "cancelled":
            count_job_failure(error)
        return left

    def _run(self) -> None:
        beat_at = monotonic() + FIRST_BEAT_SECONDS
        while not self._ended.wait(min(LOOK_SECONDS, BEAT_SECONDS)):
            if monotonic() < beat_at:
                self._look()
                continue
            beat_at = monotonic() + BEAT_SECONDS
            try:
                job = change_job(self._store, self._job.id, lambda job: beaten(job, self._holder, self._progress))
            except (Conflict, NotIndexed, IndexMoved):
                self._stop = TAKEN
                return
            except StoreError:
                continue
            if job.stopping:
                self._stop = CANCELLED
