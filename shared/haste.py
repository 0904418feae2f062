"""Whether somebody waits for an answer: then servers are given up sooner than by a run, which can be resumed."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic, sleep

# What one request may take in all of servers that are slow but alive; one that takes longer is no answer to anybody.
REQUEST_SECONDS = 30.0

_deadline: ContextVar[float | None] = ContextVar("deadline", default=None)


@contextmanager
def hurried() -> Iterator[None]:
    """Have servers that this thread asks answer soon or be given up, to the end of the block."""
    token = _deadline.set(monotonic() + REQUEST_SECONDS)
    try:
        yield
    finally:
        _deadline.reset(token)


def is_hurried() -> bool:
    """Tell whether this thread is in such a block."""
    return _deadline.get() is not None


def seconds_left() -> float:
    """Return how long servers may still take; without end where nobody waits."""
    deadline = _deadline.get()
    return float("inf") if deadline is None else max(0.0, deadline - monotonic())


def rest(seconds: float) -> None:
    """Wait for something else than a server, and let servers have the whole time after that."""
    sleep(seconds)
    if is_hurried():
        _deadline.set(monotonic() + REQUEST_SECONDS)
