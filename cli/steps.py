"""How far a backup, its verification or a restore is, on stderr."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from codequarry.cli.console import note, size
from codequarry.cli.progress import SECONDS_BETWEEN_LINES

if TYPE_CHECKING:
    from codequarry.shared.store.backups import Step


def describe(step: "Step") -> str:
    """Return a step in one line."""
    if step.unit == "bytes":
        return f"{step.phase}: {size(step.done)} of {size(step.total)}"
    return f"{step.phase}: {step.done:,} of {step.total:,} {step.unit}"


@contextmanager
def shown() -> Iterator[Callable[["Step"], None]]:
    """Give a function that shows steps: a bar on a terminal, now and then a line elsewhere."""
    if not sys.stderr.isatty():
        yield PlainLines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    console = Console(stderr=True, highlight=False)
    columns = BarColumn(bar_width=24), TextColumn("{task.description}", markup=False)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda step: bar.update(task, description=describe(step), completed=step.done, total=step.total)


class PlainLines:
    """Writes a line every few seconds; a command that takes less writes none."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last = clock()

    def __call__(self, step: "Step") -> None:
        """Show a step if the last line was long ago."""
        if self._clock() - self._last >= SECONDS_BETWEEN_LINES:
            self._last = self._clock()
            note(describe(step))
