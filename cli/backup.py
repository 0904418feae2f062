"""`codequarry backup`, `verify` and `restore`: a copy of the index, and back."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codequarry.cli import steps
from codequarry.cli.console import count, safe_line, size, write, write_json
from codequarry.cli.invocation import Json, load

if TYPE_CHECKING:
    from codequarry.shared.store.backups import Manifest

Target = Annotated[Path, typer.Argument(metavar="TARGET", help="Folder of the backup.")]


def backup(context: typer.Context, target: Target, as_json: Json = False) -> None:
    """Copy the index to a new folder while everything runs.

    Keys, grants and jobs are part of the index. Mirrors are not: they are fetched again.
    """
    from codequarry.shared.store.embedded import backup as embedded
    from codequarry.shared.store.embedded.editions import EmbeddedEditions

    settings, folder = load(context).settings, _absolute(target)
    with steps.shown() as observe:
        if settings.store == "opensearch":
            from codequarry.shared.store.opensearch import backup as opensearch

            manifest = opensearch.write_backup(settings.opensearch, folder, observe)
        else:
            source = EmbeddedEditions(settings.home.expanduser()).active_folder()
            manifest = embedded.write_backup(source, folder, observe)
    _show(manifest, target, "written", as_json)


def verify(target: Target, as_json: Json = False) -> None:
    """Compare every file of a backup with its checksum, and read everything that is in it."""
    from codequarry.shared.store.backups import OPENSEARCH, read_manifest
    from codequarry.shared.store.embedded import backup as embedded

    folder = _absolute(target)
    with steps.shown() as observe:
        if read_manifest(folder).store == OPENSEARCH:
            from codequarry.shared.store.opensearch import backup as opensearch

            manifest = opensearch.verify_backup(folder, observe)
        else:
            manifest = embedded.verify_backup(folder, observe)
    _show(manifest, target, "whole", as_json)


def restore(
    context: typer.Context,
    target: Target,
    replace: Annotated[bool, typer.Option("--replace", help="Delete the index that is there.")] = False,
    as_json: Json = False,
) -> None:
    """Put a backup in the place of the index."""
    from codequarry.shared.store.embedded import backup as embedded

    settings, folder = load(context).settings, _absolute(target)
    with steps.shown() as observe:
        if settings.store == "opensearch":
            from codequarry.shared.store.opensearch.restore import restore_backup

            manifest = restore_backup(folder, settings.opensearch, replace=replace, observe=observe)
        else:
            home = settings.home.expanduser()
            manifest = embedded.restore_backup(folder, home, replace=replace, observe=observe)
    _show(manifest, target, "restored", as_json)


def _absolute(target: Path) -> Path:
    return target.expanduser().resolve()


def _show(manifest: "Manifest", target: Path, done: str, as_json: bool) -> None:
    total = sum(length for length, _ in manifest.files.values())
    if as_json:
        write_json({"target": str(target), "state": done, "created_at": manifest.created_at, "bytes": total})
    else:
        write(f"{safe_line(str(target))}: {done}, {count(len(manifest.files), 'file')}, {size(total)}")
