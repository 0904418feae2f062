"""The job that runs, as others see it: written every few seconds, and stopped if it was cancelled or taken over."""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from time import monotonic

from structlog.contextvars import bind_contextvars

from codequarry.ingest.request.index_request import Workshop
from codequarry.shared.catalog.repositories import Progress
from codequarry.shared.errors import (
    CodequarryError,
    Conflict,
    IndexMoved,
    NotIndexed,
    Stopped,
    StoreError,
    public,
)
from codequarry.shared.jobs.job import Job
from codequarry.shared.jobs.job_list import change_job, read_job
from codequarry.shared.jobs.lifecycle import beaten, failed, put_off
from codequarry.shared.telemetry.logs import logger
from codequarry.shared.telemetry.metrics import count_job, count_job_failure
from codequarry.shared.telemetry.traces import Phases

# A job shows that it lives much oftener than it is taken for lost.
BEAT_SECONDS = 5.0
# The first sign comes sooner: whoever asked looks at the phase.
FIRST_BEAT_SECONDS = 0.5
# How often a running job is read, to see whether it was cancelled: it ends within two seconds of that.
LOOK_SECONDS = 0.5
# Why a run stops.
TAKEN, CANCELLED = "somebody else took the job over", "it was cancelled"
# What is counted for a job that somebody else had taken over when its turn here ended.
LOST = "lost"
# How far a run is that waits for another process, as far as that concerns its end.
WAITING = Progress("", "waiting", "", 0, 0, 0, "", "")

log = logger("codequarry.jobs")

Attend = Callable[[Job, Progress], None]
"""Is called at every step of a job: it may do something else first, or raise Interrupted."""


class RunningJob:
    """The job as others see it, written anew while it runs."""

    def __init__(self, workshop: Workshop, job: Job, holder: str, attend: Attend) -> None:
        self._store, self._job, self._holder, self._attend = workshop.store, job, holder, attend
        self._began, self._phases = monotonic(), Phases("job.")
        self._progress: dict[str, str | int] = {}
        self._stop: str | None = None
        self._ended = threading.Event()

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Write the job every few seconds, so that nobody takes it for lost."""
        thread = threading.Thread(target=self._run, name="job-beat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._phases.end()
            self._ended.set()
            thread.join()

    def check(self) -> None:
        """Raise Stopped or Interrupted if the job is to end, wherever the run is waiting."""
        if self._stop is not None:
            raise Stopped(self._stop)
        self._attend(self._job, WAITING)

    def observe(self, progress: Progress) -> None:
        """Note how far the run is, for the next beat; Stopped where the job was cancelled or taken over."""
        if progress.phase != self._progress.get("phase"):
            self._look()
        if self._stop is not None:
            raise Stopped(self._stop)
        # A phase may say for whom it waits.
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
        """Look whether the job is still to be done; at the beginning of a phase too, above all the publishing."""
        with suppress(StoreError):  # the next look tells
            job = read_job(self._store, self._job.id)
            if job is None or job.holder != self._holder:
                self._stop = TAKEN
            elif job.stopping:
                self._stop = CANCELLED

    def fail(self, error: CodequarryError) -> Job | None:
        """Write that the job failed for good; callers of the API read that, so addresses are in the log alone."""
        log.warning("job failed", detail=str(error))
        message = public(error)
        return self.close(lambda now: failed(now, self._holder, message), error)

    def put_off(self, error: CodequarryError, *, busy: bool = False) -> Job | None:
        """Write that the job waits for what is down, or for somebody who is ``busy`` with the same."""
        message = public(error)
        change = partial(put_off, holder=self._holder, error=message, share=random.random(), busy=busy)
        return self.close(change, None if busy else error)

    def close(self, change: Callable[[Job], Job], error: Exception | None = None) -> Job | None:
        """Write how the job ended, with the ``error`` that ended it; None where somebody else has it."""

        def last(job: Job) -> Job:
            return change(beaten(job, self._holder, self._progress))

        left: Job | None = None
        with suppress(Conflict, NotIndexed, IndexMoved):  # with the index went the job: it waits again there
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
