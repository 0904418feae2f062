"""How much one key, one address and all together may ask: counted in each API process by itself."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock
from time import monotonic

from codequarry.shared.errors import TooManyRequests
from codequarry.shared.settings.service import LimitSettings

# Who is told that too much runs at once can't know when some of it ends; searches take well below a second.
BUSY_SECONDS = 1.0
# Keys whose buckets are kept; one that has been quiet for long starts with a full one anyway.
MAX_BUCKETS = 10_000


@dataclass(slots=True)
class _Bucket:
    """Requests that may still come at once; it fills at a steady rate."""

    left: float
    at: float
    running: int = 0


class RateLimits:
    """Admits requests as the settings say; one for all threads of a process."""

    def __init__(self, settings: LimitSettings, clock: Callable[[], float] = monotonic) -> None:
        """Count by ``clock``."""
        self._settings = settings
        self._clock = clock
        self._lock = Lock()
        self._all = _Bucket(float(settings.total_burst), clock())
        self._by_name: dict[str, _Bucket] = {}

    def enter(self, name: str) -> None:
        """Admit a request of somebody, who must ``leave`` again; TooManyRequests where a limit is reached."""
        limits, now = self._settings, self._clock()
        with self._lock:
            own = self._bucket(name, now)
            _check_running(own, limits.concurrent, "with this key")
            _check_running(self._all, limits.total_concurrent, "in this service")
            # Both are looked at before either pays: who is refused has not used anything up.
            _check_rate(own, limits.requests_per_minute, limits.burst, now, "with this key")
            _check_rate(self._all, limits.total_requests_per_minute, limits.total_burst, now, "in this service")
            for bucket in (own, self._all):
                bucket.left -= 1
                bucket.running += 1

    def leave(self, name: str) -> None:
        """End a request that was admitted."""
        with self._lock:
            self._all.running -= 1
            self._by_name[name].running -= 1

    def _bucket(self, name: str, now: float) -> _Bucket:
        if name not in self._by_name and len(self._by_name) >= MAX_BUCKETS:
            self._by_name = {key: one for key, one in self._by_name.items() if one.running}
        return self._by_name.setdefault(name, _Bucket(float(self._settings.burst), now))


class RefusalLimits:
    """Sends away who was refused too often, by address and before any key is looked up; one for a whole process.

    A key that was let in stays welcome: who shares an address with somebody that tries keys can go on. Over a Unix
    socket nobody has an address, and nobody is sent away.
    """

    def __init__(self, settings: LimitSettings, clock: Callable[[], float] = monotonic) -> None:
        """Count by ``clock``."""
        self._rate = settings.refused_per_minute
        self._clock = clock
        self._lock = Lock()
        self._by_address: OrderedDict[str, _Bucket] = OrderedDict()
        self._welcome: OrderedDict[bytes, None] = OrderedDict()

    def check(self, address: str, token: str | None) -> None:
        """Raise TooManyRequests where an address was refused too often, unless the token is known to be good."""
        if self._rate is None or not address:
            return
        with self._lock:
            if token is None or _hash(token) not in self._welcome:
                bucket = self._bucket(address)
                _check_rate(bucket, self._rate, self._rate, self._clock(), "without a valid key from this address")

    def note_refused(self, address: str, token: str | None) -> None:
        """Count a request that was refused, with the token that it brought."""
        if self._rate is None or not address:
            return
        with self._lock:
            bucket = self._bucket(address)
            bucket.left = max(0.0, bucket.left - 1)
            if token is not None:
                self._welcome.pop(_hash(token), None)

    def note_admitted(self, token: str | None) -> None:
        """Remember that a token is a good one."""
        if token is None or self._rate is None:
            return
        with self._lock:
            self._welcome[_hash(token)] = None
            self._welcome.move_to_end(_hash(token))
            if len(self._welcome) > MAX_BUCKETS:
                self._welcome.popitem(last=False)

    def _bucket(self, address: str) -> _Bucket:
        """Return the bucket of an address; of too many, the one that nobody used for longest is forgotten."""
        bucket = self._by_address.setdefault(address, _Bucket(float(self._rate or 0), self._clock()))
        self._by_address.move_to_end(address)
        if len(self._by_address) > MAX_BUCKETS:
            self._by_address.popitem(last=False)
        return bucket


def _hash(token: str) -> bytes:
    return sha256(token.encode(errors="surrogatepass")).digest()


def _check_rate(bucket: _Bucket, rate: int | None, burst: int, now: float, whose: str) -> None:
    """Fill a bucket by the time that passed; TooManyRequests where nothing is left in it."""
    if rate is None:
        bucket.left = float(burst)
        return
    bucket.left = min(float(burst), bucket.left + (now - bucket.at) * rate / 60)
    bucket.at = now
    if bucket.left < 1:
        wait = (1 - bucket.left) * 60 / rate
        raise TooManyRequests(f"more than {rate} requests a minute {whose}; ask again later", wait)


def _check_running(bucket: _Bucket, most: int | None, whose: str) -> None:
    if most is not None and bucket.running >= most:
        raise TooManyRequests(f"{most} requests {whose} are running already; ask again later", BUSY_SECONDS)
