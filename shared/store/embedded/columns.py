"""The few numbers per row that filters and scores need, as arrays in memory, and the change log that feeds them.

A row's number is its place in the arrays. Numbers are never reused, so a deleted row leaves a hole (timeline 0, which
is never used). Writers append to the log in the transaction that changes rows; readers apply the new entries. A long
log is folded into one entry, from which a process that is far behind starts over.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from codequarry.shared.errors import StoreDamaged
from codequarry.shared.model import TOKEN_FIELDS
from codequarry.shared.store.embedded.checksums import entry_checksum
from codequarry.shared.store.embedded.schema import DATABASE, REPAIR_DATABASE
from codequarry.shared.store.embedded.sql import fetch
from codequarry.shared.versions.snapshots import OPEN

Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]
RowRecords = NDArray[np.void]

_COLUMNS: tuple[tuple[str, str], ...] = (
    ("timeline", "<i4"),
    ("born", "<i4"),
    ("died", "<i4"),
    ("path", "<i4"),
    ("slot", "<i4"),
    ("first", "?"),
    ("strided", "?"),
    ("chunk", "<i8"),
)
_ARRAYS = (*(name for name, _ in _COLUMNS), "lengths")
RECORD = np.dtype([("row", "<i4"), *_COLUMNS, ("lengths", "<i4", (len(TOKEN_FIELDS),))])
"""A row in the log; the fields are those of ``Columns``."""

# A starting process reads 500 entries in a few milliseconds; folding them writes 60 bytes per row.
FOLD_AFTER = 500

# Spare room in the arrays, as a fraction, so that most changes copy no array. Untouched pages take no memory.
_ROOM = 0.25

_ADDED, _DIED, _DELETED, _FOLDED = "added", "died", "deleted", "folded"

_OVERWRITTEN = f"{DATABASE} is damaged: its change log was overwritten; {REPAIR_DATABASE}"

ColumnEntry = tuple[int, str, int | None, bytes]


@dataclass(frozen=True, slots=True)
class Columns:
    """Every row as of change ``seq``, by row number; immutable.

    ``first`` marks the rows that stand for their chunk (stride 0), ``strided`` the rows of chunks with several strides.
    ``chunk`` is a hash of the chunk's id, equal for its strides; ``lengths`` has a column per item of TOKEN_FIELDS.
    """

    seq: int
    timeline: Ints
    born: Ints
    died: Ints
    path: Ints
    slot: Ints
    first: Bools
    strided: Bools
    chunk: NDArray[np.int64]
    lengths: Ints

    def rows(self) -> NDArray[np.intp]:
        """Return the numbers of the rows that exist."""
        return np.flatnonzero(self.timeline)

    def records(self) -> RowRecords:
        """Return the rows that exist, in the format of the log."""
        rows = self.rows()
        records = np.zeros(len(rows), RECORD)
        records["row"] = rows
        for name in _ARRAYS:
            records[name] = getattr(self, name)[rows]
        return records


EMPTY = Columns(0, *(np.zeros((1, *RECORD[name].shape), RECORD[name].base) for name in _ARRAYS))


def applied(columns: Columns, entries: Sequence[ColumnEntry], in_place: bool = False) -> Columns:
    """Return the columns with further log entries applied.

    ``in_place`` writes new rows into the arrays' spare room, which is safe only for an unbranched chain of columns.
    """
    if not entries:
        return columns
    least = 0
    if entries[0][1] == _FOLDED:
        columns, least = EMPTY, entries[0][2] or 0
    added = [_records(body) for _, kind, _, body in entries if kind in (_ADDED, _FOLDED)]
    if added:
        columns = _grown(columns, np.concatenate(added), least, in_place)
    kinds = {kind for _, kind, _, _ in entries}
    died = columns.died.copy() if _DIED in kinds else columns.died
    timeline = columns.timeline.copy() if _DELETED in kinds else columns.timeline
    for _, kind, number, body in entries:
        if kind == _DIED and number is not None:
            died[_numbers(body)] = number
        elif kind == _DELETED:
            timeline[_numbers(body)] = 0
    return replace(columns, seq=entries[-1][0], died=died, timeline=timeline)


def _records(body: bytes) -> RowRecords:
    """Return the rows of an entry; raise StoreDamaged if they are impossible (an upgrade may find old damage)."""
    if len(body) % RECORD.itemsize:
        raise StoreDamaged(f"{DATABASE} is damaged: its change log is truncated; {REPAIR_DATABASE}")
    records = np.frombuffer(body, RECORD)
    if len(records) and min(records["row"].min(), records["timeline"].min()) < 1:
        raise StoreDamaged(_OVERWRITTEN)
    return records


def _numbers(body: bytes) -> Ints:
    """Return the row numbers of an entry; raise StoreDamaged if one is impossible."""
    numbers = np.frombuffer(body, "<i4")
    if numbers.min(initial=1) < 1:
        raise StoreDamaged(_OVERWRITTEN)
    return numbers


def _grown(columns: Columns, records: RowRecords, least: int, in_place: bool) -> Columns:
    """Return the columns with further rows; ``least`` is a minimum length: that before a fold dropped deleted rows."""
    before = len(columns.timeline)
    size = max(before, int(records["row"].max(initial=0)) + 1, least)
    # Rows that other ``Columns`` may see are not overwritten.
    in_place = in_place and int(records["row"].min(initial=before)) >= before

    def grown(name: str) -> NDArray[Any]:
        array = _longer(getattr(columns, name), size, in_place)
        array[records["row"]] = records[name]
        return array

    return Columns(columns.seq, *map(grown, _ARRAYS))


def _longer(old: NDArray[Any], size: int, in_place: bool) -> NDArray[Any]:
    if in_place and old.base is not None and len(old.base) >= size:
        longer: NDArray[Any] = old.base[:size]
        return longer
    array = np.zeros((size + int(size * _ROOM), *old.shape[1:]), old.dtype)
    array[: len(old)] = old
    return array[:size]


class ColumnCache:
    """The newest columns that this process has seen."""

    def __init__(self) -> None:
        self._columns = EMPTY
        self._lock = Lock()

    def refreshed(self, connection: apsw.Connection) -> Columns:
        """Return the columns as the read transaction of ``connection`` sees them; must be its first query."""
        # The first query fixes what a transaction sees. Under the lock, no view is older than the cache.
        with self._lock:
            entries = _entries_after(connection, self._columns.seq)
            self._columns = applied(self._columns, entries, in_place=True)
            return self._columns

    def including_own_changes(self, connection: apsw.Connection) -> Columns:
        """Return the columns as a write transaction sees them; not cached, because it may be rolled back."""
        columns = self._columns
        return applied(columns, _entries_after(connection, columns.seq))


def _entries_after(connection: apsw.Connection, seq: int) -> list[ColumnEntry]:
    query = "SELECT seq, kind, number, body, checksum FROM change WHERE seq > ? ORDER BY seq"
    entries = fetch(connection, query, (seq,))
    if any(entry_checksum(body) != checksum for *_, body, checksum in entries):
        raise StoreDamaged(_OVERWRITTEN)
    return [(seq, kind, number, body) for seq, kind, number, body, _ in entries]


def log_added(connection: apsw.Connection, records: RowRecords) -> None:
    """Log new rows."""
    _log(connection, _ADDED, None, records.tobytes())


def log_died(connection: apsw.Connection, rows: Sequence[int], number: int = OPEN) -> None:
    """Log that ``number`` retired rows, or (OPEN) that they were revived."""
    if rows:
        _log(connection, _DIED, number, np.array(rows, "<i4").tobytes())


def log_deleted(connection: apsw.Connection, rows: Sequence[int]) -> None:
    """Log that rows were deleted."""
    if rows:
        _log(connection, _DELETED, None, np.array(rows, "<i4").tobytes())


def _log(connection: apsw.Connection, kind: str, number: int | None, body: bytes) -> None:
    values = (kind, number, body, entry_checksum(body))
    connection.execute("INSERT INTO change (kind, number, body, checksum) VALUES (?, ?, ?, ?)", values)


def fold(connection: apsw.Connection, columns: Columns) -> None:
    """Replace the whole log with one entry that holds ``columns``."""
    connection.execute("DELETE FROM change")
    _log(connection, _FOLDED, len(columns.timeline), columns.records().tobytes())


def fold_if_long(connection: apsw.Connection, cache: ColumnCache) -> None:
    """Fold the log if it is long; part of a write transaction."""
    entries = "(SELECT max(seq) FROM change) - (SELECT min(seq) FROM change)"
    if connection.execute(f"SELECT coalesce({entries}, 0)").get > FOLD_AFTER:
        fold(connection, cache.including_own_changes(connection))
