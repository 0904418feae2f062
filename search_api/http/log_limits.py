"""Keeps unknown clients from filling the disk with log lines: beyond a limit per minute, lines are only counted."""

import atexit
from collections import Counter
from collections.abc import Callable, Hashable
from threading import Lock, Timer
from time import monotonic
from typing import Generic, TypeVar

Kind = TypeVar("Kind", bound=Hashable)

# Lines per minute for one address: enough to see what the client is trying.
EACH_PER_MINUTE = 10
# Lines per minute for all addresses: at 200 bytes a line, about 30 MB a day.
ALL_PER_MINUTE = 100
MINUTE_SECONDS = 60.0
# Kinds counted separately in a minute; further kinds are counted together as `rest`.
MOST_KINDS = 200


class BoundedLog(Generic[Kind]):
    """Decides which lines are written, and counts the rest; shared by all threads of a process."""

    def __init__(self, tell: Callable[[Kind, int], None], rest: Kind, clock: Callable[[], float] = monotonic) -> None:
        """Call ``tell`` with each kind and its number of withheld lines; after an OSError, try again later."""
        self._tell, self._rest, self._clock = tell, rest, clock
        self._lock = Lock()
        self._since = clock()
        self._passed: Counter[str] = Counter()
        self._withheld: Counter[Kind] = Counter()
        self._timer: Timer | None = None

    def allows(self, address: str, kind: Kind) -> bool:
        """Return whether to write a line caused by ``address``; if not, count it under its ``kind``."""
        with self._lock:
            is_over = self._clock() - self._since >= MINUTE_SECONDS
        if is_over:
            self.flush()
        with self._lock:
            if self._passed[address] < EACH_PER_MINUTE and self._passed.total() < ALL_PER_MINUTE:
                self._passed[address] += 1
                return True
            self._withhold(kind, 1)
            return False

    def flush(self) -> None:
        """Report the withheld lines, and begin a new minute."""
        with self._lock:
            withheld, self._withheld = self._withheld, Counter()
            self._passed.clear()
            self._since = self._clock()
            self._timer = None
        for kind, times in withheld.items():
            try:
                self._tell(kind, times)
            except OSError:
                with self._lock:
                    self._withhold(kind, times)

    def _withhold(self, kind: Kind, times: int) -> None:
        is_known = kind in self._withheld or len(self._withheld) < MOST_KINDS
        self._withheld[kind if is_known else self._rest] += times
        if self._timer is None:
            self._begin_timer()

    def _begin_timer(self) -> None:
        self._timer = Timer(MINUTE_SECONDS, self.flush)
        self._timer.daemon = True
        self._timer.start()
        atexit.unregister(self.flush)
        atexit.register(self.flush)
