"""Points in time: what searches of an index saw at one moment, to be read page by page while others write."""

import time
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from codequarry.shared.store.opensearch.clauses import Clause
from codequarry.shared.store.opensearch.connection import translated
from codequarry.shared.store.opensearch.indices import Indices

# What a killed process leaves keeps segments in the cluster for so long.
KEEP_ALIVE = "10m"
# A point in time that waits while another one is read is kept alive by a search that asks for nothing.
RENEWED_EVERY_SECONDS = 60.0


class PointsInTime:
    """One point in time for each index that is named; they are given back at the end."""

    def __init__(self, indices: Indices) -> None:
        self._indices = indices
        self._ids: dict[str, str] = {}
        self._renewed = time.monotonic()

    def __enter__(self) -> Self:
        """Give the object itself."""
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        """Give the points in time back."""
        if self._ids:
            with translated(self._indices.settings):
                self._indices.client.delete_pit(body={"pit_id": list(self._ids.values())}, params={"ignore": 404})

    def take(self, name: str) -> None:
        """Take a point in time of an index; what was not refreshed is not in it."""
        params = {"keep_alive": KEEP_ALIVE, "allow_partial_pit_creation": "false"}
        with translated(self._indices.settings):
            self._ids[name] = self._indices.client.create_pit(index=name, params=params)["pit_id"]

    def count(self, name: str, query: Clause) -> int:
        """Return how many documents fit a query."""
        return int(self._search(name, {"query": query, "size": 0, "track_total_hits": True})["total"]["value"])

    def hits(
        self, name: str, query: Clause, sort: Sequence[str], page: int, without: Sequence[str] = ()
    ) -> Iterator[Any]:
        """Yield every hit of a query; ``sort`` must have no ties, ``without`` are fields that are not wanted."""
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
        """Keep those alive that are not being read."""
        if time.monotonic() - self._renewed > RENEWED_EVERY_SECONDS:
            self._renewed = time.monotonic()
            for name in self._ids:
                if name != reading:
                    self._search(name, {"size": 0, "track_total_hits": False})

    def _search(self, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        asked = {**body, "pit": {"id": self._ids[name], "keep_alive": KEEP_ALIVE}}
        with translated(self._indices.settings):
            answer = self._indices.client.search(body=asked, params={"allow_partial_search_results": "false"})
        hits: dict[str, Any] = answer["hits"]
        return hits
