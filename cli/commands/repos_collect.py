"""`codequarry repos collect`: expires history beyond the retention limits."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from codequarry.cli.session.session import Json, load, workplace
from codequarry.cli.terminal.console import count, note, safe_line, short, size, write_json, write_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from codequarry.ingest.transaction.retention import HistoryCut
    from codequarry.shared.store.port import DocumentStore, Store


def collect(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A repository; all by default.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would expire and change nothing.")] = False,
    gone: Annotated[bool, typer.Option("--gone", help="Drop working trees whose folders are missing here.")] = False,
    as_json: Json = False,
) -> None:
    """Expire commits beyond the retention limits, and delete their rows.

    Every index run does this for its own repository. Rows are deleted by the next index run or by this command, after
    running searches have had time to finish [retention.grace_seconds].

    Working trees whose folders this machine does not have are listed, and dropped with --gone. If several machines
    share the store, such a folder may be on another machine.
    """
    settings = load(context).settings
    with workplace(settings) as place:
        repos = _named(place.store, name)
        trees = _gone(place.store, repos, settings.indexing.grace_seconds, drop=gone and not dry_run)
        if dry_run:
            from codequarry.ingest.garbage_collection.preview import preview_collection

            found = preview_collection(place.store, settings.retention, repos, place.embedder.dimension)
            body = _body(found.cuts) | {"rows": found.rows, "files": found.files, "bytes": found.bytes}
            said = f"{count(found.rows, 'row')} would be deleted, about {size(found.bytes)}; nothing was changed"
        else:
            from codequarry.ingest.garbage_collection.collector import collect_history
            from codequarry.ingest.garbage_collection.unmasked_rows import finish_unmasked
            from codequarry.ingest.transaction.chores import finish_chores

            done = collect_history(place.store, settings.retention, repos)
            finish_unmasked(place.store)
            # Leftovers from a crash, and timelines that were kept only for commits that have just expired.
            finish_chores(place.store, settings.indexing.grace_seconds)
            body = _body(done.cuts) | {"deleted": done.deleted, "waiting": len(done.waiting)}
            said = f"{count(done.deleted, 'row or record', 'rows and records')} deleted"
            said += _waiting(done.waiting, settings.retention.grace_seconds)
    if as_json:
        write_json({"dry_run": dry_run, **body, "gone": trees, "dropped": gone and not dry_run})
        return
    write_table([(cut["repo"], cut["ref"], short(cut["commit"]), cut["indexed_at"]) for cut in body["commits"]])
    verb = "would expire" if dry_run else "expired"
    note(f"{count(len(body['commits']), 'commit')} {verb}; {said}")
    advice = "--gone would drop it" if not gone else "it would be dropped" if dry_run else "dropped"
    for tree in trees:
        note(f"{safe_line(tree['ref'])} of {safe_line(tree['repo'])}: this machine has no such folder; {advice}")


def _gone(store: "Store", repos: list[str], grace_seconds: float, *, drop: bool) -> list[dict[str, str]]:
    """Return the working trees whose folders this machine does not have; drop them if ``drop``."""
    from codequarry.ingest.garbage_collection.deleted_workspaces import drop_gone_workspaces, gone_workspaces

    found = drop_gone_workspaces(store, repos, grace_seconds) if drop else gone_workspaces(store, repos)
    return [{"repo": repo, "ref": ref.name} for repo, ref in found]


def _named(store: "DocumentStore", name: str | None) -> list[str]:
    from codequarry.shared.catalog.repositories import list_repositories
    from codequarry.shared.errors import NotIndexed

    known = [repository.name for repository in list_repositories(store)]
    if name is None:
        return known
    if name not in known:
        raise NotIndexed(f"'{name}' is not indexed; indexed: {', '.join(known) or 'none'}")
    return [name]


def _body(cuts: "Iterable[HistoryCut]") -> dict[str, Any]:
    expired = [record for cut in cuts for record in cut.given_up]
    return {
        "commits": [
            {"repo": cut.repo, "ref": cut.ref, "commit": cut.commit, "indexed_at": cut.indexed_at} for cut in expired
        ]
    }


def _waiting(timelines: tuple[int, ...], grace_seconds: float) -> str:
    return f"; more can be deleted in {grace_seconds:g} s: run this again, or index anything" if timelines else ""
