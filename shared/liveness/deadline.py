"""The time limit of a request for all the servers behind it."""

from time import monotonic

# A client waits for each request, so slow servers that are alive have this long in all.
REQUEST_SECONDS = 30.0


class Deadline:
    """The moment after which a request is no longer waited for; it is passed along with the request."""

    def __init__(self, seconds: float = REQUEST_SECONDS) -> None:
        self._seconds = seconds
        self.restart()

    def left(self) -> float:
        """Return the seconds left; 0 if the deadline has passed."""
        return max(0.0, self._at - monotonic())

    def restart(self) -> None:
        """Restart the full time, after the request has waited for something else."""
        self._at = monotonic() + self._seconds
