"""Doing one job, whoever got it: with signs of life, and a decision on what becomes of it when it fails."""

import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from time import monotonic

from structlog.contextvars import bind_contextvars, bound_contextvars

from codequarry.ingest.git.origins import origin_of_record
from codequarry.ingest.pipeline import index_repository
from codequarry.ingest.presence import RemovedMeanwhile
from codequarry.ingest.removal import remove_repository, remove_version
from codequarry.ingest.report import IndexRequest, Workshop
from codequarry.shared.errors import (
    CodequarryError,
    Conflict,
    EmbedderUnavailable,
    GitError,
    IndexMoved,
    Interrupted,
    LeaseHeld,
    NotAtOrigin,
    NotIndexed,
    Stopped,
    StoreError,
    StoreFull,
    StoreUnavailable,
    UsageError,
)
from codequarry.shared.jobs.job import Job, Trigger
from codequarry.shared.jobs.job_list import change_job, read_job
from codequarry.shared.jobs.lifecycle import beaten, ended, failed, failed_once, given_back, put_off
from codequarry.shared.public import public
from codequarry.shared.repositories.catalog import Progress, read_repository
from codequarry.shared.repositories.naming import find_repository
from codequarry.shared.stopping import stoppable
from codequarry.shared.store.port import Store
from codequarry.shared.telemetry.logs import logger
from codequarry.shared.telemetry.metrics import count_job, count_job_failure
from codequarry.shared.telemetry.traces import Phases, span
from codequarry.shared.versions.refs import Ref, is_null_commit

# A job shows that it lives much oftener than it is taken for lost.
BEAT_SECONDS = 5.0
# The first sign comes sooner: whoever asked looks at the phase.
FIRST_BEAT_SECONDS = 0.5
# How often a running job is read, to see whether it was cancelled: it ends within two seconds of that.
LOOK_SECONDS = 0.5
# These may pass by themselves.
OUTAGES = (StoreUnavailable, StoreFull, EmbedderUnavailable)
PASSING = (GitError,)
BUSY = (LeaseHeld, IndexMoved, Conflict)
# Who asks so follows a repository that is in the catalog; all others name one that is to be there.
FOLLOWING: tuple[Trigger, ...] = ("search", "webhook", "poll")
# Nobody asks by hand: a commit that failed by its own fault is not tried again for these.
UNASKED: tuple[Trigger, ...] = ("search", "webhook", "poll", "sync")
# Who tells of a commit has seen it at the origin.
SEEING: tuple[Trigger, ...] = ("webhook", "poll")
# Why a run stops.
TAKEN, CANCELLED = "somebody else took the job over", "it was cancelled"
# What is counted for a job that somebody else had taken over when its turn here ended.
LOST = "lost"
# How far a run is that waits for another process, as far as that concerns its end.
WAITING = Progress("", "waiting", "", 0, 0, 0, "", "")

log = logger("codequarry.jobs")

OpenWorkshop = Callable[[], Workshop]
Attend = Callable[[Job, Progress], None]
"""Is called at every step of a job: it may do something else first, or raise Interrupted."""


class Removed(CodequarryError):
    """The repository of a job was removed since somebody who follows it asked for that."""


def keep_at_it(_: Job, __: Progress) -> None:
    """Attend to nothing else."""


def run_job(job: Job, holder: str, open_workshop: OpenWorkshop, attend: Attend = keep_at_it) -> Job | None:
    """Do a job that ``holder`` has claimed and return it as it is then; None where it was lost to somebody else.

    StoreUnavailable where even that can't be written down: whoever looks after lost jobs will find it silent.
    """
    names = {"job_id": job.id, "repo": job.repo, "ref": job.ref}
    with (
        # The commit is bound when it is known; here, so that it is gone after the job.
        bound_contextvars(**names, commit=job.wanted_commit, request_id=job.request_id or None),
        span("job", job.traceparent, kind=job.kind, trigger=job.trigger, **names),
    ):
        return _run_job(job, holder, open_workshop(), attend)


