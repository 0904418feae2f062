"""The file versions that published transactions of a timeline retired, cached: they never change."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from codequarry.shared.model import Snapshot
from codequarry.shared.store.opensearch.clauses import EngineClause
from codequarry.shared.store.opensearch.indices import Indices
from codequarry.shared.store.opensearch.paging import every_hit
from codequarry.shared.store.opensearch.snapshot_clauses import FileLife, snapshot_parts

RetirementRange = tuple[str, int, int, int, frozenset[int]]
"""An index of file records, a timeline, the numbers after and up to which it retired files, and those that are hidden.

Once an open transaction is published, its number is no longer hidden, and the range is read again.
"""

# File versions in the cache: each takes about a hundred bytes.
MAX_KEPT = 500_000


@dataclass(slots=True)
class RetiredFileCache:
    """The file versions of recent ranges; shared by all requests to one store."""

    _kept: OrderedDict[RetirementRange, list[FileLife]] = field(default_factory=OrderedDict)
    _size: int = 0
    _lock: Lock = field(default_factory=Lock)

    def parts(self, indices: Indices, snapshot: Snapshot) -> list[EngineClause]:
        """Return the clauses for the live rows of a snapshot (``snapshot_parts``)."""

        def retired(timeline: int, after: int, until: int, hidden: frozenset[int]) -> Sequence[FileLife]:
            within = frozenset(number for number in hidden if after < number <= until)
            return self._read(indices, (indices.files, timeline, after, until, within))

        return snapshot_parts(snapshot, retired)

    def _read(self, indices: Indices, key: RetirementRange) -> list[FileLife]:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        found = _retired(indices, key)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = found
                self._size += len(found)
            while self._size > MAX_KEPT and len(self._kept) > 1:
                self._size -= len(self._kept.popitem(last=False)[1])
        return found


def _retired(indices: Indices, key: RetirementRange) -> list[FileLife]:
    _, timeline, after, until, hidden = key
    died = {"range": {"died": {"gt": after, "lte": until}}}
    body: dict[str, Any] = {
        "query": {"bool": {"filter": [{"term": {"timeline": timeline}}, died]}},
        "sort": ["path", "born"],
        "_source": ["path", "born", "died"],
    }
    sources = (hit["_source"] for hit in every_hit(indices, indices.files, body))
    return [(source["path"], source["born"], source["died"]) for source in sources if source["died"] not in hidden]
