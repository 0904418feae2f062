"""Requests to stop a run, checked while the run waits for another process.

An observer can stop a run between steps; code that may wait minutes for git or a reader process checks here.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Interval of the checks during a wait, short enough for a cancelled job to end within two seconds.
LOOK_SECONDS = 0.25

StopCheck = Callable[[], None]
"""Raises Stopped or Interrupted if the run must end."""

_check: ContextVar[StopCheck | None] = ContextVar("check_stop", default=None)


@contextmanager
def stoppable(check: StopCheck) -> Iterator[None]:
    """Make ``check`` the stop check of this thread within the block."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def check_stop() -> None:
    """Raise Stopped or Interrupted if the run of this thread must end."""
    check = _check.get()
    if check is not None:
        check()
