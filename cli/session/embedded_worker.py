"""The in-process worker of `codequarry serve` and `codequarry mcp`: runs one job at a time on the store they search."""

import threading
from time import monotonic
from typing import TYPE_CHECKING

from codequarry.search_api.jobs.queue import with_request_context
from codequarry.shared.errors import CodequarryError, Interrupted
from codequarry.shared.jobs.job import Job, JobRequest
from codequarry.shared.jobs.job_list import claim, claim_next, read_job, submit_within
from codequarry.shared.telemetry.logs import logger

if TYPE_CHECKING:
    from codequarry.ingest.request.index_request import Workshop
    from codequarry.search_api.search.backend import Backend
    from codequarry.shared.catalog.repositories import Progress
    from codequarry.shared.liveness.deadline import Deadline
    from codequarry.shared.store.port import DocumentStore

# Seconds between checks for jobs that another process submitted, or whose pause after a failure is over.
LOOK_SECONDS = 2.0
# Seconds to wait for the poller on exit. It may hang on a silent origin; abandoning it loses nothing.
POLLER_SECONDS = 5.0
# Seconds between runs of housekeeping, which archives ended jobs and requeues lost jobs.
TIDY_SECONDS = 30.0
# A holder sends a heartbeat every few seconds. On another machine, a holder that is silent this long counts as lost.
SILENT_SECONDS = 60.0

log = logger("codequarry.indexer")


class LocalIndexer:
    """Runs the jobs in the catalog in a thread of the service's process."""

    def __init__(self, backend: "Backend", *, only_own: bool = False) -> None:
        """Run the jobs of the index that ``backend`` searches.

        With ``only_own``, run only jobs that are submitted here, and poll no origin: an agent's tools must not turn
        into a service.
        """
        self._backend = backend
        self._only_own = only_own
        self._own: list[str] = []
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._asked = threading.Event()
        self._poller: threading.Thread | None = None
        self._ended = threading.Event()
        self._closed = False

    def submit(self, request: JobRequest, deadline: "Deadline | None" = None) -> Job:
        """Submit and return a job, or the waiting job for that version; raise StoreUnavailable if too many wait."""
        store, settings = self._backend.engine(deadline).store, self._backend.settings
        most, most_of_key = settings.queue.max_waiting, settings.limits.jobs_waiting_per_key
        # Not under the lock: the poller may wait much longer for a silent store than a request may.
        job, is_new = submit_within(store, with_request_context(request), most, most_of_key)
        log.info("job asked for", job_id=job.id, repo=job.repo, ref=job.ref, joined=not is_new)
        if self._only_own:
            self._own.append(job.id)
        self.start()
        return job

    def wake(self, job: Job) -> None:
        """Look for jobs at once, because ``job`` is waiting again."""
        self.start()

    def start(self) -> None:
        """Start the worker and the poller; jobs that an earlier process left behind are run too."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="indexer", daemon=True)
                self._thread.start()
                if not self._only_own:
                    self._poller = threading.Thread(target=self._poll, name="poller", daemon=True)
                    self._poller.start()
        self._asked.set()

    def end(self) -> None:
        """Take no more jobs, and hand back the running job at its next step; return at once."""
        self._closed = True
        self._asked.set()
        self._ended.set()

    def close(self) -> None:
        """End the worker, and wait until the running job has been handed back."""
        self.end()
        if self._thread is not None:
            self._thread.join()
        if self._poller is not None:
            self._poller.join(POLLER_SECONDS)

    def _attend(self, _: Job, __: "Progress") -> None:
        """Interrupt a job between steps if the service is stopping; what was written stays."""
        if self._closed:
            raise Interrupted("the service is stopping; the job resumes when the service is back")

    def _work(self) -> None:
        from codequarry.ingest.removal.interrupted_removal import repair
        from codequarry.ingest.transaction.holder import new_holder
        from codequarry.ingest.workers.job_supervision import Lookout

        holder = new_holder()
        # This thread looks only between jobs: if it still seems to hold a job, the end of that job was not written.
        lookout = Lookout(SILENT_SECONDS, mine=holder)
        tidied = float("-inf")
        while not self._closed:
            try:
                store = self._backend.engine().store
                if monotonic() - tidied > TIDY_SECONDS:
                    lookout.look(store)
                    repair(store, self._backend.settings)
                    tidied = monotonic()
                if job := self._claim(store, holder):
                    self._run(job, holder)
                    continue
            except CodequarryError as error:
                log.warning("jobs wait", detail=str(error))
            except Exception as error:
                # The thread must survive any failure of a job; the log has the error.
                log.error("job failed", exc_info=error)
            self._asked.wait(LOOK_SECONDS)
            self._asked.clear()

    def _claim(self, store: "DocumentStore", holder: str) -> Job | None:
        if not self._only_own:
            return claim_next(store, holder)
        for job_id in tuple(self._own):
            if job := claim(store, job_id, holder):
                return job
            # Another process may have run the job. A job that failed may be waiting for its next attempt.
            known = read_job(store, job_id)
            if known is None or known.is_finished:
                self._own.remove(job_id)
        return None

    def _poll(self) -> None:
        """Poll origins for changes, in a separate thread because a silent origin blocks it."""
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
