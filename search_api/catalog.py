"""What the catalog says of the repositories, read once for many searches."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from threading import Lock
from time import monotonic

from codequarry.shared.head import Head
from codequarry.shared.ledger import read_transaction
from codequarry.shared.repositories import (
    Progress,
    Repository,
    Summary,
    list_repositories,
    read_progress,
    read_summary,
)
from codequarry.shared.store.port import Store
from codequarry.shared.transactions import TransactionRecord

# How old the list of repositories may be: what a search sees comes from the head document, which is never cached;
# from the catalog come only branch, origin and the newest commit that a fetch has seen.
MAX_AGE_SECONDS = 2.0
# Summaries and records of published transactions never change; this bounds what a long life keeps of them.
MAX_KEPT = 4096


@dataclass(frozen=True, slots=True)
class Publication:
    """The record and summary of a published transaction; either may be missing in an index that was cut short."""

    record: TransactionRecord | None
    summary: Summary | None


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

    def publication(self, timeline: int, number: int) -> Publication:
        """Return what is known of a published transaction."""
        key = (timeline, number)
        with self._lock:
            kept = self._publications.get(key)
        if kept is not None:
            return kept
        read = Publication(read_transaction(self._store, timeline, number), read_summary(self._store, timeline, number))
        with self._lock:
            if len(self._publications) >= MAX_KEPT:
                self._publications.clear()
            if read.record and read.summary:
                self._publications[key] = read
        return read

    def progress(self, name: str) -> Progress | None:
        """Return how far a running import is, as of now."""
        return read_progress(self._store, name)
