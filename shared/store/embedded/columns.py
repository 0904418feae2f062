"""The few numbers of every row that filters and scores need, as arrays in memory; and the change log that feeds them.

A row's number is its place in the arrays. Numbers are never given twice, so a deleted row leaves a hole (timeline 0,
which no timeline has). Whoever writes rows appends to the log in the same transaction; whoever reads applies what was
appended since. A log that grew long is folded into one entry, from which a process that is far behind starts anew.
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
"""One row as the log keeps it; the fields are those of ``Columns``."""

# A process that starts reads 500 entries in a few milliseconds; folding them writes 60 bytes a row.
FOLD_AFTER = 500

# Arrays are made longer by this share than they must be: most changes then copy none of them, and all columns that
# searches still hold lie in the same memory. A page that nothing was written to takes no memory.
_ROOM = 0.25

_ADDED, _DIED, _DELETED, _FOLDED = "added", "died", "deleted", "folded"

ColumnEntry = tuple[int, str, int | None, bytes]


@dataclass(frozen=True, slots=True)
class Columns:
    """Every row after the change ``seq``, by row number; never changed once made.

    ``first`` marks the rows that stand for their chunk (stride 0), ``strided`` those of a chunk of several strides;
    ``chunk`` is a hash of the chunk's id, equal for its strides; ``lengths`` has a column a field of ``TOKEN_FIELDS``.
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
        """Return the rows that exist, as the log keeps them."""
        rows = self.rows()
        records = np.zeros(len(rows), RECORD)
        records["row"] = rows
        for name in _ARRAYS:
            records[name] = getattr(self, name)[rows]
        return records


EMPTY = Columns(0, *(np.zeros((1, *RECORD[name].shape), RECORD[name].base) for name in _ARRAYS))


def applied(columns: Columns, entries: Sequence[ColumnEntry], in_place: bool = False) -> Columns:
    """Return the columns after further entries of the log.

    ``in_place`` writes new rows behind those of ``columns`` where their arrays have room: for the one chain of columns
    that no two changes go out from. The rows that ``columns`` has stay as they are either way.
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
            died[np.frombuffer(body, "<i4")] = number
        elif kind == _DELETED:
            timeline[np.frombuffer(body, "<i4")] = 0
    return replace(columns, seq=entries[-1][0], died=died, timeline=timeline)


def _records(body: bytes) -> RowRecords:
    """Return the rows of an entry; StoreDamaged if they can't be: a page of zeros has the checksum of its zeros."""
    if len(body) % RECORD.itemsize:
        raise StoreDamaged(f"{DATABASE} is damaged: its log of changes is cut off; {REPAIR_DATABASE}")
    records = np.frombuffer(body, RECORD)
    if len(records) and min(records["row"].min(), records["timeline"].min()) < 1:
        raise StoreDamaged(f"{DATABASE} is damaged: its log of changes has been overwritten; {REPAIR_DATABASE}")
    return records


def _grown(columns: Columns, records: RowRecords, least: int, in_place: bool) -> Columns:
    """Return the columns with further rows; ``least`` is the length of arrays that a fold left out deleted rows of."""
    before = len(columns.timeline)
    size = max(before, int(records["row"].max(initial=0)) + 1, least)
    # A row among those that others see already is never written where they see it.
    in_place = in_place and int(records["row"].min(initial=before)) >= before

    def grown(name: str) -> NDArray[Any]:
        array = _longer(getattr(columns, name), size, in_place)
        array[records["row"]] = records[name]
        return array

    return Columns(columns.seq, *map(grown, _ARRAYS))


def _longer(old: NDArray[Any], size: int, in_place: bool) -> NDArray[Any]:
    """Return an array of ``size`` that begins with ``old`` and goes on with zeros."""
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
        """Return the columns as the read transaction of ``connection`` sees them; it must be its first query.

        SQLite fixes what a transaction sees at its first query. Done under the lock, nobody's view is older than what
        the cache holds already.
        """
        with self._lock:
            entries = _entries_after(connection, self._columns.seq)
            self._columns = applied(self._columns, entries, in_place=True)
            return self._columns

    def including_own_changes(self, connection: apsw.Connection) -> Columns:
        """Return the columns as a write transaction sees them; they are not kept, since it may still be undone."""
        columns = self._columns
        return applied(columns, _entries_after(connection, columns.seq))


def _entries_after(connection: apsw.Connection, seq: int) -> list[ColumnEntry]:
    query = "SELECT seq, kind, number, body FROM change WHERE seq > ? ORDER BY seq"
    return [(seq, kind, number, body) for seq, kind, number, body in fetch(connection, query, (seq,))]


def log_added(connection: apsw.Connection, records: RowRecords) -> None:
    """Tell the readers of new rows."""
    _log(connection, _ADDED, None, records.tobytes())


def log_died(connection: apsw.Connection, rows: Sequence[int], number: int = OPEN) -> None:
    """Tell the readers that ``number`` retired rows, or (OPEN) that they live again."""
    if rows:
        _log(connection, _DIED, number, np.array(rows, "<i4").tobytes())


def log_deleted(connection: apsw.Connection, rows: Sequence[int]) -> None:
    """Tell the readers that rows are gone."""
    if rows:
        _log(connection, _DELETED, None, np.array(rows, "<i4").tobytes())


def _log(connection: apsw.Connection, kind: str, number: int | None, body: bytes) -> None:
    connection.execute("INSERT INTO change (kind, number, body) VALUES (?, ?, ?)", (kind, number, body))


def fold(connection: apsw.Connection, columns: Columns) -> None:
    """Replace the whole log by one entry that holds ``columns``."""
    connection.execute("DELETE FROM change")
    _log(connection, _FOLDED, len(columns.timeline), columns.records().tobytes())


def fold_if_long(connection: apsw.Connection, cache: ColumnCache) -> None:
    """Fold the log when it has grown long; part of a write transaction."""
    entries = "(SELECT max(seq) FROM change) - (SELECT min(seq) FROM change)"
    if connection.execute(f"SELECT coalesce({entries}, 0)").get > FOLD_AFTER:
        fold(connection, cache.including_own_changes(connection))
