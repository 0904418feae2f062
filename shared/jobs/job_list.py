"""The jobs in the catalog: how they are submitted, claimed, changed and listed. Each change is a compare-and-set.

Waiting and running jobs are under ``JOB_PREFIX``, and a worker that looks for work reads only these. An ended job is
moved to ``ENDED_PREFIX``: it is written there first and then deleted under ``JOB_PREFIX``. While it is in both places,
the document under ``JOB_PREFIX`` counts. A retry moves it back.
"""

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import asdict, replace
from functools import lru_cache
from uuid import uuid4

from codequarry.shared.catalog.documents import write_settled
from codequarry.shared.errors import Conflict, NotIndexed, StoreError, StoreUnavailable, TooManyRequests, WrongState
from codequarry.shared.jobs.job import UNFINISHED, Job, JobKind, JobRequest, JobState, Trigger, new_job
from codequarry.shared.jobs.job_order import Order, levels, next_turn, opposites
from codequarry.shared.jobs.lifecycle import begun, cancelled, joined
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.store.records import Document
from codequarry.shared.timestamps import now

JOB_PREFIX = "job:"
ENDED_PREFIX = "job-ended:"
# Pointers to the waiting job for each version, so that a burst of requests finds and joins it.
WAITING_PREFIX = "job-waiting:"
# Triggers from a key or the owner, which have a quota. Webhooks and polls are as frequent as pushes.
BY_KEY: tuple[Trigger, ...] = ("search", "request")
# Retry-After for a key that has used up its quota: a job takes seconds, so a slot rarely becomes free sooner.
QUOTA_SECONDS = 10.0


def submit(store: DocumentStore, request: JobRequest) -> tuple[Job, bool]:
    """Return the job for a request, and whether the job is new.

    A request joins a job that is still waiting for the same version. A running job may have read the origin before the
    newest commit arrived, so another job follows it. A burst of requests therefore causes at most two runs.
    """
    key = _waiting_key(request.kind, request.repo, request.ref)
    while True:
        pointer = store.read_document(key)
        if pointer and (job := _join(store, str(pointer.body.get("id")), request)):
            return job, False
        job = new_job(uuid4().hex, request)
        # The job is written first: it also runs without its pointer; the next request then creates another job.
        write_settled(store, JOB_PREFIX + job.id, asdict(job), None)
        try:
            write_settled(store, key, {"id": job.id}, pointer.version if pointer else None)
        except Conflict:
            if _withdrawn(store, job.id):
                continue  # another process submitted a job at the same time: join that job
        return job, True


def submit_within(
    store: DocumentStore, request: JobRequest, most: int, most_of_key: int | None = None
) -> tuple[Job, bool]:
    """Submit in the principal's turn; raise StoreUnavailable if ``most`` jobs at least as urgent are already waiting.

    Raise TooManyRequests if ``most_of_key`` jobs of the same key are already waiting. A request that joins a job is
    always accepted, and so is a push while a whole organisation is waiting to be imported.
    """
    unfinished = list_jobs(store, UNFINISHED)
    waiting = [job for job in unfinished if job.state == "queued"]
    if not any((job.kind, job.repo, job.ref) == (request.kind, request.repo, request.ref) for job in waiting):
        _check_quota(waiting, request, most_of_key)
        if sum(job.priority <= request.priority for job in waiting) >= most:
            raise StoreUnavailable(f"{most} jobs that are at least as urgent are already waiting; try again later")
    return submit(store, replace(request, turn=next_turn(unfinished, request)))


def _check_quota(waiting: Collection[Job], request: JobRequest, most: int | None) -> None:
    if most is None or request.trigger not in BY_KEY:
        return
    if sum(job.principal == request.principal and job.trigger in BY_KEY for job in waiting) >= most:
        raise TooManyRequests(
            f"{most} jobs of this key are already waiting, the limit set by [limits] jobs_waiting_per_key; try again "
            "when some are done",
            QUOTA_SECONDS,
        )


