"""Calls of a server while a client waits: a slow server is waited for, a silent one is given up soon.

Beside a call that takes long, its server is asked for a sign of life: what it can answer at once. If it gives none, all
calls of it are given up together, and for a while no further one is made. So a client learns within two seconds that a
server is gone, although a slow one may take ten.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress
from threading import Lock, Thread
from time import monotonic, sleep
from typing import TypeVar

from codequarry.shared.liveness.breaker import Breaker

# Most calls end sooner. Beside one that does not, its server is asked for a sign of life.
PATIENCE_SECONDS = 0.25
# A server that gives no sign for so long is given up, and with it every call that waits for it. Also on a busy machine
# a sign takes milliseconds. With the patience, and with the rest of a request, this stays below two seconds.
SIGN_SECONDS = 1.0
# While calls go on, or the server is silent, it is asked again after so long.
AGAIN_SECONDS = 0.5
# A silent server is called again when it gives a sign. Should it give none to us although it lives, one call may try
# after so long.
PAUSE_SECONDS = 3.0
# When nobody wanted anything of a server for so long, it is no longer asked for signs.
INTEREST_SECONDS = 10.0

Abort = Callable[[], None]
"""Ends a call that waits; called from another thread, and must return at once."""
Probe = Callable[[float], bool]
"""Asks a server what it can answer at once, and waits no longer than the seconds given."""

Answer = TypeVar("Answer")


class Silent(Exception):
    """The server gave no sign of life; another one may be asked at once."""


_known: dict[str, "Pulse"] = {}
_known_lock = Lock()


def pulse_of(address: str, gives_sign: Probe, sign_seconds: float = SIGN_SECONDS) -> "Pulse":
    """Return what this process knows of the server at an address, whichever of its clients has found it out."""
    with _known_lock:
        return _known.setdefault(address, Pulse(gives_sign, sign_seconds))


class Pulse:
    """The signs of life of one server, for all threads of a process."""

    def __init__(self, gives_sign: Probe, sign_seconds: float = SIGN_SECONDS) -> None:
        self._gives_sign, self._sign_seconds = gives_sign, sign_seconds
        self._lock = Lock()
        self._breaker = Breaker(PAUSE_SECONDS, PAUSE_SECONDS)
        self._calls: dict[object, tuple[float, Abort]] = {}
        self._is_silent = False
        self._asked_at = self._wanted_at = float("-inf")
        self._thread: Thread | None = None

    def allows(self) -> bool:
        """Tell whether to call the server: it is not known to be silent, or it is time for one call to try."""
        self._wanted_at = monotonic()
        if self._breaker.allows():
            return True
        with self._lock:
            self._ensure_watch()
        return False

    def ask(self, send: Callable[[], Answer], seconds: float) -> Answer:
        """Return what ``send`` returns; Silent if the server shows no sign of life, TimeoutError after ``seconds``.

        It runs in a thread of its own: HTTP libraries can't be told to end a call, so one that is given up is left to
        its own timeout.
        """
        answer: Future[Answer] = Future()
        with self.watched(lambda: _fail(answer, Silent())):
            Thread(target=_fulfil, args=(answer, send), name="call", daemon=True).start()
            try:
                return answer.result(seconds)
            finally:
                _fail(answer, TimeoutError())  # nobody waits for it any more

    @contextmanager
    def watched(self, abort: Abort) -> Iterator[None]:
        """Call ``give_up`` if the server falls silent before the end of the block."""
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
        """Note that the server has answered."""
        self._is_silent = False
        self._breaker.record_success()

    def record_failure(self) -> None:
        """Note that the server can't be reached; it is called again when it gives a sign."""
        self._is_silent = True
        self._breaker.record_failure()

    def _ensure_watch(self) -> None:
        # A process that was forked has this object without the thread.
        if self._thread is None or not self._thread.is_alive():
            self._thread = Thread(target=self._watch, name="pulse", daemon=True)
            self._thread.start()

    def _watch(self) -> None:
        while self._rest():
            self._asked_at = monotonic()
            if self._gives_sign(self._sign_seconds):
                self.record_success()
                continue
            # Noted once: each sign that is missing would put off the call that may try after a while.
            if not self._is_silent:
                self.record_failure()
            self._give_up_calls()

    def _rest(self) -> bool:
        """Sleep until a sign is wanted; False when nothing was wanted of the server for a while."""
        while True:
            with self._lock:
                now, due = monotonic(), self._due()
                if not self._calls and now - self._wanted_at > INTEREST_SECONDS:
                    self._thread = None
                    return False
            if due <= now:
                return True
            # A call that begins meanwhile is not due before this is over.
            sleep(min(due - now, PATIENCE_SECONDS))

    def _due(self) -> float:
        """Return when a sign is wanted next."""
        began = min((began for began, _ in self._calls.values()), default=float("inf"))
        wanted = float("-inf") if self._is_silent else began + PATIENCE_SECONDS
        return max(wanted, self._asked_at + AGAIN_SECONDS)

    def _give_up_calls(self) -> None:
        # Under the lock: a call that has ended is left alone, for its connection may be another's already.
        with self._lock:
            for _, abort in self._calls.values():
                abort()


def _fulfil(answer: "Future[Answer]", send: Callable[[], Answer]) -> None:
    try:
        found = send()
    except Exception as error:
        _fail(answer, error)
    else:
        with suppress(InvalidStateError):  # it was given up
            answer.set_result(found)


def _fail(answer: "Future[Answer]", error: Exception) -> None:
    with suppress(InvalidStateError):  # it has ended in another way
        answer.set_exception(error)
