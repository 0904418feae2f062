"""The socket of a connection as gunicorn writes to it: nothing that is done to it waits."""

import socket
from typing import Any

# The most that is handed to the system at once.
PIECE_BYTES = 262_144


class Outgoing:
    """Takes an answer at once, whatever its size, and sends it as its client reads."""

    def __init__(self, sock: socket.socket) -> None:
        """Send over ``sock``, which does not block from here on."""
        sock.setblocking(False)
        self._socket = sock
        self._left = bytearray()

    def __len__(self) -> int:
        """Return how many bytes are still to be sent."""
        return len(self._left)

    def sendall(self, data: bytes) -> None:
        """Send what the client takes now, and keep the rest; OSError where the client is gone."""
        self._left += data
        self.flush()

    def send(self, data: bytes) -> int:
        """Do as ``sendall``."""
        self.sendall(data)
        return len(data)

    def flush(self) -> bool:
        """Send what the client takes now; True when all is out, OSError where the client is gone."""
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
        """Return what has come; BlockingIOError where that is nothing."""
        return self._socket.recv(size)

    def setblocking(self, _: bool) -> None:
        """Stay as it is: gunicorn would have threads wait."""

    def settimeout(self, _: float | None) -> None:
        """Stay as it is."""

    @property
    def family(self) -> int:
        """Return the family of addresses: a Unix socket can be opened by its owner alone."""
        return self._socket.family

    def fileno(self) -> int:
        """Return what selectors know the socket by."""
        return self._socket.fileno()

    def shutdown(self, how: int) -> None:
        """End one direction."""
        self._socket.shutdown(how)

    def close(self) -> None:
        """Stay open: gunicorn would close it in a thread, while the worker watches it."""

    def hang_up(self) -> None:
        """Close the connection."""
        self._socket.close()

    def getsockname(self) -> Any:  # noqa: ANN401  # the socket's own signature
        """Return the address of this end."""
        return self._socket.getsockname()
