"""Retires, undoes and counts rows and file records, which live and die by the same rules, in write transactions."""

from collections.abc import Collection

import apsw

from codequarry.shared.store.embedded.columns import log_deleted, log_died
from codequarry.shared.store.embedded.sql import LISTED, as_json, fetch_first
from codequarry.shared.store.records import Tally
from codequarry.shared.versions.snapshots import OPEN

_TABLES = ("chunk", "file")
_RETIRABLE = (
    f"timeline = ? AND path IN (SELECT id FROM path WHERE path IN {LISTED})"
    f" AND born < ? AND (died = {OPEN} OR died IN {LISTED})"
)
# The last condition is that of the partial indices.
_RETIRED = f"timeline = ? AND died = ? AND died < {OPEN}"


def retire(
    connection: apsw.Connection, timeline: int, number: int, paths: Collection[str], aborted: Collection[int]
) -> int:
    """Set ``died`` to ``number`` in the rows and records that rule 3 allows, and return how many changed."""
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
    """Delete what ``number`` wrote and revive what it retired."""
    delete(connection, "timeline = ? AND born = ?", (timeline, number))
    statement = f"SET died = {OPEN} WHERE {_RETIRED} RETURNING row"
    revived = {table: fetch_first(connection, f"UPDATE {table} {statement}", (timeline, number)) for table in _TABLES}
    log_died(connection, revived["chunk"])


def delete(connection: apsw.Connection, where: str, values: tuple[object, ...]) -> None:
    """Delete the rows and records that meet a condition."""
    deleted = fetch_first(connection, f"DELETE FROM chunk WHERE {where} RETURNING row", values)
    connection.execute(f"DELETE FROM payload WHERE row IN {LISTED}", (as_json(deleted),))
    connection.execute(f"DELETE FROM file WHERE {where}", values)
    log_deleted(connection, deleted)
