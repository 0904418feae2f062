"""The store, the embedder and the engine of one process, opened at their first use."""

from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from threading import Lock
from time import monotonic

from codequarry.search_api.answer import SearchAnswer
from codequarry.search_api.engine import SearchEngine
from codequarry.search_api.request import SearchRequest
from codequarry.search_api.second import second_stage
from codequarry.shared.access.binding import bind_index
from codequarry.shared.access.grants import Principal
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.errors import CodequarryError, IndexMoved, StoreError
from codequarry.shared.haste import hurried, is_hurried
from codequarry.shared.opening import OpenIndex, open_index
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.consistency import check_counter
from codequarry.shared.store.editions import Editions
from codequarry.shared.store.factory import editions_of
from codequarry.shared.store.port import Store
from codequarry.shared.telemetry.logs import logger
from codequarry.shared.versions.ledger import read_head

# A model that can't be used is looked for again after so long: a package was installed, a server came up.
RETRY_SECONDS = 30.0


log = logger("codequarry.api")


@dataclass(frozen=True, slots=True)
class _Opened:
    """What was opened last, and when; ``index`` is None where the store was given."""

    engine: SearchEngine
    index: OpenIndex | None = None
    at: float = 0.0


class Backend:
    """Opens what a search needs once, and tries again on the next request where that failed.

    When a migration has put another edition in the index's place, the next request opens that one; those that run
    finish on the old one. A worker process must open its own: connections and files are not shared across a fork.
    """

    def __init__(
        self,
        settings: SettingsModel,
        store: Store | None = None,
        embedder: Embedder | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Search the index of ``settings``, or a ``store`` with the ``embedder`` that made it."""
        self.settings = settings
        self._clock = clock
        self._lock = Lock()
        self._editions: Editions | None = None
        # One for all editions: its model has nothing to do with theirs.
        self._second = second_stage(settings)
        given = SearchEngine(store, embedder, settings, second=self._second) if store and embedder else None
        self._opened = _Opened(given) if given else None
        self._left: list[tuple[float, OpenIndex]] = []

    def engine(self) -> SearchEngine:
        """Return the engine over the edition that is active now; StoreUnavailable where the store does not answer."""
        opened = self._opened
        # Without the lock: who finds out that the store is gone keeps nobody else waiting.
        is_current = opened is not None and not self._is_outdated(opened)
        if opened is not None and is_current and not self._left:
            return opened.engine
        # Requests wait here for whoever opens it: that is given up as soon as one of them would be.
        with self._lock, nullcontext() if is_hurried() else hurried():
            self._close_left()
            if self._opened is None:
                return self._open()
            if self._opened is opened and not is_current:
                return self._open_anew(opened)
            return self._opened.engine

    def seen_by(self, principal: Principal) -> SearchEngine:
        """Return the engine as it answers somebody; what ``engine`` returns answers the owner."""
        return self.engine().seen_by(principal)

    def search(self, request: SearchRequest, principal: Principal) -> SearchAnswer:
        """Answer a request; one that waited for a commit while the index moved asks the other edition for it."""
        try:
            return self.seen_by(principal).search(request)
        except IndexMoved:
            return self.seen_by(principal).search(request)

    def checks(self) -> dict[str, str]:
        """Return ``ok`` for each part, or that it is unavailable."""
        try:
            engine = self.engine()
            read_head(engine.store)
        except CodequarryError as error:
            # Probes need no key: where the store is, and what is wrong with it, is for the log.
            log.warning("not ready", detail=str(error))
            return {"store": "unavailable"}
        return {"store": "ok", "embedding": "ok" if engine.embeds else "unavailable: searches go on lexically"}

    def close(self) -> None:
        """Give back what was opened."""
        with self._lock:
            for index in (self._opened.index if self._opened else None, *(left for _, left in self._left)):
                if index is not None:
                    index.close()
            if self._editions is not None:
                self._editions.close()
            if self._second is not None:
                self._second.close()
            self._editions = self._opened = None
            self._left = []

    def _is_outdated(self, opened: _Opened) -> bool:
        editions = self._editions
        if opened.index is None or editions is None:
            return False
        if opened.index.degraded and self._clock() - opened.at >= RETRY_SECONDS:
            return True
        # A pointer that can't be read says nothing; whether the store answers, the request itself will find out.
        with suppress(CodequarryError):
            return editions.active() != opened.index.edition
        return False

    def _open_anew(self, opened: _Opened) -> SearchEngine:
        try:
            return self._open()
        except CodequarryError:
            # The edition that is open answers until the other one can be opened; who waited here does not try it too.
            self._opened = replace(opened, at=self._clock())
            return opened.engine

    def _open(self) -> SearchEngine:
        if self._editions is None:
            self._editions = editions_of(self.settings)
        index = open_index(self.settings, self._editions)
        try:
            check_counter(index.store)
            _bind(index.store)
        except CodequarryError:
            index.close()
            raise
        if self._opened is not None and self._opened.index is not None:
            self._left.append((self._clock() + self.settings.retention.grace_seconds, self._opened.index))
        engine = SearchEngine(index.store, index.embedder, self.settings, index.degraded, self._second)
        self._opened = _Opened(engine, index, self._clock())
        return engine

    def _close_left(self) -> None:
        """Close what no request uses any more."""
        now = self._clock()
        for due, index in self._left:
            if due <= now:
                index.close()
        self._left = [(due, index) for due, index in self._left if due > now]


def _bind(store: Store) -> None:
    """Bind what an older version wrote; a store that may only be read is searched as it is, and unbound grants wait."""
    try:
        bind_index(store)
    except StoreError as error:
        log.warning("grants are not bound to repositories yet", detail=str(error))
