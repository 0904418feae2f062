"""A socket that gunicorn can write to without ever waiting for the client."""

import socket
from typing import Any

# The maximum number of bytes passed to one send call.
PIECE_BYTES = 262_144


class Outgoing:
    """Accepts an answer of any size immediately, and sends it as the client reads."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._socket = sock
        self._left = bytearray()

    def __len__(self) -> int:
        return len(self._left)

    def sendall(self, data: bytes) -> None:
        """Send as much as the client accepts now, and keep the rest; raise OSError if the client is gone."""
        self._left += data
        self.flush()

    def send(self, data: bytes) -> int:
        """Do the same as ``sendall``."""
        self.sendall(data)
        return len(data)

    def flush(self) -> bool:
        """Send as much as the client accepts now and return whether all is sent; raise OSError if it is gone."""
        sent = 0
        try:
            with memoryview(self._left) as left:
                while sent < len(left):
                    sent += self._socket.send(left[sent : sent + PIECE_BYTES])
        except (BlockingIOError, InterruptedError):
            pass
        finally:
            del self._left[:sent]
        return not self._left

    def recv(self, size: int) -> bytes:
        """Return received bytes; raise BlockingIOError if there are none."""
        return self._socket.recv(size)

    def setblocking(self, _: bool) -> None:
        """Do nothing: gunicorn would make its threads block."""

    def settimeout(self, _: float | None) -> None:
        """Do nothing: the socket never waits."""

    @property
    def family(self) -> int:
        """Return the address family, which identifies a Unix socket; only its owner can open it."""
        return self._socket.family

    def fileno(self) -> int:
        """Return the file descriptor, for selectors."""
        return self._socket.fileno()

    def shutdown(self, how: int) -> None:
        """Shut down one direction."""
        self._socket.shutdown(how)

    def close(self) -> None:
        """Do nothing: gunicorn would close the socket in a thread while the worker still watches it."""

    def hang_up(self) -> None:
        """Close the connection."""
        self._socket.close()

    def getsockname(self) -> Any:  # noqa: ANN401  # the socket's own signature
        """Return the local address."""
        return self._socket.getsockname()
