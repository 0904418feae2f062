"""The store, embedder and search engine of one process, opened on first use."""

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

# Seconds until a model that could not be used is tried again: a package may be installed, or a server up, by then.
RETRY_SECONDS = 30.0


log = logger("codequarry.api")


@dataclass(frozen=True, slots=True)
class _Opened:
    """The engine opened last, and when; ``index`` is None if the caller passed the store."""

    engine: SearchEngine
    index: OpenIndex | None = None
    at: float = 0.0


class Backend:
    """Opens what a search needs once; if that fails, the next request tries again.

    After a migration switches editions, the next request opens the new edition; running requests finish on the old.
    Each worker process needs its own backend: connections and files are not shared across a fork.
    """

    def __init__(
        self,
        settings: SettingsModel,
        store: Store | None = None,
        embedder: Embedder | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Search the index of ``settings``, or a given ``store`` with the ``embedder`` of its vectors."""
        self.settings = settings
        self._clock = clock
        self._lock = Lock()
        self._editions: Editions | None = None
        # All editions share it: its model is independent of theirs.
        self._second = second_stage(settings)
        given = SearchEngine(store, embedder, settings, second=self._second) if store and embedder else None
        self._opened = _Opened(given) if given else None
        self._retired: list[tuple[float, OpenIndex]] = []

    def engine(self, deadline: Deadline | None = None) -> SearchEngine:
        """Return the engine over the active edition; raise StoreUnavailable if the store does not answer.

        Its requests to the store end by ``deadline``; without a deadline they wait as long as an indexing run does.
        """
        opened = self._opened
        # Checked without the lock, so that a request to an unreachable store does not block others.
        is_current = opened is not None and not self._is_outdated(opened, deadline)
        if opened is not None and is_current and not self._retired:
            return opened.engine.within(deadline)
        # Requests wait here while another thread opens the store; the wait ends when the first of them times out.
        with self._lock:
            self._close_retired()
            if self._opened is None:
                return self._open(deadline or Deadline()).within(deadline)
            if self._opened is opened and not is_current:
                return self._reopen(opened, deadline or Deadline()).within(deadline)
            return self._opened.engine.within(deadline)

    def seen_by(self, principal: Principal, deadline: Deadline | None = None) -> SearchEngine:
        """Return the engine limited to what a principal may see; ``engine`` returns that of the owner."""
        return self.engine(deadline).seen_by(principal)

    def search(self, request: SearchRequest, principal: Principal, deadline: Deadline | None = None) -> SearchAnswer:
        """Answer a request; if the index moves while it waits for a commit, search the new edition."""
        try:
            return self.seen_by(principal, deadline).search(request)
        except IndexMoved:
            return self.seen_by(principal, deadline).search(request)

    def checks(self, deadline: Deadline | None = None) -> dict[str, str]:
        """Return for each part ``ok`` or that it is unavailable."""
        try:
            engine = self.engine(deadline)
            read_head(engine.store)
        except CodequarryError as error:
            # Probes need no key, so the store's address and error only go to the log.
            log.warning("not ready", detail=str(error))
            return {"store": "unavailable"}
        return {"store": "ok", "embedding": "ok" if engine.embeds else "unavailable: searches use words only"}

    def close(self) -> None:
        """Close everything that was opened."""
        with self._lock:
            for index in (self._opened.index if self._opened else None, *(index for _, index in self._retired)):
                if index is not None:
                    index.close()
            if self._editions is not None:
                self._editions.close()
            if self._second is not None:
                self._second.close()
            self._editions = self._opened = None
            self._retired = []

    def _is_outdated(self, opened: _Opened, deadline: Deadline | None) -> bool:
        editions = self._editions
        if opened.index is None or editions is None:
            return False
        if opened.index.degraded and self._clock() - opened.at >= RETRY_SECONDS:
            return True
        # If the pointer can't be read, keep the engine: the request itself finds out whether the store answers.
        with suppress(CodequarryError):
            return editions.within(deadline).active() != opened.index.edition
        return False

    def _reopen(self, opened: _Opened, deadline: Deadline) -> SearchEngine:
        try:
            return self._open(deadline)
        except CodequarryError:
            # The open edition answers until the new edition opens. The new record keeps waiting requests from trying.
            self._opened = replace(opened, at=self._clock())
            return opened.engine

    def _open(self, deadline: Deadline) -> SearchEngine:
        if self._editions is None:
            self._editions = editions_of(self.settings)
        index = open_index(self.settings, self._editions.within(deadline), interactive=True)
        try:
            check_counter(index.store)
            _bind(index.store)
        except CodequarryError:
            index.close()
            raise
        if self._opened is not None and self._opened.index is not None:
            self._retired.append((self._clock() + self.settings.retention.grace_seconds, self._opened.index))
        # Each request gives the store its own deadline.
        store = index.store.within(None)
        engine = SearchEngine(store, index.embedder, self.settings, index.degraded, self._second)
        self._opened = _Opened(engine, index, self._clock())
        return engine

    def _close_retired(self) -> None:
        now = self._clock()
        for due, index in self._retired:
            if due <= now:
                index.close()
        self._retired = [(due, index) for due, index in self._retired if due > now]


def _bind(store: DocumentStore) -> None:
    """Bind grants that an older version wrote; in a read-only store they stay unbound."""
    try:
        bind_index(store)
    except StoreError as error:
        log.warning("grants are not bound to repositories yet", detail=str(error))
