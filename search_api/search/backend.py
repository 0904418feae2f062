"""The store, the embedder and the engine of one process, opened at their first use."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Lock
from time import monotonic

from codequarry.search_api.answers.hits import SearchAnswer
from codequarry.search_api.query.request import SearchRequest
from codequarry.search_api.ranking.second_stage import second_stage
from codequarry.search_api.search.engine import SearchEngine
from codequarry.shared.access.binding import bind_index
from codequarry.shared.access.grants import Principal
from codequarry.shared.catalog.ledger import check_counter, read_head
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.errors import CodequarryError, IndexMoved, StoreError
from codequarry.shared.index.opened_index import OpenIndex, open_index
from codequarry.shared.liveness.deadline import Deadline
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.editions import Editions
from codequarry.shared.store.factory import editions_of
from codequarry.shared.store.port import DocumentStore, Store
from codequarry.shared.telemetry.logs import logger

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

    def engine(self, deadline: Deadline | None = None) -> SearchEngine:
        """Return the engine over the edition that is active now; StoreUnavailable if the store does not answer.

        Its requests to the store end by ``deadline``; without one they wait as long as a run does.
        """
        opened = self._opened
        # Without the lock: a request that finds the store gone keeps no other waiting.
        is_current = opened is not None and not self._is_outdated(opened, deadline)
        if opened is not None and is_current and not self._left:
            return opened.engine.within(deadline)
        # Requests wait here while another thread opens the store; the wait ends when the first of them times out.
        with self._lock:
            self._close_left()
            if self._opened is None:
                return self._open(deadline or Deadline()).within(deadline)
            if self._opened is opened and not is_current:
                return self._open_anew(opened, deadline or Deadline()).within(deadline)
            return self._opened.engine.within(deadline)

    def seen_by(self, principal: Principal, deadline: Deadline | None = None) -> SearchEngine:
        """Return the engine as it answers a principal; what ``engine`` returns answers the owner."""
        return self.engine(deadline).seen_by(principal)

    def search(self, request: SearchRequest, principal: Principal, deadline: Deadline | None = None) -> SearchAnswer:
        """Answer a request; one that waited for a commit while the index moved asks the other edition for it."""
        try:
            return self.seen_by(principal, deadline).search(request)
        except IndexMoved:
            return self.seen_by(principal, deadline).search(request)

    def checks(self, deadline: Deadline | None = None) -> dict[str, str]:
        """Return ``ok`` for each part, or that it is unavailable."""
        try:
            engine = self.engine(deadline)
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

    def _is_outdated(self, opened: _Opened, deadline: Deadline | None) -> bool:
        editions = self._editions
        if opened.index is None or editions is None:
            return False
        if opened.index.degraded and self._clock() - opened.at >= RETRY_SECONDS:
            return True
        # A pointer that can't be read says nothing; whether the store answers, the request itself will find out.
        with suppress(CodequarryError):
            return editions.within(deadline).active() != opened.index.edition
        return False

    def _open_anew(self, opened: _Opened, deadline: Deadline) -> SearchEngine:
        try:
            return self._open(deadline)
        except CodequarryError:
            # The edition that is open answers until the other one can be opened; who waited here does not try it too.
            self._opened = replace(opened, at=self._clock())
            return opened.engine

    def _open(self, deadline: Deadline) -> SearchEngine:
        if self._editions is None:
            self._editions = editions_of(self.settings)
        index = open_index(self.settings, self._editions.within(deadline), prompt=True)
        try:
            check_counter(index.store)
            _bind(index.store)
        except CodequarryError:
            index.close()
            raise
        if self._opened is not None and self._opened.index is not None:
            self._left.append((self._clock() + self.settings.retention.grace_seconds, self._opened.index))
        # Each request gives the store a deadline of its own.
        store = index.store.within(None)
        engine = SearchEngine(store, index.embedder, self.settings, index.degraded, self._second)
        self._opened = _Opened(engine, index, self._clock())
        return engine

    def _close_left(self) -> None:
        """Close what no request uses any more."""
        now = self._clock()
        for due, index in self._left:
            if due <= now:
                index.close()
        self._left = [(due, index) for due, index in self._left if due > now]


def _bind(store: DocumentStore) -> None:
    """Bind what an older version wrote; a store that may only be read is searched as it is, and unbound grants wait."""
    try:
        bind_index(store)
    except StoreError as error:
        log.warning("grants are not bound to repositories yet", detail=str(error))
