"""The file versions that a timeline retired between two of its states, cached: they never change."""

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from codequarry.shared.model import Snapshot
from codequarry.shared.store.opensearch.clauses import EngineClause
from codequarry.shared.store.opensearch.indices import Indices
from codequarry.shared.store.opensearch.paging import every_hit
from codequarry.shared.store.opensearch.snapshot_clauses import FileLife, snapshot_parts

# File versions in the cache: each takes about a hundred bytes.
MAX_KEPT = 500_000


@dataclass(slots=True)
class RetiredFileCache:
    """The file versions of recent ranges; shared by all requests to one store."""

    _kept: OrderedDict[tuple[str, int, int, int], list[FileLife]] = field(default_factory=OrderedDict)
    _size: int = 0
    _lock: Lock = field(default_factory=Lock)

    def parts(self, indices: Indices, snapshot: Snapshot) -> list[EngineClause]:
        """Return the clauses for the live rows of a snapshot (``snapshot_parts``)."""
        return snapshot_parts(snapshot, lambda timeline, after, until: self._read(indices, timeline, after, until))

    def _read(self, indices: Indices, timeline: int, after: int, until: int) -> list[FileLife]:
        key = (indices.files, timeline, after, until)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        found = _retired(indices, timeline, after, until)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = found
                self._size += len(found)
            while self._size > MAX_KEPT and len(self._kept) > 1:
                self._size -= len(self._kept.popitem(last=False)[1])
        return found


def _retired(indices: Indices, timeline: int, after: int, until: int) -> list[FileLife]:
    """Read the file versions; what an open transaction retired is among them, because it may be undone later."""
    died = {"range": {"died": {"gt": after, "lte": until}}}
    body: dict[str, Any] = {
        "query": {"bool": {"filter": [{"term": {"timeline": timeline}}, died]}},
        "sort": ["path", "born"],
        "_source": ["path", "born", "died"],
    }
    sources = (hit["_source"] for hit in every_hit(indices, indices.files, body))
    return [(source["path"], source["born"], source["died"]) for source in sources]
