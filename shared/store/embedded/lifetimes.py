"""Retiring, undoing, counting and purging: what a transaction does to rows that exist, each in one write transaction.

Chunk rows and file records live and die by the same rules, so every statement runs on both tables.
"""

from collections.abc import Collection
from dataclasses import replace

import apsw
import numpy as np

from codequarry.shared.snapshots import OPEN
from codequarry.shared.store.embedded.columns import ColumnCache, fold, log_deleted, log_died
from codequarry.shared.store.embedded.schema import read_meta
from codequarry.shared.store.embedded.sql import LISTED, as_json, fetch_first
from codequarry.shared.store.embedded.vectors import VectorFile
from codequarry.shared.store.port import Tally

_TABLES = ("chunk", "file")
_RETIRABLE = (
    f"timeline = ? AND path IN (SELECT id FROM path WHERE path IN {LISTED})"
    f" AND born < ? AND (died = {OPEN} OR died IN {LISTED})"
)
# The last condition is what the partial indices are made with.
_RETIRED = f"timeline = ? AND died = ? AND died < {OPEN}"

# A purge rewrites the vector file when more than this share of its slots is unused, or it would grow for ever.
_MAX_UNUSED_SHARE = 0.2


def retire(
    connection: apsw.Connection, timeline: int, number: int, paths: Collection[str], aborted: Collection[int]
) -> int:
    """Set ``died`` to ``number`` where rule 3 allows it, and return on how many rows and records."""
    values = (number, timeline, as_json(paths), number, as_json(aborted))
    changed = {
        table: fetch_first(connection, f"UPDATE {table} SET died = ? WHERE {_RETIRABLE} RETURNING row", values)
        for table in _TABLES
    }
    log_died(connection, changed["chunk"], number)
    return sum(map(len, changed.values()))


def tally(
    connection: apsw.Connection, timeline: int, number: int, paths: Collection[str], aborted: Collection[int]
) -> Tally:
    """Count what ``number`` wrote and what is left to retire on ``paths``."""
    values = (timeline, as_json(paths), number, as_json(aborted))
    left = [connection.execute(f"SELECT count(*) FROM {table} WHERE {_RETIRABLE}", values).get for table in _TABLES]
    rows, files = (
        connection.execute(f"SELECT count(*) FROM {table} WHERE timeline = ? AND born = ?", (timeline, number)).get
        for table in _TABLES
    )
    return Tally(rows, files, sum(left))


def undo(connection: apsw.Connection, timeline: int, number: int) -> None:
    """Delete what ``number`` wrote and let live again what it retired."""
    _delete(connection, "timeline = ? AND born = ?", (timeline, number))
    statement = f"SET died = {OPEN} WHERE {_RETIRED} RETURNING row"
    revived = {table: fetch_first(connection, f"UPDATE {table} {statement}", (timeline, number)) for table in _TABLES}
    log_died(connection, revived["chunk"])


def purge(connection: apsw.Connection, timelines: Collection[int], cache: ColumnCache, vector_file: VectorFile) -> None:
    """Delete all of ``timelines``, and the vectors and paths that nothing uses any more."""
    _delete(connection, f"timeline IN {LISTED}", (as_json(timelines),))
    connection.execute("DELETE FROM path WHERE id NOT IN (SELECT path FROM chunk UNION SELECT path FROM file)")
    connection.execute("DELETE FROM vector WHERE slot NOT IN (SELECT slot FROM chunk)")
    _compact_if_worthwhile(connection, cache, vector_file)


def _compact_if_worthwhile(connection: apsw.Connection, cache: ColumnCache, vector_file: VectorFile) -> None:
    """Write the vectors in use to a new file and point everything there, if many slots are unused."""
    used = np.array(fetch_first(connection, "SELECT slot FROM vector ORDER BY slot"), np.int32)
    slots = read_meta(connection, "slots")
    if slots - len(used) <= _MAX_UNUSED_SHARE * slots:
        return
    vector_file.compact(connection, used)
    connection.execute("CREATE TEMP TABLE moved (old INTEGER PRIMARY KEY, new INTEGER NOT NULL)")
    connection.executemany("INSERT INTO moved VALUES (?, ?)", ((old, new) for new, old in enumerate(used.tolist())))
    for table in ("chunk", "vector"):
        connection.execute(f"UPDATE {table} SET slot = (SELECT new FROM moved WHERE old = slot)")
    connection.execute("DROP TABLE moved")
    columns = cache.including_own_changes(connection)
    # Rows that were deleted keep a slot in the arrays that means nothing; it only has to be in range.
    places = np.searchsorted(used, columns.slot).astype(np.int32)
    fold(connection, replace(columns, slot=places))


def _delete(connection: apsw.Connection, where: str, values: tuple[object, ...]) -> None:
    deleted = fetch_first(connection, f"DELETE FROM chunk WHERE {where} RETURNING row", values)
    connection.execute(f"DELETE FROM payload WHERE row IN {LISTED}", (as_json(deleted),))
    connection.execute(f"DELETE FROM file WHERE {where}", values)
    log_deleted(connection, deleted)
