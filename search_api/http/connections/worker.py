"""Gunicorn's threaded worker, changed so that no thread waits for a client (decision 0030).

The thread that accepts connections reads all requests and sends all answers, without waiting for any connection. A
pool thread gets a request once it is complete, and is free again as soon as it has produced the answer.
"""

import errno
import resource
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from selectors import EVENT_READ, EVENT_WRITE
from socket import SHUT_WR
from time import monotonic
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

from codequarry.search_api.http.connections.connection import (
    SMALL_BYTES,
    Connection,
    Phase,
    largest_waiting,
    oldest_waiting,
)
from codequarry.search_api.http.connections.incoming import decode_body
from codequarry.search_api.http.connections.outgoing import Outgoing
from codequarry.search_api.http.connections.refusals import (
    CRASHED,
    CROWDED_ADDRESS,
    CUT_SHORT,
    LATE,
    NO_ROOM,
    Refusal,
    Refused,
    new_request_id,
)
from codequarry.search_api.http.connections.waiting_time import note_waited
from codequarry.shared.telemetry.logs import logger
from codequarry.shared.telemetry.metrics import count_waiting

# Limit for open connections in a process. Each needs a file descriptor; half of these are left for everything else.
MOST_CONNECTIONS = 1_000
# Gunicorn stops accepting at its own limit. This margin keeps us below it; we close the longest-waiting connection.
SPARE_CONNECTIONS = 100
# The maximum number of bytes returned by one receive call.
RECEIVE_BYTES = 65_536
# Limit for the requests and answers of all slow clients; beyond it, the connections that waited longest are closed.
HELD_BYTES = 64 * 1024 * 1024
# A client that does not read its answer is disconnected after this time.
SEND_SECONDS = 60.0
# After the last answer, data is read and dropped for this long, because closing at once might lose its end.
LINGER_SECONDS = 0.5
# When the service stops, clients have this long for the rest of a request.
STOPPING_SECONDS = 2.0
# The interval between checks for connections that are due.
LOOK_SECONDS = 0.25
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
# Temporary errors from accept: the client is gone, or no file descriptor is free.
_PASSING = {errno.EAGAIN, errno.EWOULDBLOCK, errno.ECONNABORTED, errno.EMFILE, errno.ENFILE}

log = logger("codequarry.intake")


class PatientWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """Reads requests, passes them to threads, and sends the answers; ``app`` (server.py) has the limits."""

    def __init__(self, *arguments: Any, **named: Any) -> None:  # noqa: ANN401  # gunicorn's own signature
        super().__init__(*arguments, **named)
        self._connections: set[Connection] = set()
        self._looked = 0.0
        self._most = min(MOST_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)

    def accept(self, listener: Any) -> None:  # noqa: ANN401  # gunicorn's own signature
        """Accept a connection; if there are too many, close the connection that has waited longest for its client."""
        try:
            sock, client = listener.accept()
        except OSError as error:
            if error.errno not in _PASSING:
                raise
            return
        self.nr_conns += 1
        conn = Connection(self.cfg, Outgoing(sock), client, listener.getsockname(), self.app.most_body_bytes)
        self._make_room(conn)
        self._connections.add(conn)
        self._enter(conn, Phase.IDLE, self.app.read_seconds)
        self._on_readable(conn)

    def enqueue_req(self, conn: Connection) -> None:
        """Queue a complete request for the next free thread."""
        conn.waiting_since = monotonic()
        count_waiting(1)
        super().enqueue_req(conn)

    def handle(self, conn: Connection) -> bool:
        """Answer a request in a pool thread; return whether the connection stays open for another request."""
        count_waiting(-1)
        note_waited(monotonic() - conn.waiting_since)
        try:
            decode_body(conn.request)
            return bool(self.handle_request(conn.request, conn))
        except Refused as refused:
            self._answer(conn, refused.refusal)
        except (OSError, StopIteration):
            pass  # the client is gone, or gunicorn has logged why the answer was cut off
        except Exception as error:
            log.error("a request was not answered", exc_info=error)
            self._answer(conn, CRASHED)
        finally:
            note_waited(0.0)
            conn.request = None
        return False

    def finish_request(self, conn: Connection, future: Any) -> None:  # noqa: ANN401  # gunicorn's own signature
        """Send the answer that a thread has produced."""
        conn.keeps_alive = not future.cancelled() and future.exception() is None and future.result()
        self._enter(conn, Phase.SENDING, SEND_SECONDS)
        self._on_writable(conn)

    def murder_keepalived(self, force: bool = False) -> None:
        """Close the connections that are due or, with ``force``, all that are waiting for their client."""
        now = monotonic()
        if not force and now - self._looked < LOOK_SECONDS:
            return
        self._looked = now
        for conn in [conn for conn in self._connections if conn.waits_for_client and (force or conn.due <= now)]:
            if conn.phase is Phase.READING and not force:
                self._refuse(conn, LATE)
            else:
                self._close(conn)

    def murder_pending(self) -> None:
        """Do nothing: this worker has none of the connections that gunicorn closes here."""

    def _cap_keepalive(self, deadline: float) -> None:
        """Give clients until ``deadline`` to complete their requests, since the service is stopping."""
        for conn in self._connections:
            if conn.phase in (Phase.IDLE, Phase.READING):
                conn.due = min(conn.due, deadline)

    def _on_readable(self, conn: Connection) -> None:
        try:
            data = conn.sock.recv(RECEIVE_BYTES)
        except BlockingIOError:
            self._watch(conn, EVENT_READ)
            return
        except OSError:
            self._close(conn)
            return
        if conn.phase is Phase.ENDING:
            if not data:
                self._close(conn)
            return
        if not data:
            self._end_of_data(conn)
            return
        conn.incoming.add(data)
        self._go_on(conn)
        self._hold_less(conn)

    def _end_of_data(self, conn: Connection) -> None:
        if conn.incoming.is_between_requests:
            self._close(conn)
        else:
            self._refuse(conn, CUT_SHORT)

    def _go_on(self, conn: Connection) -> None:
        """Queue the next request if it is complete; otherwise wait for the rest."""
        try:
            conn.request = conn.incoming.take()
            if conn.request is None and conn.incoming.expects_continue():
                conn.sock.sendall(CONTINUE)
        except Refused as refused:
            self._refuse(conn, refused.refusal)
            return
        except OSError:
            self._close(conn)
            return
        if conn.request is not None:
            self._unwatch(conn)
            self._enter(conn, Phase.ANSWERING, 0)
            self.enqueue_req(conn)
            return
        if conn.phase is not Phase.READING and not conn.incoming.is_between_requests:
            self._enter(conn, Phase.READING, self.app.read_seconds)
        self._watch(conn, EVENT_READ)

    def _on_writable(self, conn: Connection) -> None:
        """Send as much of the answer as the client accepts; when all is sent, read the next request or hang up."""
        try:
            if not conn.sock.flush():
                self._watch(conn, EVENT_WRITE)
                self._hold_less(conn)
                return
        except OSError:
            self._close(conn)
            return
        if conn.keeps_alive:
            self._enter(conn, Phase.IDLE, self.cfg.keepalive)
            self._unwatch(conn)
            self._go_on(conn)
        else:
            self._end(conn)

    def _end(self, conn: Connection) -> None:
        """Stop sending and linger, so that a client that is still sending can read the end of its answer."""
        with suppress(OSError):
            conn.sock.shutdown(SHUT_WR)
        self._enter(conn, Phase.ENDING, LINGER_SECONDS)
        self._unwatch(conn)
        self._watch(conn, EVENT_READ)

    def _refuse(self, conn: Connection, refusal: Refusal) -> None:
        self._answer(conn, refusal)
        self._end(conn)

    def _answer(self, conn: Connection, refusal: Refusal) -> None:
        request_id = new_request_id()
        self.app.note_refusal(conn.address, refusal, request_id)
        with suppress(OSError):
            conn.sock.sendall(refusal.answer(request_id))

    def _close(self, conn: Connection) -> None:
        self._unwatch(conn)
        self._connections.discard(conn)
        self.nr_conns -= 1
        with suppress(OSError):
            conn.sock.hang_up()

    def _make_room(self, new: Connection) -> None:
        """Close the longest-waiting connection of the address, or of the process, if it has too many."""
        if (most := self.app.most_connections_of(new.address)) is not None:
            own = [conn for conn in self._connections if conn.address == new.address]
            if len(own) >= most and (oldest := oldest_waiting(own)):
                self._drop(oldest, CROWDED_ADDRESS)
        if len(self._connections) >= self._most and (oldest := oldest_waiting(self._connections)):
            self._drop(oldest, NO_ROOM)

    def _hold_less(self, grown: Connection) -> None:
        """While more is held for slow clients than allowed, close the large connection that has waited longest."""
        if grown.size <= SMALL_BYTES:
            return
        most = max(HELD_BYTES, 4 * self.app.most_body_bytes)
        while sum(conn.size for conn in self._connections) > most and (largest := largest_waiting(self._connections)):
            self._drop(largest, NO_ROOM)

    def _drop(self, conn: Connection, refusal: Refusal) -> None:
        """Close a connection at once; if it has begun a request, try to send the reason."""
        if conn.phase is Phase.READING:
            self._answer(conn, refusal)
        self._close(conn)

    def _enter(self, conn: Connection, phase: Phase, seconds: float) -> None:
        conn.phase, conn.since = phase, monotonic()
        if not self.alive and phase in (Phase.IDLE, Phase.READING):
            seconds = min(seconds, STOPPING_SECONDS)
        conn.due = conn.since + seconds

    def _watch(self, conn: Connection, event: int) -> None:
        if not conn.is_watched:
            then: Callable[[Connection], None] = self._on_readable if event == EVENT_READ else self._on_writable
            self.poller.register(conn.sock, event, partial(_call, then, conn))
            conn.is_watched = True

    def _unwatch(self, conn: Connection) -> None:
        if conn.is_watched:
            conn.is_watched = False
            self.poller.unregister(conn.sock)


def _call(then: Callable[[Connection], None], conn: Connection, _: object) -> None:
    """Call ``then``, unless the connection was closed earlier in the same turn of the event loop."""
    if conn.is_watched:
        then(conn)
