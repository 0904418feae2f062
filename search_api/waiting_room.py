"""Connections before and behind a request: who waits for a thread, and who keeps one waiting.

Requests that waited too long for a thread are answered with 503 at once, so that those behind them are in time again:
without this everybody waits longer and longer for answers that nobody reads any more. And a client that sends slowly,
reads slowly or does not hang up keeps nobody else waiting for long, whatever it may see.
"""

import socket
from contextlib import suppress
from threading import local
from time import monotonic
from typing import Any

from gunicorn.workers.gthread import _DEFER, TConn, ThreadWorker

from codequarry.shared.telemetry.metrics import count_waiting

# A new connection whose request is not there by then waits for it without a thread.
GLANCE_SECONDS = 0.02
# Who does not read an answer is given up after this.
SEND_SECONDS = 60.0
# Who was told that the connection ends may go on sending what is not read any more for so long: closed at once, it
# might lose the end of the answer. Gunicorn waits in the one thread that accepts connections, and longer.
LINGER_SECONDS = 0.5
LINGER_BYTES = 65_536


class _Waited(local):
    """How long the request of a thread waited, in seconds."""

    seconds = 0.0


_waited = _Waited()


def waited_seconds() -> float:
    """Return how long the request of this thread waited for it; 0 under another server than ours."""
    return _waited.seconds


class TimedWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """Gunicorn's worker with threads, which notes when a request began to wait for one and gives slow clients up.

    The application that it runs has ``read_seconds``, in which a request must have come.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:  # noqa: ANN401  # gunicorn's own signature
        """Begin with no connection."""
        super().__init__(*arguments, **named)
        # Connections of which a request is read, until when that must have come, and its head once that is there.
        self._reading: dict[TConn, tuple[float, Any]] = {}

    def enqueue_req(self, conn: TConn) -> None:
        """Have a connection's next request answered when a thread is free."""
        conn.waiting_since = monotonic()
        count_waiting(1)
        super().enqueue_req(conn)

    def handle(self, conn: TConn) -> object:
        """Answer a request, in a thread."""
        count_waiting(-1)
        now = monotonic()
        _waited.seconds = now - conn.waiting_since
        if not conn.initialized and not conn.wait_for_data(GLANCE_SECONDS):
            return _DEFER
        self._reading[conn] = (now + self.app.read_seconds, None)
        try:
            goes_on: object = super().handle(conn)
        finally:
            self._reading.pop(conn, None)
            _waited.seconds = 0.0
        if goes_on is False:
            _linger(conn.sock)
        return goes_on

    def handle_request(self, req: Any, conn: TConn) -> object:  # noqa: ANN401  # gunicorn's own signature
        """Answer a request whose head has come."""
        if begun := self._reading.get(conn):
            self._reading[conn] = (begun[0], req)
        conn.sock.settimeout(SEND_SECONDS)
        return super().handle_request(req, conn)

    def murder_pending(self) -> None:
        """Close connections that wait for nothing, and end requests that do not come; gunicorn does it every second."""
        super().murder_pending()
        now = monotonic()
        for conn, (due, req) in list(self._reading.items()):
            if due < now and not _has_come(req):
                # Whoever reads finds the end; an answer can still be sent.
                with suppress(OSError):
                    conn.sock.shutdown(socket.SHUT_RD)


def _has_come(req: Any) -> bool:  # noqa: ANN401  # gunicorn has no types
    """Tell whether all of a request was read, its body too."""
    if req is None:
        return False
    # Gunicorn's readers of a body of known length, and of one in chunks.
    reader = req.body.reader
    return getattr(reader, "length", None) == 0 or getattr(reader, "parser", reader) is None


def _linger(sock: socket.socket) -> None:
    """Let the client of a connection that ends read the end of its answer."""
    until, left = monotonic() + LINGER_SECONDS, LINGER_BYTES
    with suppress(OSError):
        sock.shutdown(socket.SHUT_WR)
        while left > 0 and (rest := until - monotonic()) > 0:
            sock.settimeout(rest)
            if not (data := sock.recv(left)):
                break
            left -= len(data)
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
