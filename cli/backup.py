"""`codequarry backup`, `verify` and `restore`: a copy of the index, and back."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codequarry.cli.console import count, safe_line, size, write, write_json
from codequarry.cli.invocation import Json, load

if TYPE_CHECKING:
    from codequarry.shared.settings.config import SettingsModel
    from codequarry.shared.store.embedded.backup import Manifest

Target = Annotated[Path, typer.Argument(metavar="TARGET", help="Folder of the backup.")]


def backup(context: typer.Context, target: Target, as_json: Json = False) -> None:
    """Copy the index to a new folder while everything runs.

    Keys, grants and jobs are part of the index. Mirrors are not: they are fetched again.
    """
    from codequarry.shared.store.embedded.backup import write_backup
    from codequarry.shared.store.embedded.editions import EmbeddedEditions

    home = _home(load(context).settings)
    manifest = write_backup(EmbeddedEditions(home).active_folder(), target.expanduser().resolve())
    _show(manifest, target, "written", as_json)


def verify(context: typer.Context, target: Target, as_json: Json = False) -> None:
    """Compare every file of a backup with its checksum, and the index in it with its own."""
    from codequarry.shared.store.embedded.backup import verify_backup

    _show(verify_backup(target.expanduser().resolve()), target, "whole", as_json)


def restore(
    context: typer.Context,
    target: Target,
    replace: Annotated[bool, typer.Option("--replace", help="Delete the index that is there.")] = False,
    as_json: Json = False,
) -> None:
    """Put a backup in the place of the index."""
    from codequarry.shared.store.embedded.backup import restore_backup

    home = _home(load(context).settings)
    _show(restore_backup(target.expanduser().resolve(), home, replace=replace), target, "restored", as_json)


def _home(settings: "SettingsModel") -> Path:
    """Return the data folder of an embedded index; UsageError for OpenSearch."""
    from codequarry.shared.errors import UsageError

    if settings.store != "embedded":
        raise UsageError("the index is in OpenSearch: back it up with OpenSearch's own snapshots (docs/operators.md)")
    return settings.home.expanduser()


def _show(manifest: "Manifest", target: Path, done: str, as_json: bool) -> None:
    total = sum(length for length, _ in manifest.files.values())
    if as_json:
        write_json({"target": str(target), "state": done, "created_at": manifest.created_at, "bytes": total})
    else:
        write(f"{safe_line(str(target))}: {done}, {count(len(manifest.files), 'file')}, {size(total)}")