def _run_job(job: Job, holder: str, workshop: Workshop, attend: Attend) -> Job | None:
    sign = _Sign(workshop, job, holder, attend)
    try:
        with sign.shown(), stoppable(sign.check):
            commit = _perform(job, workshop, sign)
    except (Stopped, Interrupted):
        return sign.close(lambda now: given_back(now, holder))
    except (KeyboardInterrupt, SystemExit):
        sign.close(lambda now: given_back(now, holder))
        raise
    except Removed as error:
        reason = public(error)
        return sign.close(lambda now: ended(now, holder, "cancelled", error=reason))
    except (RemovedMeanwhile, NotAtOrigin) as error:
        return sign.fail(error)
    except BUSY as error:
        return sign.put_off(error, busy=True)
    except OUTAGES as error:
        log.warning("job waits for a service", detail=str(error))
        return sign.put_off(error)
    except PASSING as error:
        log.warning("job failed, will be tried again", detail=str(error))
        message = public(error)
        return sign.close(lambda now: failed_once(now, holder, message, random.random()), error)
    except CodequarryError as error:
        return sign.fail(error)
    except Exception as error:
        message = _unexpected(job, error)
        return sign.close(lambda now: failed_once(now, holder, message, random.random()), error)
    return sign.close(lambda now: ended(now, holder, "done", commit=commit))


def _unexpected(job: Job, error: Exception) -> str:
    """Return what is said of an error that is none of ours; a worker's time limit is one of them, but no surprise."""
    limits = sys.modules.get("billiard.exceptions")
    if limits is not None and isinstance(error, limits.SoftTimeLimitExceeded):
        log.warning("job took too long, will be tried again")
        return "it took longer than [queue] soft_limit_seconds; the next attempt goes on where it was"
    log.error("job failed unexpectedly", exc_info=error)
    return f"an unexpected error ({type(error).__name__}); the log has it under job {job.id}"


def _perform(job: Job, workshop: Workshop, sign: "_Sign") -> str:
    """Do what a job asks for and return the commit that is published then."""
    store, settings = workshop.store, workshop.settings
    if job.kind == "remove":
        # What is gone already is as it was asked for.
        with suppress(NotIndexed):
            if not job.refs:
                remove_repository(job.repo, store, settings, job.repo_id)
            for ref in job.refs:
                remove_version(job.repo, ref, store, settings)
        return ""
    name = _present_name(job, store)
    refused: CodequarryError | None = None
    candidates: tuple[Ref | None, ...] = job.refs or (None,)
    # Somebody told of a new commit: it was seen then, before any fetch.
    seen_at = job.created_at if job.wanted_commit else ""
    for candidate in candidates:
        try:
            request = IndexRequest(
                job.origin,
                candidate,
                name,
                guarded=job.guarded,
                seen_at=seen_at,
                beside=True,
                commit=job.wanted_commit,
                passed_over=job.trigger in UNASKED and not job.insists,
            )
            report = index_repository(request, workshop, sign.observe)
            return "" if report.kind == "gone" else report.commit
        except (NotAtOrigin, NotIndexed, UsageError) as error:
            refused = refused or error
    assert refused is not None, "there is at least one candidate"
    if isinstance(refused, NotAtOrigin) and _was_seen(job):
        return ""
    raise refused


def _was_seen(job: Job) -> bool:
    """Tell whether somebody saw a version before the origin was found to have it no more: deleted, perhaps at once."""
    return is_null_commit(job.wanted_commit) or (job.trigger in SEEING and bool(job.refs and job.wanted_commit))


def _present_name(job: Job, store: Store) -> str:
    """Return what the repository of a job is called now; Removed where it is gone, and nobody wants it back."""
    if read_repository(store, job.repo):
        return job.repo
    renamed = find_repository(store, origin_of_record(job.origin))
    if renamed is None and job.trigger in FOLLOWING:
        raise Removed(f"'{job.repo}' was removed from the index meanwhile")
    return renamed.name if renamed else job.repo


class _Sign:
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
