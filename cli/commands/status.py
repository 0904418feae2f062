"""`codequarry status`: store, model, repositories, disk and running imports at a glance."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from codequarry.cli.session.session import Json, load, workplace
from codequarry.cli.terminal.console import count, safe_line, size, write, write_json

if TYPE_CHECKING:
    from codequarry.cli.session.session import Workplace
    from codequarry.shared.settings.config import SettingsModel


def status(context: typer.Context, as_json: Json = False) -> None:
    """Show store, model, disk, running imports and migrations."""
    with workplace(load(context).settings) as place:
        body = _status(place)
    if as_json:
        write_json(body)
        return
    write(f"store         {body['store']['kind']}, {safe_line(body['store']['place'])}")
    write(f"model         {body['model']['name']}, {body['model']['dimension']} dimensions")
    for one in body["degraded"]:
        write(f"degraded      {safe_line(one)}")
    total = f"{count(body['files'], 'file')}, {count(body['chunks'], 'chunk')}"
    write(f"repositories  {len(body['repos'])}: {total}" if body["repos"] else "repositories  none")
    write(f"disk          {size(body['disk']['used'])} in {safe_line(body['home'])}, {size(body['disk']['free'])} free")
    for one in body["unmasked"]:
        write(f"unmasked      {safe_line(one)}: secrets in it are not masked everywhere (codequarry doctor)")
    for one in body["imports"]:
        done = f"{one['files_done']:,} of {one['files_total']:,} files"
        version = safe_line(" ".join(filter(None, (one["repo"], one["ref"]))))
        write(f"import        {version}: {one['phase']}, {one['percent']} %, {done}, as of {one['updated_at']}")
    for one in body["migrations"]:
        state = one["phase"] if one["running"] else "stopped"
        write(f"migration     to {one['model']}: {state}, {one['percent']} %, as of {one['updated_at']}")


def _status(place: "Workplace") -> dict[str, Any]:
    from dataclasses import asdict
    from shutil import disk_usage

    from codequarry.ingest.garbage_collection.unmasked_rows import repositories_with_unmasked
    from codequarry.search_api.answers.json import to_json
    from codequarry.search_api.answers.repositories import Repositories
    from codequarry.search_api.versions.catalog import Catalog
    from codequarry.search_api.versions.repositories import describe
    from codequarry.shared.catalog.repositories import list_progress
    from codequarry.shared.versions.refs import Ref

    settings = place.settings
    repos = describe(Catalog(place.store))
    where = ", ".join(settings.opensearch.urls) if settings.store == "opensearch" else str(settings.home)
    return {
        "home": str(settings.home),
        "store": {"kind": settings.store, "place": where},
        "model": {"name": place.embedder.name, "dimension": place.embedder.dimension},
        "degraded": list(place.degraded),
        "repos": to_json(Repositories(repos))["repos"],
        "files": sum(one.files or 0 for one in repos),
        "chunks": sum(one.chunks or 0 for one in repos),
        "disk": {"used": _used(settings.home), "free": disk_usage(_existing(settings.home)).free},
        "imports": [
            asdict(one) | {"ref": Ref.of_key(one.ref).name if one.ref else "", "percent": one.percent}
            for one in list_progress(place.store)
        ],
        "migrations": _migrations(settings),
        "unmasked": repositories_with_unmasked(place.store),
    }


def _migrations(settings: "SettingsModel") -> list[dict[str, Any]]:
    """Return the migrations to other models that run or were left behind."""
    from contextlib import closing

    from codequarry.ingest.migration.note import unfinished_migrations
    from codequarry.shared.store.factory import editions_of

    with closing(editions_of(settings)) as editions:
        return [
            {
                "model": one.note.setting,
                "phase": one.note.phase,
                "percent": one.note.percent,
                "running": one.is_running,
                "updated_at": one.note.updated_at,
            }
            for one in unfinished_migrations(editions)
        ]


def _existing(folder: Path) -> Path:
    """Return a folder, or the nearest one above it that exists: where it would be made."""
    return next(place for place in (folder, *folder.parents) if place.exists())


def _used(folder: Path) -> int:
    """Return the bytes that the files of a folder take on the disk; files that vanish meanwhile count nothing."""
    total = 0
    for path in folder.rglob("*"):
        try:
            found = path.lstat()
        except FileNotFoundError:
            continue
        # A sparse file (a vector file grows ahead of its use) takes less than its length.
        total += found.st_blocks * 512
    return total
