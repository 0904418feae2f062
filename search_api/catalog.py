"""What the catalog says of the repositories and their versions, read once for many searches."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from time import monotonic

from codequarry.search_api.views import Point
from codequarry.shared.head import Head
from codequarry.shared.ledger import published_transactions, read_transaction
from codequarry.shared.repositories import (
    Progress,
    RefHead,
    Repository,
    Summary,
    list_repositories,
    read_progress,
    read_ref_head,
    read_summary,
)
from codequarry.shared.store.port import Store
from codequarry.shared.transactions import TransactionRecord

# How old the list of repositories may be: what a search sees comes from the head document, which is never cached;
# from the catalog come only branch, origin and the newest commit that a fetch has seen.
MAX_AGE_SECONDS = 2.0
# Summaries and records of published transactions never change; this bounds what a long life keeps of them. A record
# weighs as many as it has hundreds of paths and commits.
MAX_KEPT = 4096
NAMES_A_UNIT = 100
# Histories that are kept; a timeline has at most a few hundred transactions that may be asked for.
MAX_HISTORIES = 1024


@dataclass(frozen=True, slots=True)
class Publication:
    """The record and summary of a published transaction; either may be missing in an index that was cut short."""

    record: TransactionRecord | None
    summary: Summary | None

    @property
    def weight(self) -> int:
        """What it costs to keep."""
        record = self.record
        names = len(record.mask) + len(record.commits) + len(record.lost or ()) if record else 0
        return 1 + names // NAMES_A_UNIT


class Catalog:
    """Reads the catalog of one store, and keeps what can't have changed since."""

    def __init__(
        self, store: Store, on_read: Callable[[], None] = lambda: None, clock: Callable[[], float] = monotonic
    ) -> None:
        """Read from ``store``; ``on_read`` is called whenever the list is read anew, and may refuse by raising."""
        self._store = store
        self._on_read = on_read
        self._clock = clock
        self._lock = Lock()
        self._repositories: Mapping[str, Repository] = {}
        self._read_at = float("-inf")
        self._publications: dict[tuple[int, int], Publication] = {}
        self._weight = 0
        self._histories: dict[int, tuple[tuple[int, int], Sequence[Point]]] = {}
        self._ref_heads: dict[tuple[str, str], tuple[float, RefHead | None]] = {}

    def repositories(self, head: Head, asked: Iterable[str] = ()) -> Mapping[str, Repository]:
        """Return the repositories by name, read anew where they are old or lack one of ``head`` or one asked for."""
        now = self._clock()
        with self._lock:
            kept, age = self._repositories, now - self._read_at
        if age <= MAX_AGE_SECONDS and all(name in kept for name in (*head.defaults, *asked)):
            return kept
        self._on_read()
        read = {repository.name: repository for repository in list_repositories(self._store)}
        with self._lock:
            self._repositories, self._read_at = read, now
        return read

    def expire(self) -> None:
        """Let the list of repositories be read anew: who asks what there is wants it as of now."""
        with self._lock:
            self._read_at = float("-inf")

    def publication(self, timeline: int, number: int) -> Publication:
        """Return what is known of a published transaction."""
        key = (timeline, number)
        with self._lock:
            kept = self._publications.get(key)
        if kept is not None:
            return kept
        read = Publication(read_transaction(self._store, timeline, number), read_summary(self._store, timeline, number))
        with self._lock:
            if self._weight >= MAX_KEPT:
                self._publications.clear()
                self._weight = 0
            if read.record and read.summary:
                self._publications[key] = read
                self._weight += read.weight
        return read

    def points(self, head: Head, timeline: int) -> Sequence[Point]:
        """Return the transactions of a timeline that readers of ``head`` may ask for, oldest first."""
        state = head.timelines[timeline]
        version = (state.published, state.floor)
        with self._lock:
            kept = self._histories.get(timeline)
        if kept is not None and kept[0] == version:
            return kept[1]
        records = published_transactions(self._store, head, timeline)
        points = tuple(
            Point(record.number, record.commit, record.commit_count, record.ref, record.lost != ())
            for record in records
        )
        with self._lock:
            if len(self._histories) >= MAX_HISTORIES:
                self._histories.clear()
            self._histories[timeline] = (version, points)
        return points

    def ref_head(self, repo: str, key: str) -> RefHead | None:
        """Return what a fetch has seen of a version, at most ``MAX_AGE_SECONDS`` ago."""
        now = self._clock()
        with self._lock:
            kept = self._ref_heads.get((repo, key))
        if kept is not None and now - kept[0] <= MAX_AGE_SECONDS:
            return kept[1]
        read = read_ref_head(self._store, repo, key)
        with self._lock:
            if len(self._ref_heads) >= MAX_KEPT:
                self._ref_heads.clear()
            self._ref_heads[repo, key] = (now, read)
        return read

    def progress(self, name: str) -> Progress | None:
        """Return how far a running import is, as of now."""
        return read_progress(self._store, name)


@dataclass(frozen=True, slots=True)
class CatalogPast:
    """What was published before ``head``, from the catalog."""

    catalog: Catalog
    head: Head

    def points(self, timeline: int) -> Sequence[Point]:
        """Return the transactions of a timeline that readers may ask for, oldest first."""
        return self.catalog.points(self.head, timeline)

    def record(self, timeline: int, number: int) -> TransactionRecord | None:
        """Return the record of a published transaction."""
        return self.catalog.publication(timeline, number).record
