"""Whether the run of this thread is to end, asked wherever a run waits for another process.

Runs report their steps to an observer, which may end them there. What waits for git or for a reading process lies deep
below such a step and may take minutes; it asks here instead.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Whoever waits asks this often: a job that is cancelled ends within two seconds.
LOOK_SECONDS = 0.25

StopCheck = Callable[[], None]
"""Raises Stopped or Interrupted if the run is to end."""

_check: ContextVar[StopCheck | None] = ContextVar("check_stop", default=None)


@contextmanager
def stoppable(check: StopCheck) -> Iterator[None]:
    """Let ``check`` end what runs in the block, in this thread."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def check_stop() -> None:
    """Raise Stopped or Interrupted if the run of this thread is to end."""
    check = _check.get()
    if check is not None:
        check()
