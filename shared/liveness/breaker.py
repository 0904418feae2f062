"""Leaving alone for a while what did not answer, so that not everybody waits for it in vain."""

from collections.abc import Callable
from threading import Lock
from time import monotonic


class Breaker:
    """Remembers that something was gone a moment ago; one request at a time finds out whether it is back."""

    def __init__(self, left_alone: float, longest: float, clock: Callable[[], float] = monotonic) -> None:
        """Leave it alone for ``left_alone`` seconds; who then asks comes back within ``longest``, or is given up."""
        self._left_alone, self._longest, self._clock = left_alone, longest, clock
        self._lock = Lock()
        self._closed_until: float | None = None

    def allows(self) -> bool:
        """Tell whether to ask; the first one after a while may, the others wait for what it finds."""
        with self._lock:
            if self._closed_until is None:
                return True
            if self._clock() < self._closed_until:
                return False
            self._closed_until = self._clock() + self._longest
            return True

    def record_failure(self) -> None:
        """Note that it did not answer."""
        with self._lock:
            self._closed_until = self._clock() + self._left_alone

    def record_success(self) -> None:
        """Note that it did."""
        with self._lock:
            self._closed_until = None
