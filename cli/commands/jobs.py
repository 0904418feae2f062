"""`codequarry jobs`: the jobs that index or remove repositories."""

from typing import TYPE_CHECKING, Annotated

import typer

from codequarry.cli.session.job_execution import tell_workers
from codequarry.cli.session.session import Json, examples, load, workplace
from codequarry.cli.terminal.console import note, safe_line, write, write_answer, write_json, write_table
from codequarry.shared.errors import NotIndexed, UnknownName

if TYPE_CHECKING:
    from collections.abc import Callable

    from codequarry.shared.jobs.job import Job, JobState

DEFAULT_LIMIT = 100

app = typer.Typer(
    help="List, show, retry and cancel the jobs that index or remove repositories.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
JobId = Annotated[str, typer.Argument(metavar="ID", help="Id of a job (codequarry jobs list).")]


@app.command("list", epilog=examples("jobs list", "jobs list --state failed", "jobs list --repo flask --json"))
def list_jobs(
    context: typer.Context,
    state: Annotated[
        list[str] | None,
        typer.Option(metavar="S", help="Only queued, running, done, failed or cancelled jobs (repeatable)."),
    ] = None,
    repo: Annotated[str | None, typer.Option(metavar="NAME", help="Only jobs of this repository.")] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="List at most N jobs.")] = DEFAULT_LIMIT,
    as_json: Json = False,
) -> None:
    """List jobs: running jobs, waiting jobs in order, then ended jobs, latest first.

    --state failed is the dead-letter list. Ended jobs are kept for a day, failed jobs for two weeks.
    """
    from codequarry.shared.jobs.job_list import shown_jobs

    states = [_state(name) for name in state or ()]
    with workplace(load(context).settings) as place:
        jobs = shown_jobs(place.store, states or None, repo)
    if as_json:
        from codequarry.search_api.answers.jobs import job_status
        from codequarry.search_api.answers.json import to_json

        write_json({"jobs": [to_json(job_status(job)) for job in jobs[:limit]], "total": len(jobs)})
        return
    if not jobs:
        note("no jobs")
        return
    write_table([_row(job) for job in jobs[:limit]], right=(4,))
    if len(jobs) > limit:
        note(f"and {len(jobs) - limit:,} more; --limit shows more")


@app.command("show", epilog=examples("jobs show 5f0c…", "jobs show 5f0c… --json"))
def show(context: typer.Context, job_id: JobId, as_json: Json = False) -> None:
    """Show a job and the reason for each failed attempt."""
    from codequarry.shared.jobs.job_list import read_job

    with workplace(load(context).settings) as place:
        job = read_job(place.store, job_id)
    if job is None:
        raise NotIndexed(f"there is no job '{job_id}'; codequarry jobs list shows all jobs")
    if as_json:
        _write(job)
        return
    for name, value in _facts(job):
        if value:
            write(f"{name:<11} {safe_line(value)}")
    for number, reason in enumerate(job.failures, 1):
        write(f"failure {number:<3} {safe_line(reason)}")


@app.command("retry", epilog=examples("jobs retry 5f0c…"))
def retry(context: typer.Context, job_id: JobId, as_json: Json = False) -> None:
    """Queue a failed or cancelled job again."""
    from codequarry.shared.jobs.lifecycle import retried

    _change(context, job_id, retried, as_json)


@app.command("cancel", epilog=examples("jobs cancel 5f0c…"))
def cancel(context: typer.Context, job_id: JobId, as_json: Json = False) -> None:
    """Cancel a job. A waiting job ends at once; a running job publishes nothing and stops within seconds."""
    from codequarry.shared.jobs.lifecycle import cancelled

    _change(context, job_id, cancelled, as_json)


def _change(context: typer.Context, job_id: str, change: "Callable[[Job], Job]", as_json: bool) -> None:
    from codequarry.shared.jobs.job_list import change_job

    with workplace(load(context).settings) as place:
        job = change_job(place.store, job_id, change)
        if job.state == "queued":
            tell_workers([job], place.settings)
    if as_json:
        _write(job)
    else:
        note(f"{job.id}: {'asked to stop' if job.stopping else job.state}")


def _write(job: "Job") -> None:
    from codequarry.search_api.answers.jobs import job_status

    write_answer(job_status(job))


def _state(name: str) -> "JobState":
    from typing import get_args

    from codequarry.shared.jobs.job import JobState

    known: tuple[JobState, ...] = get_args(JobState)
    for state in known:
        if state == name:
            return state
    raise UnknownName("state", name, known)


def _row(job: "Job") -> tuple[object, ...]:
    done = f"{job.percent} %" if job.state == "running" else ""
    return job.id, f"{job.kind} {job.repo}", job.ref, job.state, done, job.updated_at[:19], job.error


def _facts(job: "Job") -> list[tuple[str, str]]:
    return [
        ("job", job.id),
        ("what", f"{job.kind} {job.repo} {job.ref}".rstrip()),
        ("state", f"{job.state}, asked to stop" if job.stopping else job.state),
        ("asked by", f"{job.trigger} {job.requested_by}".rstrip()),
        ("asked at", job.created_at),
        ("changed at", job.updated_at),
        ("progress", f"{job.phase} {job.percent} %" if job.phase else ""),
        ("attempts", str(job.attempts)),
        ("not before", job.not_before if job.state == "queued" else ""),
        ("commit", job.commit),
        ("error", job.error),
    ]
