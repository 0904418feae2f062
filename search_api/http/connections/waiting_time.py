"""How long a request waited for the thread that answers it."""

from threading import local


class _Waited(local):
    seconds = 0.0


_waited = _Waited()


def note_waited(seconds: float) -> None:
    """Note how long the request of this thread waited."""
    _waited.seconds = seconds


def waited_seconds() -> float:
    """Return how long the request of this thread waited for it; 0 under another server than ours."""
    return _waited.seconds
