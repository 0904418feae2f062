"""A consistent view of an index while other processes write to it: the catalog, and the rows that it shows.

The catalog's point in time is taken first. Rows become visible before the head document publishes them (rule 6), so
the later points in time include all rows that the catalog shows. They may include more: rows newer than the counter,
or with a hidden number, are left out. A row can be missing only if it was deleted between the points in time, and that
happens only after the head document has dropped a timeline, raised a floor or dropped a pin. So the head document is
read again at the end, and if it has changed in any of these ways, the attempt is repeated.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from codequarry.shared.errors import StoreUnavailable
from codequarry.shared.store.opensearch.clauses import EngineClause
from codequarry.shared.store.opensearch.indices import Indices
from codequarry.shared.store.opensearch.store import OpenSearchStore
from codequarry.shared.store.opensearch.sweeps import Sweeper
from codequarry.shared.versions.head import HEAD_KEY, Head, Place
from codequarry.shared.versions.snapshots import OPEN

# An attempt takes about 0.1 s; during part of it, a catalog with several shards must not change.
ATTEMPTS = 50
# How long the points in time of a killed process hold segments in the cluster.
KEEP_ALIVE = "10m"
# Empty searches at this interval keep the other points in time alive while one is being read.
RENEWED_EVERY_SECONDS = 60.0


class PointsInTime:
    """A point in time for each index; all are deleted on exit."""

    def __init__(self, indices: Indices) -> None:
        self._indices = indices
        self._ids: dict[str, str] = {}
        self._renewed = time.monotonic()

    def __enter__(self) -> Self:
        """Return the object itself."""
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        """Delete the points in time."""
        if self._ids:
            with self._indices.connection.translated():
                self._indices.client.delete_pit(body={"pit_id": list(self._ids.values())}, params={"ignore": 404})

    def take(self, name: str) -> None:
        """Take a point in time of an index; it lacks writes that have not been refreshed."""
        params = {"keep_alive": KEEP_ALIVE, "allow_partial_pit_creation": "false"}
        with self._indices.connection.translated():
            self._ids[name] = self._indices.client.create_pit(index=name, params=params)["pit_id"]

    def count(self, name: str, query: EngineClause) -> int:
        """Return the number of documents that match a query."""
        return int(self._search(name, {"query": query, "size": 0, "track_total_hits": True})["total"]["value"])

    def hits(
        self, name: str, query: EngineClause, sort: Sequence[str], page: int, without: Sequence[str] = ()
    ) -> Iterator[Any]:
        """Yield every hit of a query; ``sort`` must have no ties, and ``without`` names fields to leave out."""
        body = {"query": query, "sort": list(sort), "size": page, "_source": {"excludes": list(without)}}
        after: dict[str, Any] = {}
        while True:
            found = self._search(name, {**body, **after, "track_total_hits": False})["hits"]
            yield from found
            if len(found) < page:
                return
            after = {"search_after": found[-1]["sort"]}
            self._renew(name)

    def _renew(self, reading: str) -> None:
        """Keep the other points in time alive."""
        if time.monotonic() - self._renewed > RENEWED_EVERY_SECONDS:
            self._renewed = time.monotonic()
            for name in self._ids:
                if name != reading:
                    self._search(name, {"size": 0, "track_total_hits": False})

    def _search(self, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        asked = {**body, "pit": {"id": self._ids[name], "keep_alive": KEEP_ALIVE}}
        with self._indices.connection.translated():
            answer = self._indices.client.search(body=asked, params={"allow_partial_search_results": "false"})
        hits: dict[str, Any] = answer["hits"]
        return hits


@dataclass(frozen=True, slots=True)
class Frozen:
    """The points in time of an index, and the head document from the catalog's point in time."""

    points: PointsInTime
    head: Head

    @property
    def visible(self) -> EngineClause:
        """The query for rows that are not newer than the head document."""
        return {"range": {"born": {"lte": self.head.counter}}}

    def row(self, source: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return a row or record as the head document shows it, or None if it is hidden."""
        if source["born"] in self.head.hidden:
            return None
        died = source["died"]
        is_alive = died != OPEN and (died > self.head.counter or died in self.head.hidden)
        return {**source, "died": OPEN} if is_alive else dict(source)


@contextmanager
def frozen(store: OpenSearchStore) -> Iterator[Frozen]:
    """Yield a consistent view; raise StoreUnavailable if the index changes too often or moves to another edition."""
    for _ in range(ATTEMPTS):
        with ExitStack() as opened:
            points = opened.enter_context(PointsInTime(store.indices))
            head = _attempt(store, points)
            if head is not None:
                yield Frozen(points, head)
                return
    raise StoreUnavailable("the catalog changed during every attempt to copy it; try again when fewer runs are writing")


def _attempt(store: OpenSearchStore, points: PointsInTime) -> Head | None:
    """Take the points in time and return their head document, or None if they may be inconsistent."""
    indices, sweeper = store.indices, Sweeper(store.connection)
    # Refresh everything first, so that the later refreshes, between the points in time, are short.
    sweeper.refresh(indices.chunks, indices.files, indices.vectors, indices.catalog)
    before = _writes(indices)
    sweeper.refresh(indices.catalog)
    points.take(indices.catalog)
    if len(before) > 1 and _writes(indices) != before:
        return None  # the catalog's shards may be in different states
    head = _head(points, indices)
    for name in (indices.files, indices.chunks, indices.vectors):
        sweeper.refresh(name)
        points.take(name)
    document = store.read_document(HEAD_KEY)
    newest = Head.from_json(document.body) if document else Head()
    if newest.move is not None and newest.move.done:
        raise StoreUnavailable("the index moved to another model during the copy; try again")
    return head if keeps_all(head, newest) else None


def keeps_all(head: Head, newest: Head) -> bool:
    """Return whether nothing that ``head`` shows can have been deleted by the time of ``newest``."""
    kept = all(
        key in newest.timelines and newest.timelines[key].floor == state.floor for key, state in head.timelines.items()
    )
    return kept and _pins(head) <= _pins(newest)


def _pins(head: Head) -> set[Place]:
    return {place for state in head.timelines.values() for place in state.pins}


def _head(points: PointsInTime, indices: Indices) -> Head:
    found = list(points.hits(indices.catalog, {"term": {"key": HEAD_KEY}}, ["key"], 1))
    return Head.from_json(found[0]["_source"]["body"]) if found else Head()


def _writes(indices: Indices) -> list[tuple[str, int]]:
    """Return the sequence number of the last write to each shard of the catalog."""
    with indices.connection.translated():
        stats = indices.client.indices.stats(index=indices.catalog, params={"level": "shards"})
    return sorted(
        (f"{name} {number}", max(copy["seq_no"]["max_seq_no"] for copy in copies))
        for name, index in stats["indices"].items()
        for number, copies in index["shards"].items()
    )
