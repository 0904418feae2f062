"""The time limit for a request, shared by all the servers behind it."""

from time import monotonic

# A client is waiting for each request, so slow but live servers have this many seconds in all.
REQUEST_SECONDS = 30.0


class Deadline:
    """The moment at which a request is abandoned; it is passed along with the request."""

    def __init__(self, seconds: float = REQUEST_SECONDS) -> None:
        self._seconds = seconds
        self.restart()

    def left(self) -> float:
        """Return the seconds left, or 0 if the deadline has passed."""
        return max(0.0, self._at - monotonic())

    def restart(self) -> None:
        """Restart with the full time, after the request has waited for something else."""
        self._at = monotonic() + self._seconds
