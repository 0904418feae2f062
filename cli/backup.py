"""`codequarry backup`, `verify` and `restore`: a copy of the index, and back."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codequarry.cli import progress
from codequarry.cli.console import count, safe_line, size, write, write_json
from codequarry.cli.invocation import Json, load

if TYPE_CHECKING:
    from codequarry.shared.store.manifest import Manifest

Target = Annotated[Path, typer.Argument(metavar="TARGET", help="Folder of the backup.")]


def backup(context: typer.Context, target: Target, as_json: Json = False) -> None:
    """Copy the index to a new folder while everything runs.

    Keys, grants and jobs are part of the index. Mirrors are not: they are fetched again.
    """
    settings, folder = load(context).settings, _folder(target)
    if settings.store == "embedded":
        from codequarry.shared.store.embedded.backup import write_backup
        from codequarry.shared.store.embedded.editions import EmbeddedEditions

        manifest = write_backup(EmbeddedEditions(settings.home.expanduser()).active_folder(), folder)
    else:
        from codequarry.shared.store.opensearch.backup import write_backup as write_copy

        with _observed() as observe:
            manifest = write_copy(settings.opensearch, folder, observe)
    _show(manifest, target, "written", as_json)


def verify(target: Target, as_json: Json = False) -> None:
    """Compare every file of a backup with its checksum, and read the index in it."""
    from codequarry.shared.store.manifest import read_manifest

    folder = _folder(target)
    if read_manifest(folder).store == "embedded":
        from codequarry.shared.store.embedded.backup import verify_backup

        manifest = verify_backup(folder)
    else:
        from codequarry.shared.store.opensearch.backup import verify_backup as verify_copy

        with _observed() as observe:
            manifest = verify_copy(folder, observe)
    _show(manifest, target, "whole", as_json)


def restore(
    context: typer.Context,
    target: Target,
    replace: Annotated[bool, typer.Option("--replace", help="Delete the index that is there.")] = False,
    as_json: Json = False,
) -> None:
    """Put a backup in the place of the index."""
    settings, folder = load(context).settings, _folder(target)
    if settings.store == "embedded":
        from codequarry.shared.store.embedded.backup import restore_backup

        manifest = restore_backup(folder, settings.home.expanduser(), replace=replace)
    else:
        from codequarry.shared.store.opensearch.backup import restore_backup as restore_copy

        with _observed() as observe:
            manifest = restore_copy(settings.opensearch, folder, observe, replace=replace)
    _show(manifest, target, "restored", as_json)


def _folder(target: Path) -> Path:
    return target.expanduser().resolve()


@contextmanager
def _observed() -> Iterator[Callable[[str, int], None]]:
    """Give a function that shows what is done and how many documents of it."""
    from codequarry.shared.repositories.catalog import Progress

    with progress.shown() as show:
        yield lambda what, done: show(Progress("", what, "", 0, 0, done, "", ""))


def _show(manifest: "Manifest", target: Path, done: str, as_json: bool) -> None:
    if as_json:
        at, total = manifest.created_at, manifest.size
        write_json({"target": str(target), "state": done, "store": manifest.store, "created_at": at, "bytes": total})
    else:
        write(f"{safe_line(str(target))}: {done}, {count(len(manifest.files), 'file')}, {size(manifest.size)}")
