"""A connection as the service sees it, and which one has to go where there are too many. No IO."""

from collections import Counter
from collections.abc import Collection
from enum import Enum, auto
from typing import Any

from gunicorn.config import Config
from gunicorn.workers.gthread import TConn

from codequarry.search_api.http.client_address import group_of
from codequarry.search_api.http.connections.incoming import Incoming
from codequarry.search_api.http.connections.outgoing import Outgoing

# So much of a request or an answer is kept for every connection, whatever others do: more than a search has.
SMALL_BYTES = 16_384


class Phase(Enum):
    """What a connection waits for."""

    IDLE = auto()
    """The beginning of a request."""
    READING = auto()
    """The rest of a request."""
    ANSWERING = auto()
    """A thread, or the answer that one makes."""
    SENDING = auto()
    """A client that reads the answer."""
    ENDING = auto()
    """A client that reads the end of the last answer."""


class Connection(TConn):  # type: ignore[misc]  # gunicorn has no types
    """One connection; ``due`` is when it is closed unless its phase has changed, ``since`` when that began."""

    def __init__(self, config: Config, sock: Outgoing, client: Any, server: Any, most_body: int) -> None:  # noqa: ANN401
        """Begin with a connection over which nothing has come."""
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
        """Return how many bytes are kept for it."""
        return len(self.incoming) + len(self.sock)

    @property
    def waits_for_client(self) -> bool:
        """Tell whether it is the client who keeps it waiting."""
        return self.phase is not Phase.ANSWERING


def address_of(client: object) -> str:
    """Return the address of a connection's other end as limits count it: "" for one over a Unix socket."""
    return group_of(str(client[0])) if isinstance(client, tuple) and client else ""


def oldest_waiting(connections: Collection[Connection], address: str | None = None) -> Connection | None:
    """Return the connection that makes room for another: the one whose client has kept it waiting longest.

    A request that is about to be complete is younger than one whose client only wants the connection. Without an
    ``address`` it is one of those with the most connections.
    """
    waiting = [one for one in connections if one.waits_for_client and address in (None, one.address)]
    if not waiting:
        return None
    if address is None:
        counts = Counter(one.address for one in waiting)
        most = max(counts, key=counts.__getitem__)
        waiting = [one for one in waiting if one.address == most]
    return min(waiting, key=lambda one: one.since)


def largest_waiting(connections: Collection[Connection]) -> Connection | None:
    """Return which of the connections with much to keep goes first where too much is kept for all together."""
    waiting = [one for one in connections if one.waits_for_client and one.size > SMALL_BYTES]
    return min(waiting, key=lambda one: one.since, default=None)
