"""Runs the jobs that a command has just submitted, unless a service or worker will run them."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from codequarry.cli.terminal import progress
from codequarry.cli.terminal.console import count, note, safe_line, short
from codequarry.shared.errors import QueueUnavailable

if TYPE_CHECKING:
    from codequarry.cli.session.session import Workplace
    from codequarry.shared.jobs.job import Job
    from codequarry.shared.settings.config import SettingsModel


def finish(jobs: Sequence["Job"], place: "Workplace", *, detach: bool) -> tuple[list["Job"], bool]:
    """Run jobs one after another; return their new states, and whether all jobs that ran here succeeded.

    Jobs that the service or the workers have claimed are left to them; with ``detach`` or a queue, all jobs are.
    """
    if detach or place.settings.queue.url:
        tell_workers(jobs, place.settings)
        note(f"{count(len(jobs), 'job')} left to the service or the workers; codequarry jobs list shows them")
        return list(jobs), True
    from codequarry.ingest.transaction.holder import has_ended
    from codequarry.shared.jobs.housekeeping import requeue_lost
    from codequarry.shared.telemetry.logs import configure_logs

    configure_logs("error", as_json=False)
    requeue_lost(place.store, lambda job: has_ended(job.holder))
    with progress.shown() as observe:
        done = [_do(job, place, lambda _, shown: observe(shown)) for job in jobs]
    # A job that is waiting with an error counts as failed, because no service may be running to retry it.
    return done, not any(job.state == "failed" or (job.state == "queued" and job.error) for job in done)


def tell_workers(jobs: Sequence["Job"], settings: "SettingsModel") -> None:
    """Announce jobs to the workers if there is a queue; if it is down, ``codequarry beat`` announces them later."""
    if settings.queue.url is None:
        return
    from codequarry.ingest.workers.app import CeleryMessages, make_app

    app, _ = make_app(settings)
    messages = CeleryMessages(app, settings)
    with suppress(QueueUnavailable):
        for job in jobs:
            messages.tell(job)


def _do(job: "Job", place: "Workplace", attend: "Callable[..., None]") -> "Job":
    from codequarry.ingest.request.index_request import Workshop
    from codequarry.ingest.transaction.holder import new_holder, retire_holder
    from codequarry.ingest.workers.job_runner import run_job
    from codequarry.shared.jobs.job_list import claim, read_job

    holder = new_holder()
    try:
        taken = claim(place.store, job.id, holder)
        if taken:
            workshop = Workshop(place.store, place.embedder, place.settings)
            run_job(taken, holder, lambda: workshop, attend)
    finally:
        retire_holder(holder)
    done = read_job(place.store, job.id) or job
    _tell(done)
    return done


def _tell(job: "Job") -> None:
    what = safe_line(f"{job.repo} {job.ref}".rstrip())
    if job.state == "done":
        outcomes = {"remove": "removed", "merge-base": "merge base found", "index": f"indexed at {short(job.commit)}"}
        note(f"{what}: {outcomes[job.kind]}")
    else:
        why = f": {safe_line(job.error)}" if job.error else ""
        later = "; codequarry serve or a worker will retry it" if job.state == "queued" else ""
        note(f"{what}: {job.state}{why}{later}")
