"""`codequarry sync`: makes the index match the settings."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from codequarry.cli.session.session import Json, load, workplace
from codequarry.cli.terminal.console import count, note, short, write, write_json, write_table
from codequarry.cli.terminal.failures import FAILED

if TYPE_CHECKING:
    from codequarry.cli.session.session import Workplace
    from codequarry.ingest.remotes.sync import Action, SyncPlan
    from codequarry.shared.jobs.job import Job

Detach = Annotated[
    bool, typer.Option("--detach", help="Only submit the jobs; a running codequarry serve or the workers run them.")
]


def sync(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done and change nothing.")] = False,
    prune: Annotated[bool, typer.Option("--prune", help="Remove what the settings do not name.")] = False,
    detach: Detach = False,
    as_json: Json = False,
) -> None:
    """Make the index match [[repositories]] and [[repository_groups]].

    Adds repositories, indexes changes to their default branches and to the branches and tags in `refs`, renames
    repositories, and with --prune removes them. Contacts every origin once. Origins and groups that do not answer are
    reported at the end (exit 1). While a group cannot be listed, no repository is removed.
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
    """Rename at once and run the other actions as jobs; return the jobs, and whether all succeeded."""
    from codequarry.cli.session.job_execution import finish
    from codequarry.ingest.remotes.sync import submit_action
    from codequarry.ingest.request.index_request import Workshop
    from codequarry.ingest.run.rename import rename_repository

    for action in plan.actions:
        if action.action == "rename":
            workshop = Workshop(place.store, place.embedder, place.settings)
            rename_repository(action.repo, action.new_name, workshop)
    submitted = {step: submit_action(place.store, step) for step in plan.actions if step.action != "rename"}
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
        "problems": [{"where": problem.where, "detail": problem.detail} for problem in plan.problems],
    }


def _show(plan: "SyncPlan", dry_run: bool) -> None:
    if dry_run:
        write_table([(step.action, step.repo, step.new_name or step.ref, short(step.commit)) for step in plan.actions])
    for problem in plan.problems:
        note(f"{problem.where}: {problem.detail}")
    if not plan.actions and not plan.problems:
        note("the index already matches the settings")
    elif dry_run:
        write(f"{count(len(plan.actions), 'step')}; nothing was changed")
