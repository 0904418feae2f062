"""The jobs in the catalog: asking, taking, telling how far, ending; each change by compare-and-set.

What waits or runs is under ``JOB_PREFIX``, and whoever looks for work reads that alone. A job that ended is put away
under ``ENDED_PREFIX``: written there first and deleted here after that, so that it is always in one place or in both,
where the first one counts. Trying it again is the way back.
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
# Which job still waits for a version: requests that come in a burst find it here and join it.
WAITING_PREFIX = "job-waiting:"
# Who asks so does it with a key, or is the owner; the number of webhooks and polls is that of the pushes.
BY_KEY: tuple[Trigger, ...] = ("search", "request")
# A job takes seconds: sooner there is hardly room for another one.
QUOTA_SECONDS = 10.0


def submit(store: DocumentStore, request: JobRequest) -> tuple[Job, bool]:
    """Return the job that will do what is asked for, and whether it is a new one.

    A request joins the job that still waits for the same version; one that runs may have read the origin before the
    newest commit was there, so it gets a successor. A burst therefore makes at most two runs.
    """
    key = _waiting_key(request.kind, request.repo, request.ref)
    while True:
        pointer = store.read_document(key)
        if pointer and (job := _join(store, str(pointer.body.get("id")), request)):
            return job, False
        job = new_job(uuid4().hex, request)
        # The job comes first: without its pointer it runs too, and the next request makes another.
        write_settled(store, JOB_PREFIX + job.id, asdict(job), None)
        try:
            write_settled(store, key, {"id": job.id}, pointer.version if pointer else None)
        except Conflict:
            if _withdrawn(store, job.id):
                continue  # somebody else asked at the same moment: join that job
        return job, True


def submit_within(
    store: DocumentStore, request: JobRequest, most: int, most_of_key: int | None = None
) -> tuple[Job, bool]:
    """Do as ``submit``, in the principal's turn; StoreUnavailable where ``most`` jobs as urgent wait already.

    TooManyRequests where ``most_of_key`` jobs wait because of the same key. A request that joins a job is always taken,
    and so is a push although a whole organisation is waiting to be imported.
    """
    unfinished = list_jobs(store, UNFINISHED)
    waiting = [job for job in unfinished if job.state == "queued"]
    if not any((job.kind, job.repo, job.ref) == (request.kind, request.repo, request.ref) for job in waiting):
        _check_quota(waiting, request, most_of_key)
        if sum(job.priority <= request.priority for job in waiting) >= most:
            raise StoreUnavailable(f"{most} jobs that are as urgent are waiting already; ask again later")
    return submit(store, replace(request, turn=next_turn(unfinished, request)))


def _check_quota(waiting: Collection[Job], request: JobRequest, most: int | None) -> None:
    """Raise TooManyRequests where a key has had enough jobs asked for that wait still."""
    if most is None or request.trigger not in BY_KEY:
        return
    if sum(job.principal == request.principal and job.trigger in BY_KEY for job in waiting) >= most:
        raise TooManyRequests(
            f"{most} jobs that this key asked for are waiting already, as many as [limits] jobs_waiting_per_key "
            "allows; ask again when some are done",
            QUOTA_SECONDS,
        )


def _withdrawn(store: DocumentStore, job_id: str) -> bool:
    """Remove a job that nobody has begun yet; False if somebody has."""
    try:
        change_job(store, job_id, lambda job: cancelled(_waiting(job)))
    except Conflict:
        return False
    store.delete_document(ENDED_PREFIX + job_id)
    return True


def _waiting_key(kind: JobKind, repo: str, ref: str) -> str:
    return f"{WAITING_PREFIX}{kind}\n{repo}\n{ref}"


def _join(store: DocumentStore, job_id: str, request: JobRequest) -> Job | None:
    """Join a job that waits, or runs where that will do; None if it is neither, or the opposite was asked for since."""
    opposite = _opposite(store, request)

    def join(job: Job) -> Job:
        if job.repo_id and request.repo_id and job.repo_id != request.repo_id:
            raise Conflict(f"job {job.id} is for a repository that had this name before")
        if opposite > job.created_at:
            raise Conflict(f"job {job.id} comes before a job of the other kind")
        # In one step with the write: it may begin to run at this very moment.
        will_do = job.state == "running" and request.joins_running
        return job if will_do else joined(_waiting(job), request)

    try:
        return change_job(store, job_id, join)
    except (Conflict, NotIndexed):
        return None


def _opposite(store: DocumentStore, request: JobRequest) -> str:
    """Return when somebody asked last for the opposite of a request, in a job that waits or runs; "" for never."""
    keys = {_waiting_key(kind, repo, ref) for kind, repo, ref in opposites(request)}
    pointers = [pointer for key in keys if (pointer := store.read_document(key))]
    jobs = [read_job(store, str(pointer.body.get("id"))) for pointer in pointers]
    return max((job.created_at for job in jobs if job and not job.is_finished), default="")


def _waiting(job: Job) -> Job:
    if job.state != "queued":
        raise Conflict(f"job {job.id} is {job.state}")
    return job


def read_job(store: DocumentStore, job_id: str) -> Job | None:
    """Return a job, if it is known."""
    document = _find(store, job_id)
    return job_in(document) if document else None


def job_in(document: Document) -> Job | None:
    """Return the job in a document; None, with a line in the log, where somebody else wrote it or it is damaged."""
    try:
        return Job.from_json(document.body)
    except ValueError as error:
        _tell_damaged(document.key, str(error))
        return None


@lru_cache(maxsize=1000)
def _tell_damaged(key: str, reason: str) -> None:
    """Say once that a document is none of a job: it is met every few seconds."""
    # Loaded here: a search reads jobs too, and loading the logs takes longer than a search.
    from codequarry.shared.telemetry.logs import logger

    log = logger("codequarry.jobs")
    log.warning("a document of the catalog is no job, and is left alone", key=key, reason=reason)


def _find(store: DocumentStore, job_id: str) -> Document | None:
    """Return the document of a job, wherever it is; between the two looks it may have been tried again."""
    keys = (JOB_PREFIX + job_id, ENDED_PREFIX + job_id, JOB_PREFIX + job_id)
    return next((document for key in keys if (document := store.read_document(key))), None)


def list_jobs(store: DocumentStore, states: Collection[JobState] | None = None) -> list[Job]:
    """Return the jobs that are known, or those in some states: who runs or goes first comes first.

    Of many jobs nearly all have ended; who asks for others alone does not read those.
    """
    documents = store.list_documents(JOB_PREFIX)
    if states is None or not set(states).issubset(UNFINISHED):
        documents = [*store.list_documents(ENDED_PREFIX), *documents]
    # Of two documents of one job, the one that still waits or runs, or has ended last, is read last.
    known = {job.id: job for document in documents if (job := job_in(document))}
    jobs = [job for job in known.values() if states is None or job.state in states]
    level = levels([job for job in jobs if not job.is_finished])
    return sorted(
        jobs,
        key=lambda job: (job.is_finished, job.state != "running", level.get(job.id, 0), job.turn, job.created_at),
    )


def shown_jobs(store: DocumentStore, states: Collection[JobState] | None = None, repo: str | None = None) -> list[Job]:
    """Return the jobs as somebody looks at them: who runs or goes first, then those that ended, the latest first."""
    jobs = [job for job in list_jobs(store, states) if repo is None or job.repo == repo]
    ended = sorted((job for job in jobs if job.is_finished), key=lambda job: (job.updated_at, job.id), reverse=True)
    return [job for job in jobs if not job.is_finished] + ended


def change_job(store: DocumentStore, job_id: str, change: Callable[[Job], Job]) -> Job:
    """Apply a rule of ``lifecycle.py`` and return the job; NotIndexed if there is none, and what the rule raises.

    IndexMoved where the index went on in another edition meanwhile.
    """
    while True:
        document = _find(store, job_id)
        known = job_in(document) if document else None
        if document is None or known is None:
            raise NotIndexed(f"there is no job '{job_id}'; jobs that ended are kept for a day")
        changed = replace(change(known), updated_at=now())
        is_away = document.key.startswith(ENDED_PREFIX)
        try:
            written = write_settled(store, JOB_PREFIX + job_id, asdict(changed), None if is_away else document.version)
        except Conflict:
            continue
        with suppress(StoreError):  # it is changed already; whoever tidies up finds the rest
            if changed.is_finished:
                put_away(store, written)
            elif is_away:
                store.delete_document(document.key, document.version)
        return changed


def put_away(store: DocumentStore, document: Document) -> None:
    """Move a job that ended out of the way of those who look for work, unless it was tried again meanwhile."""
    key = ENDED_PREFIX + document.key.removeprefix(JOB_PREFIX)
    ended = store.read_document(key)
    newest = store.read_document(document.key)
    if newest is None or newest.version != document.version:
        return
    with suppress(Conflict):  # somebody else is at it
        if ended is None or ended.body != document.body:
            store.write_document(key, document.body, ended.version if ended else None)
        store.delete_document(document.key, document.version)


def claim(store: DocumentStore, job_id: str, holder: str) -> Job | None:
    """Take a job that waits; None if it is gone, taken, or not due yet."""
    try:
        return change_job(store, job_id, lambda job: begun(job, holder, now()))
    except (Conflict, NotIndexed):
        return None


def claim_next(
    store: DocumentStore, holder: str, before: int | None = None, passing_over: Collection[str] = ()
) -> Job | None:
    """Take the job that goes first, with ``before`` only one that is more urgent than that; None if there is none.

    A version that somebody is at is left alone until that one ends, and so are repositories to be passed over. How
    urgent a job is depends on how many others wait because of the same principal.
    """
    unfinished = list_jobs(store, UNFINISHED)
    level = levels(unfinished)
    for job in _due(unfinished):
        goes_first = (before is None or level[job.id] < before) and job.repo not in passing_over
        if goes_first and (taken := claim(store, job.id, holder)):
            return taken
    return None


def due_jobs(store: DocumentStore) -> list[Job]:
    """Return the jobs that somebody could begin now, the most urgent first."""
    return _due(list_jobs(store, UNFINISHED))


def _due(jobs: list[Job]) -> list[Job]:
    order, moment = Order(jobs), now()
    return [job for job in jobs if job.is_due(moment) and not order.must_wait(job)]


def cancel_jobs_of(store: DocumentStore, repo: str) -> list[Job]:
    """Cancel what waits or runs to index a repository that is to go, lest it comes back by that; return these jobs."""
    cancelled_jobs = []
    for job in list_jobs(store, UNFINISHED):
        if job.repo == repo and job.kind == "index":
            with suppress(WrongState, NotIndexed):
                cancelled_jobs.append(change_job(store, job.id, cancelled))
    return cancelled_jobs
