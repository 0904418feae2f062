"""`codequarry repos collect`: give up history beyond the limits."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from codequarry.cli.session.session import Json, load, workplace
from codequarry.cli.terminal.console import count, note, safe_line, size, write_json, write_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from codequarry.ingest.transaction.retention import HistoryCut
    from codequarry.shared.store.port import DocumentStore, Store

SHORT_COMMIT = 12


def collect(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A repository; all of them if unset.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be given up, and change nothing.")] = False,
    gone: Annotated[
        bool, typer.Option("--gone", help="Drop also working trees whose folders this machine does not have.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Give up commits that are older than the settings keep.

    Every index run does so for its own repository. Their rows are deleted when running searches have had their time
    [retention.grace_seconds], by the next index run or by this command.

    Working trees whose folders are not on this machine are named, and with --gone dropped; with a store that several
    machines share they may lie on another one.
    """
    settings = load(context).settings
    with workplace(settings) as place:
        repos = _named(place.store, name)
        trees = _gone(place.store, repos, settings.indexing.grace_seconds, drop=gone and not dry_run)
        if dry_run:
            from codequarry.ingest.garbage_collection.preview import preview_collection

            found = preview_collection(place.store, settings.retention, repos, place.embedder.dimension)
            body = _body(found.cuts) | {"rows": found.rows, "files": found.files, "bytes": found.bytes}
            said = f"{count(found.rows, 'row')} would go, about {size(found.bytes)}; nothing was changed"
        else:
            from codequarry.ingest.garbage_collection.collector import collect_history
            from codequarry.ingest.garbage_collection.unmasked_rows import finish_unmasked
            from codequarry.ingest.transaction.chores import finish_chores

            done = collect_history(place.store, settings.retention, repos)
            finish_unmasked(place.store)
            # What a crash left, and timelines that stayed only for what has just been given up.
            finish_chores(place.store, settings.indexing.grace_seconds)
            body = _body(done.cuts) | {"deleted": done.deleted, "waiting": len(done.waiting)}
            said = f"{count(done.deleted, 'row or record', 'rows and records')} deleted"
            said += _waiting(done.waiting, settings.retention.grace_seconds)
    if as_json:
        write_json({"dry_run": dry_run, **body, "gone": trees, "dropped": gone and not dry_run})
        return
    write_table([(one["repo"], one["ref"], one["commit"][:SHORT_COMMIT], one["indexed_at"]) for one in body["commits"]])
    verb = "would give up" if dry_run else "gave up"
    note(f"{verb} {count(len(body['commits']), 'commit')}; {said}")
    advice = "--gone would drop it" if not gone else "it would be dropped" if dry_run else "dropped"
    for one in trees:
        note(f"{safe_line(one['ref'])} of {safe_line(one['repo'])}: this machine has no such folder; {advice}")


def _gone(store: "Store", repos: list[str], grace_seconds: float, *, drop: bool) -> list[dict[str, str]]:
    """Return the working trees whose folders are not there, dropped if that is wanted."""
    from codequarry.ingest.garbage_collection.deleted_workspaces import drop_gone_workspaces, gone_workspaces

    found = drop_gone_workspaces(store, repos, grace_seconds) if drop else gone_workspaces(store, repos)
    return [{"repo": repo, "ref": ref.name} for repo, ref in found]


def _named(store: "DocumentStore", name: str | None) -> list[str]:
    from codequarry.shared.catalog.repositories import list_repositories
    from codequarry.shared.errors import NotIndexed

    known = [one.name for one in list_repositories(store)]
    if name is None:
        return known
    if name not in known:
        raise NotIndexed(f"'{name}' is not indexed; there is {', '.join(known) or 'nothing yet'}")
    return [name]


def _body(cuts: "Iterable[HistoryCut]") -> dict[str, Any]:
    given_up = [record for cut in cuts for record in cut.given_up]
    return {
        "commits": [
            {"repo": one.repo, "ref": one.ref, "commit": one.commit, "indexed_at": one.indexed_at} for one in given_up
        ]
    }


def _waiting(timelines: tuple[int, ...], grace_seconds: float) -> str:
    return f"; the others can go in {grace_seconds:g} s: run this again, or index anything" if timelines else ""
