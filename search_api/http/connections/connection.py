"""The state of a connection, and the choice of the connection to close if there are too many. No IO."""

from collections import Counter
from collections.abc import Collection
from enum import Enum, auto
from typing import Any

from gunicorn.config import Config
from gunicorn.workers.gthread import TConn

from codequarry.search_api.http.client_address import group_of
from codequarry.search_api.http.connections.incoming import Incoming
from codequarry.search_api.http.connections.outgoing import Outgoing

# Every connection may hold this much of a request or answer, no matter what others hold. A search needs less.
SMALL_BYTES = 16_384


class Phase(Enum):
    """What a connection is waiting for."""

    IDLE = auto()
    """A request to begin."""
    READING = auto()
    """The rest of a request."""
    ANSWERING = auto()
    """A free thread, then the thread's answer."""
    SENDING = auto()
    """The client to read the answer."""
    ENDING = auto()
    """The client to read the end of the last answer."""


class Connection(TConn):  # type: ignore[misc]  # gunicorn has no types
    """A client connection; its phase began at ``since``, and it is closed at ``due`` unless the phase changes."""

    def __init__(self, config: Config, sock: Outgoing, client: Any, server: Any, most_body: int) -> None:  # noqa: ANN401
        super().__init__(config, sock, client, server)
        self.incoming = Incoming(config, client, most_body)
        self.address = address_of(client)
        self.phase = Phase.IDLE
        self.due = self.since = 0.0
        self.is_watched = False
        self.keeps_alive = False
        self.request: Any = None

    @property
    def size(self) -> int:
        """Return the number of bytes held for the connection."""
        return len(self.incoming) + len(self.sock)

    @property
    def waits_for_client(self) -> bool:
        """Return whether the connection is waiting for its client rather than for a thread."""
        return self.phase is not Phase.ANSWERING


def address_of(client: object) -> str:
    """Return a connection's client address in the form that limits use, or "" for a Unix socket."""
    return group_of(str(client[0])) if isinstance(client, tuple) and client else ""


def oldest_waiting(connections: Collection[Connection], address: str | None = None) -> Connection | None:
    """Return the connection to close if there are too many: the oldest of ``address``, or of the address with the most.

    The oldest has waited longest for its client; a connection whose request is nearly complete has waited less.
    """
    waiting = [conn for conn in connections if conn.waits_for_client and address in (None, conn.address)]
    if not waiting:
        return None
    if address is None:
        counts = Counter(conn.address for conn in waiting)
        most = max(counts, key=counts.__getitem__)
        waiting = [conn for conn in waiting if conn.address == most]
    return min(waiting, key=lambda conn: conn.since)


def largest_waiting(connections: Collection[Connection]) -> Connection | None:
    """Return the connection to close to free memory: the large connection that has waited longest for its client."""
    waiting = [conn for conn in connections if conn.waits_for_client and conn.size > SMALL_BYTES]
    return min(waiting, key=lambda conn: conn.since, default=None)
