"""`codequarry backup`, `verify` and `restore`: a copy of the index, and back."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codequarry.cli.session.session import Json, load
from codequarry.cli.terminal.console import count, note, safe_line, size, write, write_json
from codequarry.cli.terminal.progress import SECONDS_BETWEEN_LINES

if TYPE_CHECKING:
    from codequarry.shared.store.backups import Manifest, Step


BackupTarget = Annotated[Path, typer.Argument(metavar="TARGET", help="Folder of the backup.")]


def backup(context: typer.Context, target: BackupTarget, as_json: Json = False) -> None:
    """Copy the index to a new folder while everything runs.

    Keys, grants and jobs are part of the index. Mirrors are not: they are fetched again.
    """
    from codequarry.shared.store.embedded import backup as embedded
    from codequarry.shared.store.embedded.editions import EmbeddedEditions

    settings, folder = load(context).settings, _absolute(target)
    with step_display() as observe:
        if settings.store == "opensearch":
            from codequarry.shared.store.opensearch import backup as opensearch

            manifest = opensearch.write_backup(settings.opensearch, folder, observe)
        else:
            source = EmbeddedEditions(settings.home.expanduser()).active_folder()
            manifest = embedded.write_backup(source, folder, observe)
    _show(manifest, target, "written", as_json)


def verify(target: BackupTarget, as_json: Json = False) -> None:
    """Compare every file of a backup with its checksum, and read everything that is in it."""
    from codequarry.shared.store.backups import OPENSEARCH, read_manifest
    from codequarry.shared.store.embedded import backup as embedded

    folder = _absolute(target)
    with step_display() as observe:
        if read_manifest(folder).store == OPENSEARCH:
            from codequarry.shared.store.opensearch import backup as opensearch

            manifest = opensearch.verify_backup(folder, observe)
        else:
            manifest = embedded.verify_backup(folder, observe)
    _show(manifest, target, "whole", as_json)


def restore(
    context: typer.Context,
    target: BackupTarget,
    replace: Annotated[bool, typer.Option("--replace", help="Delete the index that is there.")] = False,
    as_json: Json = False,
) -> None:
    """Put a backup in the place of the index."""
    from codequarry.shared.store.embedded import backup as embedded

    settings, folder = load(context).settings, _absolute(target)
    with step_display() as observe:
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


def describe(step: "Step") -> str:
    """Return a step in one line."""
    if step.unit == "bytes":
        return f"{step.phase}: {size(step.done)} of {size(step.total)}"
    return f"{step.phase}: {step.done:,} of {step.total:,} {step.unit}"


@contextmanager
def step_display() -> Iterator[Callable[["Step"], None]]:
    """Give a function that shows steps: a bar on a terminal, now and then a line elsewhere."""
    if not sys.stderr.isatty():
        yield StepLines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    console = Console(stderr=True, highlight=False)
    columns = BarColumn(bar_width=24), TextColumn("{task.description}", markup=False)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda step: bar.update(task, description=describe(step), completed=step.done, total=step.total)


class StepLines:
    """Writes a line every few seconds; a command that takes less writes none."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last = clock()

    def __call__(self, step: "Step") -> None:
        """Show a step if the last line was long ago."""
        if self._clock() - self._last >= SECONDS_BETWEEN_LINES:
            self._last = self._clock()
            note(describe(step))
