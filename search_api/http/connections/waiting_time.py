"""The time that a request waited for its thread."""

from threading import local


class _Waited(local):
    seconds = 0.0


_waited = _Waited()


def note_waited(seconds: float) -> None:
    """Note the seconds that the request of this thread waited."""
    _waited.seconds = seconds


def waited_seconds() -> float:
    """Return the seconds that the request of this thread waited; 0 under a server other than ours."""
    return _waited.seconds
