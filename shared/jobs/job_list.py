"""The jobs in the catalog: asking, taking, telling how far, ending; each change by compare-and-set."""

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from uuid import uuid4

from codequarry.shared.errors import Conflict, NotIndexed, StoreUnavailable, WrongState
from codequarry.shared.jobs.job import (
    UNFINISHED,
    Job,
    JobRequest,
    JobState,
    begun,
    cancelled,
    failed_once,
    joined,
    new_job,
    now,
)
from codequarry.shared.store.port import Store
from codequarry.shared.telemetry.metrics import count_job_lost

JOB_PREFIX = "job:"
# Which job still waits for a version: requests that come in a burst find it here and join it.
WAITING_PREFIX = "job-waiting:"
# Ended jobs are kept for whoever asks late; those that failed, for whoever looks into them.
KEPT_SECONDS = 24 * 3600
FAILED_KEPT_SECONDS = 14 * 24 * 3600
QUEUED: tuple[JobState, ...] = ("queued",)


def submit(store: Store, request: JobRequest) -> tuple[Job, bool]:
    """Return the job that will do what is asked for, and whether it is a new one.

    A request joins the job that still waits for the same version; one that runs may have read the origin before the
    newest commit was there, so it gets a successor. A burst therefore makes at most two runs.
    """
    key = f"{WAITING_PREFIX}{request.kind}\n{request.repo}\n{request.ref}"
    while True:
        pointer = store.read_document(key)
        if pointer and (job := _join(store, str(pointer.body["id"]), request)):
            return job, False
        job = new_job(uuid4().hex, request)
        # The job comes first: without its pointer it runs too, and the next request makes another.
        store.write_document(JOB_PREFIX + job.id, asdict(job), None)
        try:
            store.write_document(key, {"id": job.id}, pointer.version if pointer else None)
        except Conflict:
            if _withdrawn(store, job.id):
                continue  # somebody else asked at the same moment: join that job
        return job, True


def submit_within(store: Store, request: JobRequest, most: int) -> tuple[Job, bool]:
    """Do as ``submit``; StoreUnavailable where ``most`` jobs wait already and none of them is for the same."""
    waiting = list_jobs(store, QUEUED)
    same = any((job.kind, job.repo, job.ref) == (request.kind, request.repo, request.ref) for job in waiting)
    if len(waiting) >= most and not same:
        raise StoreUnavailable(f"{most} imports are waiting already; ask again later")
    return submit(store, request)


def _withdrawn(store: Store, job_id: str) -> bool:
    """Remove a job that nobody has begun yet; False if somebody has."""
    try:
        change_job(store, job_id, lambda job: cancelled(_waiting(job)))
    except Conflict:
        return False
    forget_job(store, job_id)
    return True


def _join(store: Store, job_id: str, request: JobRequest) -> Job | None:
    """Join a job that waits, or runs where that will do; None if it is neither."""

    def join(job: Job) -> Job:
        # In one step with the write: it may begin to run at this very moment.
        will_do = job.state == "running" and request.joins_running
        return job if will_do else joined(_waiting(job), request)

    try:
        return change_job(store, job_id, join)
    except (Conflict, NotIndexed):
        return None


def _waiting(job: Job) -> Job:
    if job.state != "queued":
        raise Conflict(f"job {job.id} is {job.state}")
    return job


def read_job(store: Store, job_id: str) -> Job | None:
    """Return a job, if it is known."""
    document = store.read_document(JOB_PREFIX + job_id)
    return Job.from_json(document.body) if document else None


def list_jobs(store: Store, states: Collection[JobState] | None = None) -> list[Job]:
    """Return the jobs that are known, or those in some states: who runs or goes first comes first."""
    jobs = [Job.from_json(document.body) for document in store.list_documents(JOB_PREFIX)]
    kept = [job for job in jobs if states is None or job.state in states]
    return sorted(kept, key=lambda job: (job.is_finished, job.state != "running", job.priority, job.created_at))


