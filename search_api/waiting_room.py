"""Requests that waited too long for a thread: answered with 503 at once, so that those behind them are in time again.

Without this everybody waits longer and longer for answers that nobody reads any more.
"""

from threading import local
from time import monotonic

from gunicorn.workers.gthread import TConn, ThreadWorker


class _Waited(local):
    """How long the request of a thread waited, in seconds."""

    seconds = 0.0


_waited = _Waited()


def waited_seconds() -> float:
    """Return how long the request of this thread waited for it; 0 under another server than ours."""
    return _waited.seconds


class TimedWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """Gunicorn's worker with threads, which notes when a request began to wait for one."""

    def enqueue_req(self, conn: TConn) -> None:
        """Have a connection's next request answered when a thread is free."""
        conn.waiting_since = monotonic()
        super().enqueue_req(conn)

    def handle(self, conn: TConn) -> object:
        """Answer a request, in a thread."""
        _waited.seconds = monotonic() - conn.waiting_since
        try:
            return super().handle(conn)
        finally:
            _waited.seconds = 0.0
