"""Housekeeping of the job list: requeues lost jobs and deletes jobs that ended long ago."""

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

# Ended jobs are kept for late status requests; failed jobs are kept longer, for diagnosis.
KEPT_SECONDS = 24 * 3600
FAILED_KEPT_SECONDS = 14 * 24 * 3600
# Listing reads all jobs, about a kilobyte each. Beyond this number, the oldest jobs are deleted sooner.
MOST_KEPT = 10_000


def requeue_lost(store: DocumentStore, is_lost: Callable[[Job], bool]) -> list[Job]:
    """Requeue and return the jobs whose holder is lost; also archive ended jobs and delete stale pointers."""
    lost = []
    # Pointers are read before jobs, so that the pointer of a job submitted in between does not look stale.
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
    """Delete jobs that ended long ago, and the oldest jobs beyond MOST_KEPT."""
    documents = store.list_documents(ENDED_PREFIX)
    ended = [(job, document) for document in documents if (job := job_in(document))]
    ended.sort(key=lambda entry: entry[0].updated_at, reverse=True)
    for place, (job, document) in enumerate(ended):
        is_old = seconds_since(job.updated_at) > (failed_kept_seconds if job.state == "failed" else kept_seconds)
        if is_old or place >= MOST_KEPT:
            with suppress(Conflict):
                store.delete_document(document.key, document.version)


def _lost(job: Job, seen: Job) -> Job:
    """Requeue a lost job. This counts as an attempt; otherwise a job that kills its workers would run forever."""
    if job.beats != seen.beats:
        raise Conflict(f"job {job.id} has sent a heartbeat")
    return failed_once(job, seen.holder, "the process that ran the job was lost", 0.0)
