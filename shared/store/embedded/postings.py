"""Inverted lists: from a key (a token, a symbol, a path tail, a field's value) to the rows that have it.

Every batch of rows makes a segment with one list per key; ``segments.py`` merges segments. A list is two byte strings:
row numbers (int32) and, for keys that rank, a weight per row (uint8). Readers mask out its dead and deleted rows.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Lock

import apsw
import numpy as np
from numpy.typing import NDArray

from codequarry.shared.errors import StoreDamaged
from codequarry.shared.store.embedded.columns import Ints
from codequarry.shared.store.embedded.schema import DATABASE, REPAIR_DATABASE
from codequarry.shared.store.embedded.sql import fetch, fetch_first

Weights = NDArray[np.uint8]
StoredList = tuple[bytes, bytes, bytes | None]

# Weights are capped at this value; more occurrences of a token add no information.
MAX_WEIGHT = 255
# Bytes of lists cached by each process: those of a few hundred common terms in a million chunks.
CACHE_BYTES = 64 * 1024 * 1024
# Memory that an entry takes besides its arrays.
_ENTRY_BYTES = 300


@dataclass(frozen=True, slots=True)
class Posting:
    """The rows that have a key, without duplicates, and their weights (1 if the key does not rank)."""

    rows: Ints
    weights: Weights

    @property
    def bytes_held(self) -> int:
        """Memory that the cache entry takes."""
        return self.rows.nbytes + self.weights.nbytes + _ENTRY_BYTES


NOTHING = Posting(np.empty(0, np.int32), np.empty(0, np.uint8))


@dataclass(slots=True)
class ListBuilder:
    """Collects a batch's keys of the kind ``prefix``; ``ranks`` says whether the keys have weights."""

    prefix: str
    ranks: bool
    _names: list[str] = field(default_factory=list)
    _weights: list[int] = field(default_factory=list)
    _sizes: list[int] = field(default_factory=list)

    def add_row(self, names: Collection[str], weights: Iterable[int] = ()) -> None:
        """Add the next row of the batch with its distinct keys and their weights."""
        self._names.extend(names)
        self._weights.extend(weights)
        self._sizes.append(len(names))

    def lists(self, numbers: Ints) -> Iterator[StoredList]:
        """Yield each key with its list, sorted by key; ``numbers`` has the row numbers, or -1 for rows to leave out."""
        ordered = sorted(set(self._names))
        ranks = {name: rank for rank, name in enumerate(ordered)}
        keys = np.fromiter(map(ranks.__getitem__, self._names), np.int64, len(self._names))
        rows = np.repeat(numbers, self._sizes)
        order = np.argsort(keys, kind="stable")
        order = order[rows[order] >= 0]
        ends = np.cumsum(np.bincount(keys[order], minlength=len(ordered))).tolist()
        row_bytes = rows[order].astype("<i4").tobytes()
        weight_bytes = self._weight_bytes()[order].tobytes() if self.ranks else None
        start = 0
        for name, end in zip(ordered, ends, strict=True):
            if end > start:
                weights = None if weight_bytes is None else weight_bytes[start:end]
                yield (self.prefix + name).encode("utf-8", "surrogatepass"), row_bytes[4 * start : 4 * end], weights
            start = end

    def _weight_bytes(self) -> Weights:
        return np.minimum(np.array(self._weights, np.int64), MAX_WEIGHT).astype(np.uint8)


class PostingReader:
    """Reads posting lists, and caches recent lists until a segment is added or removed."""

    def __init__(self) -> None:
        self._segments: tuple[int, ...] = ()
        self._kept: OrderedDict[bytes, Posting] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def read(self, connection: apsw.Connection, prefix: str, names: Sequence[str]) -> dict[str, Posting]:
        """Return the posting list of each name, which is empty if no row has the name."""
        segments = tuple(fetch_first(connection, "SELECT id FROM segment ORDER BY id"))
        keys = {(prefix + name).encode("utf-8", "surrogatepass"): name for name in names}
        found = self._recall(segments, keys)
        if missing := [key for key in keys if key not in found]:
            fresh = _fetch(connection, segments, missing)
            self._keep(segments, fresh)
            found |= fresh
        return {name: found[key] for key, name in keys.items()}

    def beginning(self, connection: apsw.Connection, prefix: str) -> set[str]:
        """Return the rest of every key that begins with ``prefix``; meant for keys of which there are few."""
        first = prefix.encode("utf-8", "surrogatepass")
        last = first[:-1] + bytes([first[-1] + 1])
        found: set[bytes] = set()
        for segment in fetch_first(connection, "SELECT id FROM segment"):
            query = "SELECT key FROM posting WHERE segment = ? AND key >= ? AND key < ?"
            found.update(fetch_first(connection, query, (segment, first, last)))
        return {key[len(first) :].decode("utf-8", "surrogatepass") for key in found}

    def _recall(self, segments: tuple[int, ...], keys: Iterable[bytes]) -> dict[bytes, Posting]:
        with self._lock:
            if segments != self._segments:
                self._segments, self._bytes = segments, 0
                self._kept.clear()
            found = {key: self._kept[key] for key in keys if key in self._kept}
            for key in found:
                self._kept.move_to_end(key)
            return found

    def _keep(self, segments: tuple[int, ...], fresh: dict[bytes, Posting]) -> None:
        with self._lock:
            if segments != self._segments:
                return
            for key, posting in fresh.items():
                if key not in self._kept:
                    self._kept[key] = posting
                    self._bytes += posting.bytes_held
            while self._bytes > CACHE_BYTES:
                self._bytes -= self._kept.popitem(last=False)[1].bytes_held


def _fetch(connection: apsw.Connection, segments: tuple[int, ...], keys: Sequence[bytes]) -> dict[bytes, Posting]:
    parts: dict[bytes, list[tuple[bytes, bytes | None]]] = {key: [] for key in keys}
    places = ", ".join(map(str, segments))
    for start in range(0, len(keys), 500):
        part = keys[start : start + 500]
        marks = ", ".join("?" * len(part))
        query = f"SELECT key, rows, weights FROM posting WHERE segment IN ({places}) AND key IN ({marks})"
        for key, rows, weights in fetch(connection, query, part):
            parts[key].append((rows, weights))
    return {key: _joined(lists) for key, lists in parts.items()}


def _joined(lists: Sequence[tuple[bytes, bytes | None]]) -> Posting:
    if not lists:
        return NOTHING
    joined = b"".join(rows for rows, _ in lists)
    weights = np.frombuffer(b"".join(weights or bytes([1]) * (len(rows) // 4) for rows, weights in lists), np.uint8)
    # Row numbers and weights start at 1; a zeroed page has a valid checksum.
    if len(joined) % 4 or (rows := np.frombuffer(joined, "<i4")).min() < 1 or weights.min() < 1:
        raise StoreDamaged(f"{DATABASE} is damaged: an inverted list was overwritten; {REPAIR_DATABASE}")
    return Posting(rows, weights)
