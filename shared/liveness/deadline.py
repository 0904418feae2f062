"""How long the servers behind one request may take in all."""

from time import monotonic

# A client waits for each request: a server that is slow but alive has this long, in seconds.
REQUEST_SECONDS = 30.0


class Deadline:
    """A moment after which nobody waits for an answer any more; it belongs to one request and is passed along."""

    def __init__(self, seconds: float = REQUEST_SECONDS) -> None:
        self._seconds = seconds
        self.restart()

    def left(self) -> float:
        """Return the seconds that are left; 0 if the deadline is over."""
        return max(0.0, self._at - monotonic())

    def restart(self) -> None:
        """Give the servers the whole time again, after the request has waited for something else."""
        self._at = monotonic() + self._seconds
