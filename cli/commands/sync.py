"""`codequarry sync`: the index is brought to what the settings name."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from codequarry.cli.session.session import Json, load, workplace
from codequarry.cli.terminal.console import count, note, write, write_json, write_table
from codequarry.cli.terminal.failures import FAILED

if TYPE_CHECKING:
    from codequarry.cli.session.session import Workplace
    from codequarry.ingest.remotes.sync import Action, SyncPlan
    from codequarry.shared.jobs.job import Job

Detach = Annotated[
    bool, typer.Option("--detach", help="Only ask: a running codequarry serve, or the workers, do the jobs.")
]


def sync(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and change nothing.")] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove repositories and versions that the settings do not name.")
    ] = False,
    detach: Detach = False,
    as_json: Json = False,
) -> None:
    """Bring the index to what [[repositories]] and [[repository_groups]] name.

    Adds repositories, indexes what has changed of their default branches and of the branches and tags that
    `refs` names, renames, and with --prune removes. Asks every origin once. An origin or group that does not
    answer is told at the end (exit 1); while a group can't be listed no repository is removed.
    """
    settings = load(context).settings
    with workplace(settings, writing=not dry_run, migrating=not dry_run) as place:
        from codequarry.ingest.remotes.sync import plan_sync

        plan = plan_sync(place.store, settings, prune=prune)
        jobs, went_well = ({}, True) if dry_run else _carry_out(plan, place, detach)
    if as_json:
        write_json(_body(plan, jobs, dry_run))
    else:
        _show(plan, dry_run)
    if plan.problems or not went_well:
        raise typer.Exit(FAILED)


def _carry_out(plan: "SyncPlan", place: "Workplace", detach: bool) -> "tuple[dict[Action, Job], bool]":
    """Rename at once, and have all else done by jobs; tell whether all went well."""
    from codequarry.cli.session.job_execution import finish
    from codequarry.ingest.remotes.sync import submit_action
    from codequarry.ingest.request.index_request import Workshop
    from codequarry.ingest.run.rename import rename_repository

    for action in plan.actions:
        if action.action == "rename":
            workshop = Workshop(place.store, place.embedder, place.settings)
            rename_repository(action.repo, action.new_name, workshop)
    submitted = {one: submit_action(place.store, one) for one in plan.actions if one.action != "rename"}
    if not submitted:
        return {}, True
    finished, went_well = finish(list(submitted.values()), place, detach=detach)
    done = {job.id: job for job in finished}
    return {action: done[job.id] for action, job in submitted.items()}, went_well


def _body(plan: "SyncPlan", jobs: "dict[Action, Job]", dry_run: bool) -> dict[str, Any]:
    def shown(action: "Action") -> dict[str, Any]:
        job = jobs.get(action)
        return action.to_json() | {"job_id": job.id if job else None, "state": job.state if job else None}

    return {
        "dry_run": dry_run,
        "actions": [shown(action) for action in plan.actions],
        "problems": [{"where": one.where, "detail": one.detail} for one in plan.problems],
    }


def _show(plan: "SyncPlan", dry_run: bool) -> None:
    if dry_run:
        write_table([(one.action, one.repo, one.new_name or one.ref, one.commit[:12]) for one in plan.actions])
    for one in plan.problems:
        note(f"{one.where}: {one.detail}")
    if not plan.actions and not plan.problems:
        note("the index holds what the settings name")
    elif dry_run:
        write(f"{count(len(plan.actions), 'step')}; nothing was changed")
