"""Runs one job, shows that it is alive, and decides what happens to it if it fails."""

import random
import sys
from collections.abc import Callable
from contextlib import suppress

from structlog.contextvars import bound_contextvars

from codequarry.ingest.git.origins import origin_of_record
from codequarry.ingest.removal.removal import end_version, remove_repository
from codequarry.ingest.request.index_request import IndexRequest, VersionWish, Workshop
from codequarry.ingest.request.repository_entry import RemovedMeanwhile
from codequarry.ingest.run.merge_bases import find_merge_base
from codequarry.ingest.run.pipeline import index_repository
from codequarry.ingest.workers.running_job import Attend, RunningJob
from codequarry.shared.catalog.repositories import Progress, read_repository
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
    StoreFull,
    StoreUnavailable,
    UsageError,
    public,
)
from codequarry.shared.jobs.job import Job, Trigger
from codequarry.shared.jobs.lifecycle import ended, failed_once, given_back
from codequarry.shared.repositories.naming import find_repository
from codequarry.shared.stop_request import stoppable
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.telemetry.logs import logger
from codequarry.shared.telemetry.traces import span
from codequarry.shared.versions.refs import Ref, is_null_commit

# These errors may pass without any action by the operator.
OUTAGES = (StoreUnavailable, StoreFull, EmbedderUnavailable)
PASSING = (GitError,)
BUSY = (LeaseHeld, IndexMoved, Conflict)
# These triggers follow a repository that is in the catalog; all others name a repository to add.
FOLLOWING: tuple[Trigger, ...] = ("search", "webhook", "poll")
# These triggers are not manual requests, so they do not retry a commit that exceeded a limit.
UNASKED: tuple[Trigger, ...] = ("search", "webhook", "poll", "sync")
# These triggers name a commit that was seen at the origin.
SEEING: tuple[Trigger, ...] = ("webhook", "poll")

log = logger("codequarry.jobs")

OpenWorkshop = Callable[[], Workshop]


class Removed(CodequarryError):
    """A job's repository was removed after a trigger that follows the repository submitted the job."""


def take_no_step(_: Job, __: Progress) -> None:
    """Do nothing between the steps of a job."""


def run_job(job: Job, holder: str, open_workshop: OpenWorkshop, attend: Attend = take_no_step) -> Job | None:
    """Run a job that ``holder`` has claimed; return its final state, or None if another process took it over.

    Raises StoreUnavailable if the outcome can't be written; job supervision then finds that the job is silent.
    """
    names = {"job_id": job.id, "repo": job.repo, "ref": job.ref}
    with (
        # A run rebinds the commit once it is known; binding it here makes sure that it is unbound after the job.
        bound_contextvars(**names, commit=job.wanted_commit, request_id=job.request_id or None),
        span("job", job.traceparent, kind=job.kind, trigger=job.trigger, **names),
    ):
        return _run_job(job, holder, open_workshop(), attend)


def _run_job(job: Job, holder: str, workshop: Workshop, attend: Attend) -> Job | None:
    sign = RunningJob(workshop, job, holder, attend)
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
    """Return the message for an error outside our hierarchy, including a worker's time limit."""
    limits = sys.modules.get("billiard.exceptions")
    if limits is not None and isinstance(error, limits.SoftTimeLimitExceeded):
        log.warning("job took too long, will be tried again")
        return "it took longer than [queue] soft_limit_seconds; the next attempt continues from there"
    log.error("job failed unexpectedly", exc_info=error)
    return f"an unexpected error ({type(error).__name__}); see the log for job {job.id}"


def _perform(job: Job, workshop: Workshop, sign: "RunningJob") -> str:
    store, settings = workshop.store, workshop.settings
    if job.kind == "remove":
        # If the repository is already gone, nothing is left to remove.
        with suppress(NotIndexed):
            if not job.refs:
                remove_repository(job.repo, store, settings, job.repo_id)
            for ref in job.refs:
                end_version(job.repo, ref, store)
        return ""
    name = _present_name(job, store)
    if job.kind == "merge-base":
        return _find_merge_base(name, job, workshop)
    refused: CodequarryError | None = None
    candidates: tuple[Ref | None, ...] = job.refs or (None,)
    # A trigger that names a new commit saw the commit before any fetch.
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
                skips_failed=job.trigger in UNASKED and not job.insists,
                wish=_wish(job),
            )
            report = index_repository(request, workshop, sign.observe)
            for warning in report.warnings:
                log.warning("a line of the repository's lists has no effect", detail=warning)
            if report.replaced_default:
                log.warning("default branch changed", repo=report.repo, detail=report.version_note)
            return "" if report.kind == "gone" else report.commit
        except (NotAtOrigin, NotIndexed, UsageError) as error:
            refused = refused or error
    assert refused is not None, "there is at least one candidate"
    if isinstance(refused, NotAtOrigin) and _was_seen(job):
        return ""
    raise refused


def _wish(job: Job) -> VersionWish:
    """Return whether a job is a reason to keep its version for good; following a version is not."""
    if job.trigger == "search":
        return "once"
    return "unchanged" if job.trigger in SEEING else "lasting"


def _find_merge_base(name: str, job: Job, workshop: Workshop) -> str:
    repository = read_repository(workshop.store, name)
    if repository is None:
        raise Removed(f"'{name}' was removed from the index after this job was submitted")
    one, other, *pull = (ref.value for ref in job.refs)
    return find_merge_base(workshop.store, workshop.settings, repository, (one, other), "".join(pull))


def _was_seen(job: Job) -> bool:
    """Return whether a trigger saw the version, or its deletion, at an origin that no longer has it."""
    return is_null_commit(job.wanted_commit) or (job.trigger in SEEING and bool(job.refs and job.wanted_commit))


def _present_name(job: Job, store: DocumentStore) -> str:
    """Return the current name of a job's repository; raise Removed if it is gone and the job does not add it."""
    if read_repository(store, job.repo):
        return job.repo
    renamed = find_repository(store, origin_of_record(job.origin))
    if renamed is None and job.trigger in FOLLOWING:
        raise Removed(f"'{job.repo}' was removed from the index after this job was submitted")
    return renamed.name if renamed else job.repo
