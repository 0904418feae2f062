"""Progress of a run on stderr: a bar on a terminal, otherwise a line every few seconds."""

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from codequarry.cli.terminal.console import count, duration, note, safe_line
from codequarry.shared.control_characters import visible
from codequarry.shared.errors import UsageError

if TYPE_CHECKING:
    from codequarry.shared.catalog.repositories import Progress

# Often enough to show that a run is alive, rarely enough not to flood a log.
SECONDS_BETWEEN_LINES = 5.0
# The first files say little about the rate.
LEAST_SECONDS = 1.0


@dataclass(slots=True)
class Pace:
    """Measures files per second since this run began counting, and the seconds left at that rate."""

    clock: Callable[[], float] = time.monotonic
    phase: str = ""
    started: float = 0.0
    first: int = 0

    def measure(self, progress: "Progress") -> tuple[float | None, float | None]:
        """Return the rate and the seconds left, both None until they are known."""
        if progress.phase != self.phase:
            # Files from an earlier run or another phase say nothing about this rate.
            self.phase, self.started, self.first = progress.phase, self.clock(), progress.files_done
        took = self.clock() - self.started
        done = progress.files_done - self.first
        if took < LEAST_SECONDS or not done:
            return None, None
        return done / took, (progress.files_total - progress.files_done) * took / done


def describe(progress: "Progress", rate: float | None, left: float | None) -> str:
    """Return phase, files, chunks, rate and time left as one line."""
    parts = [progress.phase]
    if progress.files_total:
        parts.append(f"{progress.files_done:,} of {count(progress.files_total, 'file')}")
        parts.append(count(progress.chunks_done, "chunk"))
    if rate is not None:
        parts.append(f"{rate:,.0f} files/s")
    if left:
        parts.append(f"{duration(left)} left")
    # The name is unknown until the origin has been asked for it.
    return (f"{safe_line(progress.repo)}: " if progress.repo else "") + ", ".join(parts)


@contextmanager
def shown() -> Iterator[Callable[["Progress"], None]]:
    """Yield a function that shows each state of a run."""
    if not sys.stderr.isatty():
        yield ProgressLines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    pace = Pace()
    console = Console(stderr=True, highlight=False)
    with Bar(
        BarColumn(bar_width=24), TextColumn("{task.description}", markup=False), console=console, transient=True
    ) as bar:
        task = bar.add_task("", total=None)

        def show(progress: "Progress") -> None:
            text = visible(describe(progress, *pace.measure(progress)))
            bar.update(task, description=text, completed=progress.files_done, total=progress.files_total or None)

        yield show


class ProgressLines:
    """Writes a line when a phase begins, and then every few seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pace = Pace(clock)
        self._phase = ""
        self._last = 0.0

    def __call__(self, progress: "Progress") -> None:
        """Show a state of the run if a line is due."""
        measured = self._pace.measure(progress)
        if progress.phase == self._phase and self._clock() - self._last < SECONDS_BETWEEN_LINES:
            return
        self._phase, self._last = progress.phase, self._clock()
        note(describe(progress, *measured))


_DURATION = re.compile(r"([0-9]{1,6})\s*(s|m|h|d|w)")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
# Longer than any key should live, and within the range of datetime.
MAX_DAYS = 36_500


def read_duration(text: str) -> timedelta:
    """Return the duration written as ``90d``, ``12h``, ``30m``, ``45s`` or ``2w``, or raise UsageError."""
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"'{text}' is not a duration; write it as 90d, 12h, 30m or 45s")
    length = timedelta(**{_UNITS[found[2]]: int(found[1])})
    if length > timedelta(days=MAX_DAYS):
        raise UsageError(f"'{text}' is longer than {MAX_DAYS} days")
    return length
