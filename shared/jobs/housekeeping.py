"""Looking after the list of jobs: those that were lost wait again, and those that ended long ago are forgotten."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from codequarry.shared.errors import Conflict, NotIndexed
from codequarry.shared.jobs.job import Job
from codequarry.shared.jobs.job_list import ENDED_PREFIX, JOB_PREFIX, WAITING_PREFIX, change_job, job_in, put_away
from codequarry.shared.jobs.lifecycle import failed_once
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.telemetry.metrics import count_job_lost
from codequarry.shared.timestamps import seconds_since

# Ended jobs are kept for whoever asks late; those that failed, for whoever looks into them.
KEPT_SECONDS = 24 * 3600
FAILED_KEPT_SECONDS = 14 * 24 * 3600
# Whoever lists jobs reads all of them, at about a kilobyte each: of more the oldest are forgotten sooner.
MOST_KEPT = 10_000


def requeue_lost(store: DocumentStore, is_lost: Callable[[Job], bool]) -> list[Job]:
    """Let the jobs wait again whose holder is known to be lost, and return these; put away what was left behind."""
    lost = []
    # Read before the jobs: one that is submitted meanwhile is then no pointer to nothing.
    pointers = store.list_documents(WAITING_PREFIX)
    documents = store.list_documents(JOB_PREFIX)
    jobs = [(job, document) for document in documents if (job := job_in(document))]
    known = {job.id for job, _ in jobs if not job.is_finished}
    for pointer in pointers:
        if pointer.body.get("id") not in known:
            with suppress(Conflict):
                store.delete_document(pointer.key, pointer.version)
    for job, document in jobs:
        if job.is_finished:
            put_away(store, document)
        if job.state == "running" and is_lost(job):
            with suppress(Conflict, NotIndexed):
                lost.append(change_job(store, job.id, partial(_lost, seen=job)))
                count_job_lost()
    return lost


def forget_old(store: DocumentStore, kept_seconds: float, failed_kept_seconds: float) -> None:
    """Remove jobs that ended long ago, and the oldest of too many."""
    documents = store.list_documents(ENDED_PREFIX)
    ended = [(job, document) for document in documents if (job := job_in(document))]
    ended.sort(key=lambda one: one[0].updated_at, reverse=True)
    for place, (job, document) in enumerate(ended):
        is_old = seconds_since(job.updated_at) > (failed_kept_seconds if job.state == "failed" else kept_seconds)
        if is_old or place >= MOST_KEPT:
            with suppress(Conflict):
                store.delete_document(document.key, document.version)


def _lost(job: Job, seen: Job) -> Job:
    """Let a job wait again whose holder died: that counts as an attempt, or a job that kills workers would for ever."""
    if job.beats != seen.beats:
        raise Conflict(f"job {job.id} shows signs of life")
    return failed_once(job, seen.holder, "whoever ran it ended without a word", 0.0)
