"""The in-process worker of `codequarry serve`: one job at a time, over the store that the service searches."""

import threading
from time import monotonic
from typing import TYPE_CHECKING

from codequarry.search_api.jobs.queue import with_request_context
from codequarry.shared.errors import CodequarryError, Interrupted
from codequarry.shared.jobs.job import Job, JobRequest
from codequarry.shared.jobs.job_list import claim_next, submit_within
from codequarry.shared.telemetry.logs import logger

if TYPE_CHECKING:
    from codequarry.ingest.request.index_request import Workshop
    from codequarry.search_api.search.backend import Backend
    from codequarry.shared.catalog.repositories import Progress
    from codequarry.shared.liveness.deadline import Deadline

# A job whose pause after a failure is over, or that another process asked for, is found this soon.
LOOK_SECONDS = 2.0
# Who polls may be waiting for a silent origin; nothing is lost if it is not waited for.
POLLER_SECONDS = 5.0
# How often ended jobs are tidied away and lost ones begun anew.
TIDY_SECONDS = 30.0
# Whoever runs a job shows every few seconds that it lives; a holder on another machine is given this long.
SILENT_SECONDS = 60.0

log = logger("codequarry.indexer")


class LocalIndexer:
    """Does the jobs of the catalog in a thread of the service's own process."""

    def __init__(self, backend: "Backend") -> None:
        """Do the jobs of the index that ``backend`` searches."""
        self._backend = backend
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._asked = threading.Event()
        self._poller: threading.Thread | None = None
        self._ended = threading.Event()
        self._closed = False

    def submit(self, request: JobRequest, deadline: "Deadline | None" = None) -> Job:
        """Ask for a version and return its job, or the one that waits for the same; StoreUnavailable if too many do."""
        store, settings = self._backend.engine(deadline).store, self._backend.settings
        most, most_of_key = settings.queue.max_waiting, settings.limits.jobs_waiting_per_key
        # Without the lock: a poller may wait for a silent store much longer than a request does.
        job, is_new = submit_within(store, with_request_context(request), most, most_of_key)
        log.info("job asked for", job_id=job.id, repo=job.repo, ref=job.ref, joined=not is_new)
        self.start()
        return job

    def wake(self, job: Job) -> None:
        """Look for jobs at once: this one waits again."""
        self.start()

    def start(self) -> None:
        """Begin to work, on what an earlier process left too."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="indexer", daemon=True)
                self._thread.start()
                self._poller = threading.Thread(target=self._poll, name="poller", daemon=True)
                self._poller.start()
        self._asked.set()

    def end(self) -> None:
        """Take no more jobs, and give back the one that runs at its next step; returns at once."""
        self._closed = True
        self._asked.set()
        self._ended.set()

    def close(self) -> None:
        """End, and wait until the job that runs was given back."""
        self.end()
        if self._thread is not None:
            self._thread.join()
        if self._poller is not None:
            self._poller.join(POLLER_SECONDS)

    def _attend(self, _: Job, __: "Progress") -> None:
        """Leave a job between two of its steps where the process is to end: what was written stays."""
        if self._closed:
            raise Interrupted("the service is to end; the job goes on when it is back")

    def _work(self) -> None:
        from codequarry.ingest.removal.interrupted_removal import repair
        from codequarry.ingest.transaction.holder import new_holder
        from codequarry.ingest.workers.job_supervision import Lookout

        holder = new_holder()
        # Between two jobs this thread has none: what it still seems to run, it could not write the end of.
        lookout = Lookout(SILENT_SECONDS, mine=holder)
        tidied = float("-inf")
        while not self._closed:
            try:
                store = self._backend.engine().store
                if monotonic() - tidied > TIDY_SECONDS:
                    lookout.look(store)
                    repair(store, self._backend.settings)
                    tidied = monotonic()
                if job := claim_next(store, holder):
                    self._run(job, holder)
                    continue
            except CodequarryError as error:
                log.warning("jobs wait", detail=str(error))
            except Exception as error:
                # The thread must outlive whatever one job meets; the log has it.
                log.error("job failed", exc_info=error)
            self._asked.wait(LOOK_SECONDS)
            self._asked.clear()

    def _poll(self) -> None:
        """Ask origins what has changed; in a thread of its own, for one that is silent is waited for."""
        from codequarry.ingest.remotes.polling import LOOK_SECONDS as POLL_SECONDS
        from codequarry.ingest.remotes.polling import poll_due

        while not self._ended.wait(POLL_SECONDS):
            try:
                poll_due(self._backend.engine().store, self._backend.settings, self.submit)
            except CodequarryError as error:
                log.warning("polling waits", detail=str(error))
            except Exception as error:
                log.error("polling failed", exc_info=error)

    def _run(self, job: Job, holder: str) -> None:
        from codequarry.ingest.workers.job_runner import run_job

        ended = run_job(job, holder, self._workshop, self._attend)
        if ended is not None:
            names = {"job_id": job.id, "repo": job.repo, "ref": job.ref, "request_id": job.request_id or None}
            log.info("job", **names, state=ended.state, commit=ended.commit or None)

    def _workshop(self) -> "Workshop":
        from codequarry.ingest.files.reading_pool import read_apart
        from codequarry.ingest.request.index_request import Workshop

        engine = self._backend.engine()
        return Workshop(engine.store, engine.embedder, read_apart(self._backend.settings))
