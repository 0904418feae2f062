"""Permanently deletes purged timelines, rows that no reader may request, and whatever only they used.

Deleting rows in steps checks only what those rows used, so the cost depends only on them. Space is freed (by a new
vector file, rewritten lists and pages) once much of it is unused.
"""

from collections.abc import Collection
from dataclasses import replace

import apsw
import numpy as np

from codequarry.shared.store.embedded.columns import ColumnCache, fold, log_deleted
from codequarry.shared.store.embedded.schema import read_meta
from codequarry.shared.store.embedded.sql import LISTED, as_json, fetch, fetch_first
from codequarry.shared.store.embedded.vectors import VectorFile
from codequarry.shared.versions.snapshots import OPEN

# The partial indices have the condition `died < OPEN`.
_COLLECTABLE = f"timeline = ? AND born > ? AND died <= ? AND died < {OPEN} AND died NOT IN {LISTED}"
# Rows and records deleted in one transaction: a few tenths of a second, after which other writers get a turn.
_DELETED_AT_ONCE = 5_000

_UNUSED_PATHS = (
    f"DELETE FROM path WHERE id IN {LISTED} AND NOT EXISTS (SELECT 1 FROM chunk WHERE chunk.path = path.id)"
    " AND NOT EXISTS (SELECT 1 FROM file WHERE file.path = path.id)"
)
_UNUSED_VECTORS = (
    f"DELETE FROM vector WHERE slot IN {LISTED} AND NOT EXISTS (SELECT 1 FROM chunk WHERE chunk.slot = vector.slot)"
)

# The vector file is rewritten when more than this share of its slots is unused; otherwise it would grow forever.
_MAX_UNUSED_SHARE = 0.2


def purge_some(connection: apsw.Connection, timelines: Collection[int]) -> int:
    """Delete some of the rows and records of ``timelines``; return how many, or 0 if none are left."""
    return _delete_some(connection, f"timeline IN {LISTED}", (as_json(timelines),))


def drop_unused(connection: apsw.Connection) -> None:
    """Delete the vectors and paths that no row or record uses, by checking all of them."""
    connection.execute("DELETE FROM path WHERE id NOT IN (SELECT path FROM chunk UNION SELECT path FROM file)")
    connection.execute("DELETE FROM vector WHERE slot NOT IN (SELECT slot FROM chunk)")


def collect_some(connection: apsw.Connection, timeline: int, after: int, until: int, aborted: Collection[int]) -> int:
    """Delete some of the rows and records that ``Store.collect`` describes; return how many, or 0 if none are left."""
    return _delete_some(connection, _COLLECTABLE, (timeline, after, until, as_json(aborted)))


def _delete_some(connection: apsw.Connection, where: str, values: tuple[object, ...]) -> int:
    """Delete some of the rows and records that meet a condition, and what only they used."""
    rows, records = (
        fetch_first(connection, f"SELECT row FROM {table} WHERE {where} LIMIT ?", (*values, _DELETED_AT_ONCE))
        for table in ("chunk", "file")
    )
    deleted = fetch(connection, f"DELETE FROM chunk WHERE row IN {LISTED} RETURNING path, slot", (as_json(rows),))
    connection.execute(f"DELETE FROM payload WHERE row IN {LISTED}", (as_json(rows),))
    log_deleted(connection, rows)
    named = fetch_first(connection, f"DELETE FROM file WHERE row IN {LISTED} RETURNING path", (as_json(records),))
    _drop_unused(connection, {*named, *(path for path, _ in deleted)}, {slot for _, slot in deleted})
    return len(rows) + len(records)


def _drop_unused(connection: apsw.Connection, paths: Collection[int], slots: Collection[int]) -> None:
    connection.execute(_UNUSED_PATHS, (as_json(paths),))
    connection.execute(_UNUSED_VECTORS, (as_json(slots),))


def compact_if_worthwhile(connection: apsw.Connection, cache: ColumnCache, vector_file: VectorFile) -> None:
    """Rewrite the vector file if many slots are unused."""
    slots = read_meta(connection, "slots")
    used_slots = int(connection.execute("SELECT count(*) FROM vector").get)
    if slots - used_slots > _MAX_UNUSED_SHARE * slots:
        compact(connection, cache, vector_file)


def compact(connection: apsw.Connection, cache: ColumnCache, vector_file: VectorFile) -> None:
    """Write the vectors in use to a new file and update all references to their slots."""
    used = np.array(fetch_first(connection, "SELECT slot FROM vector ORDER BY slot"), np.int32)
    vector_file.compact(connection, used)
    connection.execute("CREATE TEMP TABLE moved (old INTEGER PRIMARY KEY, new INTEGER NOT NULL)")
    connection.executemany("INSERT INTO moved VALUES (?, ?)", ((old, new) for new, old in enumerate(used.tolist())))
    for table in ("chunk", "vector"):
        connection.execute(f"UPDATE {table} SET slot = (SELECT new FROM moved WHERE old = slot)")
    connection.execute("DROP TABLE moved")
    columns = cache.including_own_changes(connection)
    # Deleted rows keep a meaningless slot in the arrays, which only has to be in range.
    places = np.searchsorted(used, columns.slot).astype(np.int32)
    fold(connection, replace(columns, slot=places))
