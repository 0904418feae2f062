"""Calls to a server while a client is waiting: a slow server is given time, a silent server is abandoned quickly.

During a long call, the server is probed with a request that it can answer at once. If it does not, all calls to it are
aborted together, and further calls are skipped for a while. So a client learns within two seconds that a server is
gone, although a call to a slow server may take ten.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress
from threading import Lock, Thread
from time import monotonic, sleep
from typing import TypeVar

from codequarry.shared.liveness.breaker import Breaker

# Most calls end sooner. During a longer call, the server is probed.
PATIENCE_SECONDS = 0.25
# The timeout of a probe, after which every call to the server is aborted. Even on a busy machine, a probe takes
# milliseconds. With PATIENCE_SECONDS and the rest of a request, the total stays below two seconds.
SIGN_SECONDS = 1.0
# The interval between probes while calls are running or the server is silent.
AGAIN_SECONDS = 0.5
# A silent server is called again when it answers a probe. In case only probes fail, one call may try after this time.
RETRY_SECONDS = 3.0
# A server that no caller has tried to use for this long is no longer probed.
INTEREST_SECONDS = 10.0

Abort = Callable[[], None]
"""Aborts a waiting call; it runs in another thread and must return at once."""
Probe = Callable[[float], bool]
"""Probes a server with a timeout in seconds, and returns whether it answered."""

Answer = TypeVar("Answer")


class Silent(Exception):
    """The server did not answer a probe; another server may be tried at once."""


_known: dict[str, "Pulse"] = {}
_known_lock = Lock()


def pulse_of(address: str, gives_sign: Probe, sign_seconds: float = SIGN_SECONDS) -> "Pulse":
    """Return the pulse of the server at an address, shared by all its clients in this process."""
    with _known_lock:
        return _known.setdefault(address, Pulse(gives_sign, sign_seconds))


class Pulse:
    """Tracks whether a server is alive; shared by all threads of a process."""

    def __init__(self, gives_sign: Probe, sign_seconds: float = SIGN_SECONDS) -> None:
        self._gives_sign, self._sign_seconds = gives_sign, sign_seconds
        self._lock = Lock()
        self._breaker = Breaker(RETRY_SECONDS, RETRY_SECONDS)
        self._calls: dict[object, tuple[float, Abort]] = {}
        self._is_silent = False
        self._asked_at = self._wanted_at = float("-inf")
        self._thread: Thread | None = None

    def allows(self) -> bool:
        """Return whether to call the server: whether it is not known to be silent, or a trial call is due."""
        self._wanted_at = monotonic()
        if self._breaker.allows():
            return True
        with self._lock:
            self._ensure_watch()
        return False

    def ask(self, send: Callable[[], Answer], seconds: float) -> Answer:
        """Return what ``send`` returns; raise Silent if the server falls silent, TimeoutError after ``seconds``.

        ``send`` runs in its own thread. HTTP libraries can't abort a call, so an abandoned call runs until its timeout.
        """
        answer: Future[Answer] = Future()
        with self.watched(lambda: _fail(answer, Silent())):
            Thread(target=_fulfil, args=(answer, send), name="call", daemon=True).start()
            try:
                return answer.result(seconds)
            finally:
                _fail(answer, TimeoutError())  # ignore a late answer

    @contextmanager
    def watched(self, abort: Abort) -> Iterator[None]:
        """Call ``abort`` if the server falls silent during the block."""
        call = object()
        with self._lock:
            self._wanted_at = monotonic()
            self._calls[call] = (self._wanted_at, abort)
            self._ensure_watch()
        try:
            yield
        finally:
            with self._lock:
                del self._calls[call]

    def record_success(self) -> None:
        """Record that the server has answered."""
        self._is_silent = False
        self._breaker.record_success()

    def record_failure(self) -> None:
        """Record that the server can't be reached; it is called again when it answers a probe."""
        self._is_silent = True
        self._breaker.record_failure()

    def _ensure_watch(self) -> None:
        # A forked process inherits this object without its thread.
        if self._thread is None or not self._thread.is_alive():
            self._thread = Thread(target=self._watch, name="pulse", daemon=True)
            self._thread.start()

    def _watch(self) -> None:
        while self._wait_for_probe():
            self._asked_at = monotonic()
            if self._gives_sign(self._sign_seconds):
                self.record_success()
                continue
            # Record only the first failure: each further record would postpone the trial call.
            if not self._is_silent:
                self.record_failure()
            self._abort_calls()

    def _wait_for_probe(self) -> bool:
        """Sleep until a probe is due; return False if no caller has tried to use the server for a while."""
        while True:
            with self._lock:
                now, due = monotonic(), self._due()
                if not self._calls and now - self._wanted_at > INTEREST_SECONDS:
                    self._thread = None
                    return False
            if due <= now:
                return True
            # A call that begins during this sleep needs no probe before the sleep ends.
            sleep(min(due - now, PATIENCE_SECONDS))

    def _due(self) -> float:
        began = min((began for began, _ in self._calls.values()), default=float("inf"))
        wanted = float("-inf") if self._is_silent else began + PATIENCE_SECONDS
        return max(wanted, self._asked_at + AGAIN_SECONDS)

    def _abort_calls(self) -> None:
        # Under the lock, so that no ended call is aborted: its connection may already serve another call.
        with self._lock:
            for _, abort in self._calls.values():
                abort()


def _fulfil(answer: "Future[Answer]", send: Callable[[], Answer]) -> None:
    try:
        found = send()
    except Exception as error:
        _fail(answer, error)
    else:
        with suppress(InvalidStateError):  # the call was abandoned
            answer.set_result(found)


def _fail(answer: "Future[Answer]", error: Exception) -> None:
    with suppress(InvalidStateError):  # the call has already ended
        answer.set_exception(error)
