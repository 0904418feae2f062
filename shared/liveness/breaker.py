"""A circuit breaker: after a failure, calls are skipped for a while, so that few callers wait in vain."""

from collections.abc import Callable
from threading import Lock
from time import monotonic


class Breaker:
    """Remembers that a service failed recently; one call at a time finds out whether it is back."""

    def __init__(self, left_alone: float, longest: float, clock: Callable[[], float] = monotonic) -> None:
        """Skip calls for ``left_alone`` seconds, then let one call try; after ``longest`` seconds it counts as lost."""
        self._left_alone, self._longest, self._clock = left_alone, longest, clock
        self._lock = Lock()
        self._closed_until: float | None = None

    def allows(self) -> bool:
        """Return whether the caller may call; after a pause, only the first caller may until its result is known."""
        with self._lock:
            if self._closed_until is None:
                return True
            if self._clock() < self._closed_until:
                return False
            self._closed_until = self._clock() + self._longest
            return True

    def record_failure(self) -> None:
        """Record a failed call."""
        with self._lock:
            self._closed_until = self._clock() + self._left_alone

    def record_success(self) -> None:
        """Record a successful call."""
        with self._lock:
            self._closed_until = None