def _withdrawn(store: DocumentStore, job_id: str) -> bool:
    try:
        change_job(store, job_id, lambda job: cancelled(_waiting(job)))
    except Conflict:
        return False
    store.delete_document(ENDED_PREFIX + job_id)
    return True


def _waiting_key(kind: JobKind, repo: str, ref: str) -> str:
    return f"{WAITING_PREFIX}{kind}\n{repo}\n{ref}"


def _join(store: DocumentStore, job_id: str, request: JobRequest) -> Job | None:
    """Join a waiting or suitable running job and return it, or None if none exists or a later job undoes it."""
    opposite = _opposite(store, request)

    def join(job: Job) -> Job:
        if job.repo_id and request.repo_id and job.repo_id != request.repo_id:
            raise Conflict(f"job {job.id} is for a different repository that had this name before")
        if opposite > job.created_at:
            raise Conflict(f"job {job.id} was submitted before a job that undoes it")
        # Checked in one step with the write, because the job may begin at any moment.
        will_do = job.state == "running" and (request.joins_running or _wants_same(job, request))
        return job if will_do else joined(_waiting(job), request)

    try:
        return change_job(store, job_id, join)
    except (Conflict, NotIndexed):
        return None


def _wants_same(job: Job, request: JobRequest) -> bool:
    """Return whether a search needs the commit for which a job was submitted, because the job then fetches it.

    A push is different: the same commit may be pushed twice, with another in between that the job has fetched.
    """
    return request.trigger == "search" and bool(request.commit) and request.commit == job.wanted_commit


def _opposite(store: DocumentStore, request: JobRequest) -> str:
    """Return when the last unfinished job that undoes this request was submitted, or "" if there is none."""
    keys = {_waiting_key(kind, repo, ref) for kind, repo, ref in opposites(request)}
    pointers = [pointer for key in keys if (pointer := store.read_document(key))]
    jobs = [read_job(store, str(pointer.body.get("id"))) for pointer in pointers]
    return max((job.created_at for job in jobs if job and not job.is_finished), default="")


def _waiting(job: Job) -> Job:
    if job.state != "queued":
        raise Conflict(f"job {job.id} is {job.state}")
    return job


def read_job(store: DocumentStore, job_id: str) -> Job | None:
    """Return a job, or None if it does not exist."""
    document = _find(store, job_id)
    return job_in(document) if document else None


def job_in(document: Document) -> Job | None:
    """Return the job in a document, or log a warning and return None if the document is foreign or damaged."""
    try:
        return Job.from_json(document.body)
    except ValueError as error:
        _tell_damaged(document.key, str(error))
        return None


@lru_cache(maxsize=1000)
def _tell_damaged(key: str, reason: str) -> None:
    """Log only once that a document is not a job, because it is read every few seconds."""
    # Imported here because a search reads jobs too, and importing the logs takes longer than a search.
    from codequarry.shared.telemetry.logs import logger

    log = logger("codequarry.jobs")
    log.warning("a document of the catalog is no job, and is left alone", key=key, reason=reason)


def _find(store: DocumentStore, job_id: str) -> Document | None:
    """Return a job's document under either prefix; a retry may move it back between the first two reads."""
    keys = (JOB_PREFIX + job_id, ENDED_PREFIX + job_id, JOB_PREFIX + job_id)
    return next((document for key in keys if (document := store.read_document(key))), None)


def list_jobs(store: DocumentStore, states: Collection[JobState] | None = None) -> list[Job]:
    """Return all jobs, or the jobs in ``states``: running jobs, then waiting jobs in order, then ended jobs."""
    documents = store.list_documents(JOB_PREFIX)
    # Nearly all jobs have ended, so ended jobs are read only if they are requested.
    if states is None or not set(states).issubset(UNFINISHED):
        documents = [*store.list_documents(ENDED_PREFIX), *documents]
    # If a job has two documents, the document under JOB_PREFIX is read last and counts.
    known = {job.id: job for document in documents if (job := job_in(document))}
    jobs = [job for job in known.values() if states is None or job.state in states]
    level = levels([job for job in jobs if not job.is_finished])
    return sorted(
        jobs,
        key=lambda job: (job.is_finished, job.state != "running", level.get(job.id, 0), job.turn, job.created_at),
    )


