"""`codequarry status`: store, model, repositories, disk, running imports and migrations."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from codequarry.cli.session.session import Json, load, workplace
from codequarry.cli.terminal.console import count, safe_line, size, write, write_json

if TYPE_CHECKING:
    from codequarry.cli.session.session import Workplace
    from codequarry.shared.settings.config import SettingsModel


def status(context: typer.Context, as_json: Json = False) -> None:
    """Show store, model, repositories, disk, and running imports and migrations."""
    with workplace(load(context).settings) as place:
        body = _status(place)
    if as_json:
        write_json(body)
        return
    write(f"store         {body['store']['kind']}, {safe_line(body['store']['place'])}")
    write(f"model         {body['model']['name']}, {body['model']['dimension']} dimensions")
    for reason in body["degraded"]:
        write(f"degraded      {safe_line(reason)}")
    total = f"{count(body['files'], 'file')}, {count(body['chunks'], 'chunk')}"
    write(f"repositories  {len(body['repos'])}: {total}" if body["repos"] else "repositories  none")
    write(f"disk          {size(body['disk']['used'])} in {safe_line(body['home'])}, {size(body['disk']['free'])} free")
    for repo in body["unmasked"]:
        write(f"unmasked      {safe_line(repo)}: some secrets are not masked (codequarry doctor)")
    for run in body["imports"]:
        done = f"{run['files_done']:,} of {run['files_total']:,} files"
        version = safe_line(" ".join(filter(None, (run["repo"], run["ref"]))))
        write(f"import        {version}: {run['phase']}, {run['percent']} %, {done}, as of {run['updated_at']}")
    for run in body["migrations"]:
        state = run["phase"] if run["running"] else "stopped"
        write(f"migration     to {run['model']}: {state}, {run['percent']} %, as of {run['updated_at']}")


def _status(place: "Workplace") -> dict[str, Any]:
    from dataclasses import asdict
    from shutil import disk_usage

    from codequarry.ingest.garbage_collection.unmasked_rows import repositories_with_unmasked
    from codequarry.search_api.answers.json import to_json
    from codequarry.search_api.answers.repositories import Repositories
    from codequarry.search_api.versions.catalog import Catalog
    from codequarry.search_api.versions.local_heads import LocalHeads
    from codequarry.search_api.versions.repositories import describe
    from codequarry.shared.catalog.repositories import list_progress
    from codequarry.shared.versions.refs import Ref

    settings = place.settings
    repos = describe(Catalog(place.store, local_heads=LocalHeads(place.settings)))
    where = ", ".join(settings.opensearch.urls) if settings.store == "opensearch" else str(settings.home)
    return {
        "home": str(settings.home),
        "store": {"kind": settings.store, "place": where},
        "model": {"name": place.embedder.name, "dimension": place.embedder.dimension},
        "degraded": list(place.degraded),
        "repos": to_json(Repositories(repos))["repos"],
        "files": sum(repo.files or 0 for repo in repos),
        "chunks": sum(repo.chunks or 0 for repo in repos),
        "disk": {"used": _used(settings.home), "free": disk_usage(_existing(settings.home)).free},
        "imports": [
            asdict(run) | {"ref": Ref.of_key(run.ref).name if run.ref else "", "percent": run.percent}
            for run in list_progress(place.store)
        ],
        "migrations": _migrations(settings),
        "unmasked": repositories_with_unmasked(place.store),
    }


def _migrations(settings: "SettingsModel") -> list[dict[str, Any]]:
    from contextlib import closing

    from codequarry.ingest.migration.note import unfinished_migrations
    from codequarry.shared.store.factory import editions_of

    with closing(editions_of(settings)) as editions:
        return [
            {
                "model": migration.note.setting,
                "phase": migration.note.phase,
                "percent": migration.note.percent,
                "running": migration.is_running,
                "updated_at": migration.note.updated_at,
            }
            for migration in unfinished_migrations(editions)
        ]


def _existing(folder: Path) -> Path:
    return next(place for place in (folder, *folder.parents) if place.exists())


def _used(folder: Path) -> int:
    """Return the bytes that a folder's files take on disk; files that vanish during the count are ignored."""
    total = 0
    for path in folder.rglob("*"):
        try:
            found = path.lstat()
        except FileNotFoundError:
            continue
        # A sparse file (a vector file grows ahead of its use) takes less than its length.
        total += found.st_blocks * 512
    return total