def shown_jobs(store: Store, states: Collection[JobState] | None = None, repo: str | None = None) -> list[Job]:
    """Return the jobs as somebody looks at them: who runs or goes first, then those that ended, the latest first."""
    jobs = [job for job in list_jobs(store, states) if repo is None or job.repo == repo]
    ended = sorted((job for job in jobs if job.is_finished), key=lambda job: job.updated_at, reverse=True)
    return [job for job in jobs if not job.is_finished] + ended


def change_job(store: Store, job_id: str, change: Callable[[Job], Job]) -> Job:
    """Apply a rule of ``jobs.py`` and return the job; NotIndexed if there is none, and what the rule raises."""
    key = JOB_PREFIX + job_id
    while True:
        document = store.read_document(key)
        if document is None:
            raise NotIndexed(f"there is no job '{job_id}'; jobs that ended are kept for a day")
        changed = replace(change(Job.from_json(document.body)), updated_at=now())
        try:
            store.write_document(key, asdict(changed), document.version)
        except Conflict:
            continue
        return changed


def claim(store: Store, job_id: str, holder: str) -> Job | None:
    """Take a job that waits; None if it is gone, taken, or not due yet."""
    try:
        return change_job(store, job_id, lambda job: begun(job, holder, now()))
    except (Conflict, NotIndexed):
        return None


def claim_next(store: Store, holder: str, before: int | None = None, passing_over: Collection[str] = ()) -> Job | None:
    """Take the job that goes first, with ``before`` only one that is more urgent than that; None if there is none.

    A version that somebody is at is left alone until that one ends, and so are repositories to be passed over.
    """
    for job in due_jobs(store):
        goes_first = (before is None or job.priority < before) and job.repo not in passing_over
        if goes_first and (taken := claim(store, job.id, holder)):
            return taken
    return None


def due_jobs(store: Store) -> list[Job]:
    """Return the jobs that somebody could begin now, the most urgent first."""
    jobs = list_jobs(store, UNFINISHED)
    at_work = {(job.repo, job.ref) for job in jobs if job.state == "running"}
    return [job for job in jobs if job.is_due(now()) and (job.repo, job.ref) not in at_work]


def tidy(store: Store, is_lost: Callable[[Job], bool], kept_seconds: float, failed_kept_seconds: float) -> list[Job]:
    """Remove jobs that ended long ago, let those wait again whose holder is known to be lost, and return these."""
    lost = []
    # Read before the jobs: one that is submitted meanwhile is then no pointer to nothing.
    pointers = {document.key: str(document.body["id"]) for document in store.list_documents(WAITING_PREFIX)}
    jobs = list_jobs(store)
    known = {job.id for job in jobs}
    for key in (key for key, job_id in pointers.items() if job_id not in known):
        store.delete_document(key)
    for job in jobs:
        if job.is_finished and _age_seconds(job) > (failed_kept_seconds if job.state == "failed" else kept_seconds):
            forget_job(store, job.id)
        if job.state == "running" and is_lost(job):
            with suppress(Conflict, NotIndexed):
                lost.append(change_job(store, job.id, partial(_lost, seen=job)))
                count_job_lost()
    return lost


def _lost(job: Job, seen: Job) -> Job:
    """Let a job wait again whose holder died: that counts as an attempt, or a job that kills workers would for ever."""
    if job.beats != seen.beats:
        raise Conflict(f"job {job.id} shows signs of life")
    return failed_once(job, seen.holder, "whoever ran it ended without a word", 0.0)


def _age_seconds(job: Job) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(job.updated_at)).total_seconds()


def cancel_jobs_of(store: Store, repo: str) -> None:
    """Cancel what waits or runs to index a repository that is to go, lest it comes back by that."""
    for job in list_jobs(store, UNFINISHED):
        if job.repo == repo and job.kind == "index":
            with suppress(WrongState, NotIndexed):
                change_job(store, job.id, cancelled)


def forget_job(store: Store, job_id: str) -> None:
    """Remove a job."""
    store.delete_document(JOB_PREFIX + job_id)