def shown_jobs(store: DocumentStore, states: Collection[JobState] | None = None, repo: str | None = None) -> list[Job]:
    """Return the jobs for display: running jobs, waiting jobs in order, then ended jobs, latest first."""
    jobs = [job for job in list_jobs(store, states) if repo is None or job.repo == repo]
    ended = sorted((job for job in jobs if job.is_finished), key=lambda job: (job.updated_at, job.id), reverse=True)
    return [job for job in jobs if not job.is_finished] + ended


def unknown_job(job_id: str) -> NotIndexed:
    """Return the error for a job that does not exist or no longer exists."""
    return NotIndexed(f"there is no job '{job_id}'; ended jobs are kept for a day, failed jobs for two weeks")


def change_job(store: DocumentStore, job_id: str, change: Callable[[Job], Job]) -> Job:
    """Apply a ``lifecycle.py`` transition and return the job; raise NotIndexed, or IndexMoved if the index moved."""
    while True:
        document = _find(store, job_id)
        known = job_in(document) if document else None
        if document is None or known is None:
            raise unknown_job(job_id)
        changed = replace(change(known), updated_at=now())
        is_away = document.key.startswith(ENDED_PREFIX)
        try:
            written = write_settled(store, JOB_PREFIX + job_id, asdict(changed), None if is_away else document.version)
        except Conflict:
            continue
        with suppress(StoreError):  # the change is written; housekeeping does the rest
            if changed.is_finished:
                put_away(store, written)
            elif is_away:
                store.delete_document(document.key, document.version)
        return changed


def put_away(store: DocumentStore, document: Document) -> None:
    """Archive an ended job under ENDED_PREFIX, where workers do not look, unless it has been retried since."""
    key = ENDED_PREFIX + document.key.removeprefix(JOB_PREFIX)
    ended = store.read_document(key)
    newest = store.read_document(document.key)
    if newest is None or newest.version != document.version:
        return
    with suppress(Conflict):  # another process is moving it
        if ended is None or ended.body != document.body:
            store.write_document(key, document.body, ended.version if ended else None)
        store.delete_document(document.key, document.version)


def claim(store: DocumentStore, job_id: str, holder: str) -> Job | None:
    """Claim and return a waiting job, or return None if it is gone, taken or not due yet."""
    try:
        return change_job(store, job_id, lambda job: begun(job, holder, now()))
    except (Conflict, NotIndexed):
        return None


def claim_next(
    store: DocumentStore, holder: str, before: int | None = None, passing_over: Collection[str] = ()
) -> Job | None:
    """Claim and return the first job in order, or None; with ``before``, only a job that is more urgent than that.

    A version with a running job is skipped, and so are the repositories in ``passing_over``. The urgency of a job
    depends on how many jobs of the same principal are waiting.
    """
    unfinished = list_jobs(store, UNFINISHED)
    level = levels(unfinished)
    for job in _due(unfinished):
        goes_first = (before is None or level[job.id] < before) and job.repo not in passing_over
        if goes_first and (taken := claim(store, job.id, holder)):
            return taken
    return None


def due_jobs(store: DocumentStore) -> list[Job]:
    """Return the jobs that can begin now, the most urgent first."""
    return _due(list_jobs(store, UNFINISHED))


def _due(jobs: list[Job]) -> list[Job]:
    order, moment = Order(jobs), now()
    return [job for job in jobs if job.is_due(moment) and not order.must_wait(job)]


def cancel_jobs_of(store: DocumentStore, repo: str) -> list[Job]:
    """Cancel and return the other jobs of a repository, so that no job brings it back after its removal."""
    cancelled_jobs = []
    for job in list_jobs(store, UNFINISHED):
        if job.repo == repo and job.kind != "remove":
            with suppress(WrongState, NotIndexed):
                cancelled_jobs.append(change_job(store, job.id, cancelled))
    return cancelled_jobs
