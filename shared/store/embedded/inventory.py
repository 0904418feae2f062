"""Reads for checking and copying an index: the newest number, row counts by file version, a timeline's history."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from heapq import merge

import apsw
import numpy as np

from codequarry.shared.model import ChunkRow, FileRecord
from codequarry.shared.store.embedded.batch import FIELD, field_key
from codequarry.shared.store.embedded.columns import Bools, Columns, Ints
from codequarry.shared.store.embedded.payload import decode
from codequarry.shared.store.embedded.reader import FILE_FIELDS
from codequarry.shared.store.embedded.segments import all_segments
from codequarry.shared.store.embedded.sql import LISTED, as_json, fetch
from codequarry.shared.store.records import StoredFile, StoredRow
from codequarry.shared.versions.snapshots import OPEN

# Rows decoded in one read transaction: a longer transaction would block checkpoints of the log.
_PAGE = 1_000
# Reads the last index entry of each timeline, instead of all entries.
_NEWEST = """
WITH RECURSIVE known(timeline) AS (
    SELECT min(timeline) FROM {table}
    UNION ALL
    SELECT (SELECT min(timeline) FROM {table} WHERE timeline > known.timeline) FROM known
    WHERE known.timeline IS NOT NULL
)
SELECT max((SELECT max({column}) FROM {table} WHERE {table}.timeline = known.timeline{condition})) FROM known
"""
# The rest of a transaction, then later transactions, each in index order, as one transaction may have most rows.
_AFTER = """
SELECT * FROM ({select} WHERE timeline = ?1 AND born = ?2 AND {row} > ?3 ORDER BY {row} LIMIT ?4)
UNION ALL
SELECT * FROM ({select} WHERE timeline = ?1 AND born > ?2 ORDER BY born, {row} LIMIT ?4)
LIMIT ?4
"""
_ROWS = _AFTER.format(
    select="SELECT born, chunk.row, died, vector.key, payload.body FROM chunk"
    " JOIN payload ON payload.row = chunk.row JOIN vector ON vector.slot = chunk.slot",
    row="chunk.row",
)
_FILES = f"SELECT born, row, died, {FILE_FIELDS} FROM file JOIN path ON path.id = file.path"
_RECORDS = _AFTER.format(select=_FILES, row="row")
_RETIRED = f"{_FILES} WHERE timeline = ? AND born <= ? AND died > ? AND died < {OPEN} ORDER BY born, row"
# Sorts after every row of a transaction.
_LAST_ROW = 2**62

HistoryPlace = tuple[int, int]
Stored = tuple[HistoryPlace, StoredRow | StoredFile]
Reading = Callable[[], AbstractContextManager[apsw.Connection]]
HistoryPage = Callable[[apsw.Connection, int, HistoryPlace], list[Stored]]


def newest_number(connection: apsw.Connection) -> int:
    """Return the highest ``born`` or ``died`` of any row or record."""
    asked = [
        _NEWEST.format(table=table, column=column, condition=condition)
        for table in ("chunk", "file")
        for column, condition in (("born", ""), ("died", f" AND died < {OPEN}"))
    ]
    return max(connection.execute(query).get or 0 for query in asked)


def row_counts(connection: apsw.Connection, columns: Columns, live: Bools) -> dict[tuple[str, str], int]:
    """Count the ``live`` rows of each (path, blob), using the blobs' posting lists."""
    blobs, names = _blobs(connection, len(live))
    rows = np.flatnonzero(live)
    pairs = columns.path[rows].astype(np.int64) * len(names) + blobs[rows]
    distinct, counts = np.unique(pairs, return_counts=True)
    places, kinds = np.divmod(distinct, len(names))
    query = f"SELECT id, path FROM path WHERE id IN {LISTED}"
    paths = dict(fetch(connection, query, (as_json(places.tolist()),)))
    return {
        (paths[place], names[kind]): count
        for place, kind, count in zip(places.tolist(), kinds.tolist(), counts.tolist(), strict=True)
    }


def _blobs(connection: apsw.Connection, size: int) -> tuple[Ints, list[str]]:
    """Return the number of each row's blob, and the blobs by number; 0 means that there is no row."""
    prefix = (FIELD + field_key("blob", "")).encode()
    last = prefix[:-1] + bytes([prefix[-1] + 1])
    numbers: dict[bytes, int] = {}
    blobs = np.zeros(size, np.int32)
    for segment in all_segments(connection):
        query = "SELECT key, rows FROM posting WHERE segment = ? AND key >= ? AND key < ?"
        for key, rows in connection.execute(query, (segment.id, prefix, last)):
            blobs[np.frombuffer(rows, "<i4")] = numbers.setdefault(key, len(numbers) + 1)
    return blobs, ["", *(key[len(prefix) :].decode("utf-8", "surrogatepass") for key in numbers)]


def history(reading: Reading, timeline: int, after: int) -> Iterator[StoredRow | StoredFile]:
    """Yield the rows and records of a timeline in order of ``born``; in each transaction, rows come first."""
    with reading() as connection:
        values = (timeline, after, after)
        retired = [StoredFile(FileRecord(*fields), died) for _, _, died, *fields in fetch(connection, _RETIRED, values)]
    yield from retired
    both = merge(
        ((place[0], 0, stored) for place, stored in _paged(reading, timeline, after, _rows_after)),
        ((place[0], 1, stored) for place, stored in _paged(reading, timeline, after, _records_after)),
        key=lambda item: item[:2],
    )
    yield from (stored for _, _, stored in both)


def _paged(reading: Reading, timeline: int, after: int, read: HistoryPage) -> Iterator[Stored]:
    place = (after, _LAST_ROW)
    while True:
        with reading() as connection:
            page = read(connection, timeline, place)
        yield from page
        if len(page) < _PAGE:
            return
        place = page[-1][0]


def _rows_after(connection: apsw.Connection, timeline: int, place: HistoryPlace) -> list[Stored]:
    found: list[Stored] = []
    for born, number, died, key, body in fetch(connection, _ROWS, (timeline, *place, _PAGE)):
        chunk, tokens = decode(body)
        found.append(((born, number), StoredRow(ChunkRow(chunk, tokens, timeline, born, key), died)))
    return found


def _records_after(connection: apsw.Connection, timeline: int, place: HistoryPlace) -> list[Stored]:
    return [
        ((born, number), StoredFile(FileRecord(*values), died))
        for born, number, died, *values in fetch(connection, _RECORDS, (timeline, *place, _PAGE))
    ]
