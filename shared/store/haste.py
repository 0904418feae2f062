"""Whether somebody waits for an answer: then a store is given up sooner than by a run, which can be resumed."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_hurried: ContextVar[bool] = ContextVar("hurried", default=False)


@contextmanager
def hurried() -> Iterator[None]:
    """Have stores that this thread asks answer soon or be given up, to the end of the block."""
    token = _hurried.set(True)
    try:
        yield
    finally:
        _hurried.reset(token)


def is_hurried() -> bool:
    """Tell whether this thread is in such a block."""
    return _hurried.get()
