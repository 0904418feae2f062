"""The in-process worker of `codequarry serve`: one import at a time, over the store that the service searches."""

import threading
from collections.abc import Callable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from queue import Full, Queue
from time import monotonic, sleep
from typing import TYPE_CHECKING
from uuid import uuid4

from codequarry.search_api.indexing import Job, age_seconds, forget_job, list_jobs, now, save_job
from codequarry.shared.errors import (
    CodequarryError,
    GitError,
    IndexMoved,
    LeaseHeld,
    NotIndexed,
    StoreError,
    StoreUnavailable,
    UsageError,
)
from codequarry.shared.logs import logger
from codequarry.shared.refs import Ref
from codequarry.shared.repositories import Progress, Repository

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codequarry.ingest.report import IndexReport
    from codequarry.search_api.backend import Backend

# Beyond so many imports that wait, a request is told to come again later.
MAX_WAITING = 50
# Ended jobs are kept for whoever asks late.
KEPT_SECONDS = 24 * 3600
# A job shows that it lives much oftener than it is taken for lost.
BEAT_SECONDS = 5
# Somebody else may be indexing the same version; after so long it is no longer waited for.
MAX_LEASE_WAIT_SECONDS = 600
LEASE_PAUSE_SECONDS = 1

log = logger("codequarry.indexer")


class LocalIndexer:
    """Indexes what requests ask for in a thread of the service's own process."""

    def __init__(self, backend: "Backend") -> None:
        self._backend = backend
        self._waiting: Queue[tuple[Job, Repository, tuple[Ref, ...]]] = Queue(MAX_WAITING)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def submit(self, repository: Repository, ref: str, candidates: Sequence[Ref]) -> Job:
        """Ask for a version and return its job; one that is asked for already is the same."""
        store = self._backend.engine().store
        with self._lock:
            for job in list_jobs(store):
                if not job.is_finished and (job.repo, job.ref) == (repository.name, ref):
                    return job
                if job.is_finished and age_seconds(job) > KEPT_SECONDS:
                    forget_job(store, job.id)
            moment = now()
            job = save_job(store, Job(uuid4().hex, repository.name, ref, "queued", moment, moment))
            try:
                self._waiting.put_nowait((job, repository, tuple(candidates)))
            except Full:
                forget_job(store, job.id)
                raise StoreUnavailable(f"{MAX_WAITING} imports are waiting already; ask again later") from None
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="indexer", daemon=True)
                self._thread.start()
        return job

    def _work(self) -> None:
        while True:
            job, repository, candidates = self._waiting.get()
            try:
                self._run(_Sign(self._backend, job, self._show_waiting), repository, candidates)
            except Exception as error:
                # The thread must outlive whatever one import meets; the log has it, and the job says so.
                log.error("import failed", exc_info=error, repo=repository.name, ref=job.ref)

    def _show_waiting(self) -> None:
        """Write the jobs that wait for their turn anew, so that nobody takes them for lost."""
        store = self._backend.engine().store
        for job, _, _ in list(self._waiting.queue):
            save_job(store, job)

    def _run(self, sign: "_Sign", repository: Repository, candidates: tuple[Ref, ...]) -> None:
        with sign.shown():
            try:
                report = self._index(sign, repository, candidates)
            except CodequarryError as error:
                sign.end(state="failed", error=str(error))
            except Exception:
                sign.end(state="failed", error="an unexpected error; the log of the service has it")
                raise
            else:
                sign.end(state="done", commit=report.commit)

    def _index(self, sign: "_Sign", repository: Repository, candidates: tuple[Ref, ...]) -> "IndexReport":
        """Index the first candidate that the repository has; the first error counts where it has none."""
        refused: CodequarryError | None = None
        for ref in candidates or (None,):
            try:
                return self._index_one(sign, repository, ref)
            except (GitError, NotIndexed, UsageError) as error:
                refused = refused or error
        assert refused is not None, "there is at least one candidate"
        raise refused

    def _index_one(self, sign: "_Sign", repository: Repository, ref: Ref | None) -> "IndexReport":
        from codequarry.ingest.pipeline import IndexRequest, Workshop, index_repository

        deadline = monotonic() + MAX_LEASE_WAIT_SECONDS
        while True:
            engine = self._backend.engine()
            workshop = Workshop(engine.store, engine.embedder, self._backend.settings)
            try:
                return index_repository(
                    IndexRequest(repository.origin, name=repository.name, ref=ref), workshop, sign.progress
                )
            except (LeaseHeld, IndexMoved):
                # A migration that ends meanwhile leaves the import to be begun anew in the other edition.
                if monotonic() > deadline:
                    raise
                sleep(LEASE_PAUSE_SECONDS)


class _Sign:
    """The job as others see it, written anew while it runs."""

    def __init__(self, backend: "Backend", job: Job, beside: Callable[[], None]) -> None:
        self._backend = backend
        self._beside = beside
        self._job = replace(job, state="running")
        self._lock = threading.Lock()
        self._ended = threading.Event()

    @contextmanager
    def shown(self) -> "Iterator[None]":
        """Write the job every few seconds, so that nobody takes it for lost."""
        thread = threading.Thread(target=self._beat, name="indexer-beat", daemon=True)
        self._save()
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def progress(self, progress: Progress) -> None:
        """Note how far the import is; the next beat tells it."""
        with self._lock:
            self._job = replace(
                self._job,
                phase=progress.phase,
                files_done=progress.files_done,
                files_total=progress.files_total,
                chunks_done=progress.chunks_done,
            )

    def end(self, **changes: str) -> None:
        """Write how the job ended; nothing is written after that."""
        self._ended.set()
        with self._lock:
            self._job = replace(self._job, **changes)  # type: ignore[arg-type]  # fields of Job that are texts
            save_job(self._backend.engine().store, self._job)

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_SECONDS if self._job.phase else 0.5):
            # A store that does not answer now may do so at the next beat; where it matters, it says so itself.
            with suppress(StoreError):
                self._save()
                self._beside()

    def _save(self) -> None:
        with self._lock:
            if not self._ended.is_set():
                save_job(self._backend.engine().store, self._job)
