"""Deleting for good: timelines that are purged, rows that nobody may ask for any more, and what only they used.

A purge looks at everything that is left; a collection only at what the deleted rows used, so that it costs what it
deletes. What frees room (another vector file, lists and pages written anew) is done when a good part has become unused.
"""

from collections.abc import Collection
from dataclasses import replace

import apsw
import numpy as np

from codequarry.shared.store.embedded.columns import ColumnCache, fold, log_deleted
from codequarry.shared.store.embedded.lifetimes import delete
from codequarry.shared.store.embedded.schema import read_meta
from codequarry.shared.store.embedded.sql import LISTED, as_json, fetch, fetch_first
from codequarry.shared.store.embedded.vectors import VectorFile
from codequarry.shared.versions.snapshots import OPEN

# The last but one condition is what the partial indices are made with.
_COLLECTABLE = f"timeline = ? AND born > ? AND died <= ? AND died < {OPEN} AND died NOT IN {LISTED}"
# Rows and records deleted in one transaction: some tenths of a second, after which other writers get their turn.
_DELETED_AT_ONCE = 5_000

_UNUSED_PATHS = (
    f"DELETE FROM path WHERE id IN {LISTED} AND NOT EXISTS (SELECT 1 FROM chunk WHERE chunk.path = path.id)"
    " AND NOT EXISTS (SELECT 1 FROM file WHERE file.path = path.id)"
)
_UNUSED_VECTORS = (
    f"DELETE FROM vector WHERE slot IN {LISTED} AND NOT EXISTS (SELECT 1 FROM chunk WHERE chunk.slot = vector.slot)"
)

# The vector file is written anew when more than this share of its slots is unused, or it would grow for ever.
_MAX_UNUSED_SHARE = 0.2


def purge(connection: apsw.Connection, timelines: Collection[int]) -> None:
    """Delete all of ``timelines``, and the vectors and paths that nothing uses any more."""
    delete(connection, f"timeline IN {LISTED}", (as_json(timelines),))
    connection.execute("DELETE FROM path WHERE id NOT IN (SELECT path FROM chunk UNION SELECT path FROM file)")
    connection.execute("DELETE FROM vector WHERE slot NOT IN (SELECT slot FROM chunk)")


def collect_some(connection: apsw.Connection, timeline: int, after: int, until: int, aborted: Collection[int]) -> int:
    """Delete rows and records that ``Store.collect`` names, as many as one transaction should; 0 if none is left."""
    values = (timeline, after, until, as_json(aborted), _DELETED_AT_ONCE)
    rows, records = (
        fetch_first(connection, f"SELECT row FROM {table} WHERE {_COLLECTABLE} LIMIT ?", values)
        for table in ("chunk", "file")
    )
    deleted = fetch(connection, f"DELETE FROM chunk WHERE row IN {LISTED} RETURNING path, slot", (as_json(rows),))
    connection.execute(f"DELETE FROM payload WHERE row IN {LISTED}", (as_json(rows),))
    log_deleted(connection, rows)
    named = fetch_first(connection, f"DELETE FROM file WHERE row IN {LISTED} RETURNING path", (as_json(records),))
    _drop_unused(connection, {*named, *(path for path, _ in deleted)}, {slot for _, slot in deleted})
    return len(rows) + len(records)


def _drop_unused(connection: apsw.Connection, paths: Collection[int], slots: Collection[int]) -> None:
    """Delete those of the paths and of the vectors that no row or record uses any more."""
    connection.execute(_UNUSED_PATHS, (as_json(paths),))
    connection.execute(_UNUSED_VECTORS, (as_json(slots),))


def compact_if_worthwhile(connection: apsw.Connection, cache: ColumnCache, vector_file: VectorFile) -> None:
    """Write the vectors anew if many slots are unused."""
    slots = read_meta(connection, "slots")
    used_slots = int(connection.execute("SELECT count(*) FROM vector").get)
    if slots - used_slots > _MAX_UNUSED_SHARE * slots:
        compact(connection, cache, vector_file)


def compact(connection: apsw.Connection, cache: ColumnCache, vector_file: VectorFile) -> None:
    """Write the vectors in use to a new file and point everything there."""
    used = np.array(fetch_first(connection, "SELECT slot FROM vector ORDER BY slot"), np.int32)
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
