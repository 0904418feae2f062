"""Rate limits per key, per address and for the whole service; each API process counts separately."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock
from time import monotonic

from codequarry.shared.errors import TooManyRequests
from codequarry.shared.settings.service import LimitSettings

# Retry-After if too many requests are running: a search takes well under a second.
BUSY_SECONDS = 1.0
# Limit for buckets in memory; a caller that has been idle for long would have a full bucket anyway.
MAX_BUCKETS = 10_000


@dataclass(slots=True)
class _Bucket:
    """A token bucket that refills at a steady rate; ``left`` is the number of requests that may come at once."""

    left: float
    at: float
    running: int = 0


class RateLimits:
    """Admits requests within the configured limits; shared by all threads of a process."""

    def __init__(self, settings: LimitSettings, clock: Callable[[], float] = monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._lock = Lock()
        self._all = _Bucket(float(settings.total_burst), clock())
        self._by_name: dict[str, _Bucket] = {}

    def enter(self, name: str) -> None:
        """Admit a request from ``name``, to be ended by ``leave``; raise TooManyRequests if a limit is reached."""
        limits, now = self._settings, self._clock()
        with self._lock:
            own = self._bucket(name, now)
            _check_running(own, limits.concurrent, "with this key")
            _check_running(self._all, limits.total_concurrent, "in this service")
            # Check both buckets before taking from either, so that a refused request uses up nothing.
            _check_rate(own, limits.requests_per_minute, limits.burst, now, "with this key")
            _check_rate(self._all, limits.total_requests_per_minute, limits.total_burst, now, "in this service")
            for bucket in (own, self._all):
                bucket.left -= 1
                bucket.running += 1

    def leave(self, name: str) -> None:
        """End an admitted request."""
        with self._lock:
            self._all.running -= 1
            self._by_name[name].running -= 1

    def _bucket(self, name: str, now: float) -> _Bucket:
        if name not in self._by_name and len(self._by_name) >= MAX_BUCKETS:
            self._by_name = {key: bucket for key, bucket in self._by_name.items() if bucket.running}
        return self._by_name.setdefault(name, _Bucket(float(self._settings.burst), now))


class RefusalLimits:
    """Blocks addresses that were refused too often, before any key is looked up; shared by all threads of a process.

    A known key keeps working while others guess keys from its address. Clients of a Unix socket have no address.
    """

    def __init__(self, settings: LimitSettings, clock: Callable[[], float] = monotonic) -> None:
        self._rate = settings.refused_per_minute
        self._clock = clock
        self._lock = Lock()
        self._by_address: OrderedDict[str, _Bucket] = OrderedDict()
        self._welcome: OrderedDict[bytes, None] = OrderedDict()

    def check(self, address: str, token: str | None) -> None:
        """Raise TooManyRequests if an address was refused too often, unless the token is known to be valid."""
        if self._rate is None or not address:
            return
        with self._lock:
            if token is None or _hash(token) not in self._welcome:
                bucket = self._bucket(address)
                _check_rate(bucket, self._rate, self._rate, self._clock(), "without a valid key from this address")

    def note_refused(self, address: str, token: str | None) -> None:
        """Count a refused request, and forget that its token was valid."""
        if self._rate is None or not address:
            return
        with self._lock:
            bucket = self._bucket(address)
            bucket.left = max(0.0, bucket.left - 1)
            if token is not None:
                self._welcome.pop(_hash(token), None)

    def note_admitted(self, token: str | None) -> None:
        """Remember that a token is valid."""
        if token is None or self._rate is None:
            return
        with self._lock:
            self._welcome[_hash(token)] = None
            self._welcome.move_to_end(_hash(token))
            if len(self._welcome) > MAX_BUCKETS:
                self._welcome.popitem(last=False)

    def _bucket(self, address: str) -> _Bucket:
        """Return the bucket of an address; if there are too many, drop the least recently used."""
        bucket = self._by_address.setdefault(address, _Bucket(float(self._rate or 0), self._clock()))
        self._by_address.move_to_end(address)
        if len(self._by_address) > MAX_BUCKETS:
            self._by_address.popitem(last=False)
        return bucket


def _hash(token: str) -> bytes:
    return sha256(token.encode(errors="surrogatepass")).digest()


def _check_rate(bucket: _Bucket, rate: int | None, burst: int, now: float, whose: str) -> None:
    """Refill a bucket for the time that has passed; raise TooManyRequests if it is still empty."""
    if rate is None:
        bucket.left = float(burst)
        return
    bucket.left = min(float(burst), bucket.left + (now - bucket.at) * rate / 60)
    bucket.at = now
    if bucket.left < 1:
        wait = (1 - bucket.left) * 60 / rate
        raise TooManyRequests(f"more than {rate} requests a minute {whose}; retry later", wait)


def _check_running(bucket: _Bucket, most: int | None, whose: str) -> None:
    if most is not None and bucket.running >= most:
        raise TooManyRequests(f"{most} requests {whose} are already running; retry later", BUSY_SECONDS)
