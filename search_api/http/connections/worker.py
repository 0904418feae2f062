"""Gunicorn's worker with threads, changed so that no thread waits for a client: see decision 0030.

The thread that accepts connections reads requests and sends answers, of all connections and without waiting for any. A
thread of the pool gets a request when all of it is there, and is free again as soon as the answer is made.
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

from codequarry.search_api.http.connections.connection import SMALL_BYTES, Connection, Phase, oldest_waiting, largest_waiting
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

# Connections at once in one process. Each needs a file descriptor, of which half are left to everything else.
MOST_CONNECTIONS = 1_000
# Gunicorn stops accepting at its own limit; it is out of reach, since the connection that waited longest makes room.
SPARE_CONNECTIONS = 100
# The system gives this much at once of what has come.
RECEIVE_BYTES = 65_536
# Requests and answers that are kept for slow clients, all together; beyond it who has waited longest goes.
HELD_BYTES = 64 * 1024 * 1024
# Who does not read an answer is given up after this.
SEND_SECONDS = 60.0
# Who was told that the connection ends may go on sending what is not read any more for so long: closed at once, it
# might lose the end of the answer.
LINGER_SECONDS = 0.5
# A service that is to end leaves clients this much for the rest of a request.
STOPPING_SECONDS = 2.0
# How often it is looked for connections whose time is over.
LOOK_SECONDS = 0.25
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
# Errors of accept that pass: the client is gone, or there is no file descriptor at the moment.
_PASSING = {errno.EAGAIN, errno.EWOULDBLOCK, errno.ECONNABORTED, errno.EMFILE, errno.ENFILE}

log = logger("codequarry.intake")


class PatientWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """Reads, has answered, and sends.

    ``app`` is what ``server.py`` runs: it says how long a request may take to come, how large its body may be and how
    many connections an address may have, and writes down what was refused.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:  # noqa: ANN401  # gunicorn's own signature
        """Begin with no connection."""
        super().__init__(*arguments, **named)
        self._connections: set[Connection] = set()
        self._looked = 0.0
        self._most = min(MOST_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)

    def accept(self, listener: Any) -> None:  # noqa: ANN401  # gunicorn's own signature
        """Take a new connection; where there are too many, the one that has kept us waiting longest makes room."""
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
        """Have a request answered when a thread is free."""
        conn.waiting_since = monotonic()
        count_waiting(1)
        super().enqueue_req(conn)

    def handle(self, conn: Connection) -> bool:
        """Answer a request, in a thread; True where another may follow on the connection."""
        count_waiting(-1)
        note_waited(monotonic() - conn.waiting_since)
        try:
            decode_body(conn.request)
            return bool(self.handle_request(conn.request, conn))
        except Refused as refused:
            self._answer(conn, refused.refusal)
        except (OSError, StopIteration):
            pass  # the client is gone, or gunicorn has said in the log why the answer broke off
        except Exception as error:
            log.error("a request was not answered", exc_info=error)
            self._answer(conn, CRASHED)
        finally:
            note_waited(0.0)
            conn.request = None
        return False

    def finish_request(self, conn: Connection, future: Any) -> None:  # noqa: ANN401  # gunicorn's own signature
        """Send the answer that a thread has made."""
        conn.keeps_alive = not future.cancelled() and future.exception() is None and future.result()
        self._enter(conn, Phase.SENDING, SEND_SECONDS)
        self._on_writable(conn)

    def murder_keepalived(self, force: bool = False) -> None:
        """Close connections whose time is over; with ``force`` all for which nothing is done."""
        now = monotonic()
        if not force and now - self._looked < LOOK_SECONDS:
            return
        self._looked = now
        for conn in [one for one in self._connections if one.waits_for_client and (force or one.due <= now)]:
            if conn.phase is Phase.READING and not force:
                self._refuse(conn, LATE)
            else:
                self._close(conn)

    def murder_pending(self) -> None:
        """Do nothing: what gunicorn looks at here there is none of."""

    def _cap_keepalive(self, deadline: float) -> None:
        """Give clients until ``deadline`` for what they have begun: the service is to end."""
        for conn in self._connections:
            if conn.phase in (Phase.IDLE, Phase.READING):
                conn.due = min(conn.due, deadline)

    def _on_readable(self, conn: Connection) -> None:
        """Take what has come."""
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
        """Have the next request answered if all of it is there, else wait for the rest."""
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
        """Send what the client takes of its answer; when all is sent, go on or end."""
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
        """Close a connection whose client may still send, so that it can read the end of its answer."""
        with suppress(OSError):
            conn.sock.shutdown(SHUT_WR)
        self._enter(conn, Phase.ENDING, LINGER_SECONDS)
        self._unwatch(conn)
        self._watch(conn, EVENT_READ)

    def _refuse(self, conn: Connection, refusal: Refusal) -> None:
        """Say why a connection ends, without waiting for the client to read it."""
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
        """Close what has waited longest where an address, or all together, have too many connections."""
        if (most := self.app.most_connections_of(new.address)) is not None:
            own = [one for one in self._connections if one.address == new.address]
            if len(own) >= most and (oldest := oldest_waiting(own)):
                self._give_up(oldest, CROWDED_ADDRESS)
        if len(self._connections) >= self._most and (oldest := oldest_waiting(self._connections)):
            self._give_up(oldest, NO_ROOM)

    def _hold_less(self, grown: Connection) -> None:
        """Close what has waited longest where more is kept for slow clients than there is memory for."""
        if grown.size <= SMALL_BYTES:
            return
        most = max(HELD_BYTES, 4 * self.app.most_body_bytes)
        while sum(one.size for one in self._connections) > most and (conn := largest_waiting(self._connections)):
            self._give_up(conn, NO_ROOM)

    def _give_up(self, conn: Connection, refusal: Refusal) -> None:
        """Close a connection at once; who has begun a request is told why as far as that is possible."""
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
    """Do what a connection waits for, unless it was closed by what came before in the same turn."""
    if conn.is_watched:
        then(conn)
