"""Lines that anybody can cause, bounded: the first ones of a minute are written, the others counted and told together.

Else whoever is refused could fill a disk by asking again and again. Nothing is lost silently: what was withheld is told
when the minute is over, and when the process ends.
"""

import atexit
from collections import Counter
from collections.abc import Callable, Hashable
from threading import Lock, Timer
from time import monotonic
from typing import Generic, TypeVar

Kind = TypeVar("Kind", bound=Hashable)

# Lines a minute because of one address, enough to see what it is after…
EACH_PER_MINUTE = 10
# …and of all together: of 200 bytes each that is about 30 MB a day.
ALL_PER_MINUTE = 100
MINUTE_SECONDS = 60.0
# So many kinds are counted each by itself; what comes beyond them in the same minute is counted under `rest`.
MOST_KINDS = 200


class BoundedLog(Generic[Kind]):
    """Says which lines are written; for all threads of a process."""

    def __init__(self, tell: Callable[[Kind, int], None], rest: Kind, clock: Callable[[], float] = monotonic) -> None:
        """Have ``tell`` write down how many of a kind were withheld; where it raises OSError it is asked again."""
        self._tell, self._rest, self._clock = tell, rest, clock
        self._lock = Lock()
        self._since = clock()
        self._passed: Counter[str] = Counter()
        self._withheld: Counter[Kind] = Counter()
        self._timer: Timer | None = None

    def allows(self, address: str, kind: Kind) -> bool:
        """Tell whether a line because of ``address`` is written; if not, it is counted under its ``kind``."""
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
        """Tell what was withheld, and begin a new minute."""
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
        """Have it told also where nobody asks any more, or the process ends."""
        self._timer = Timer(MINUTE_SECONDS, self.flush)
        self._timer.daemon = True
        self._timer.start()
        atexit.unregister(self.flush)
        atexit.register(self.flush)
