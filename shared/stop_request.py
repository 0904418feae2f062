"""Requests to stop a run, checked while the run waits for another process.

Runs report their steps to an observer, which may stop them there. Code that waits for git or for a reading process is
deep below such a step and may wait for minutes, so it checks here.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Interval of the check during a wait, so that a cancelled job ends within two seconds.
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
