"""What is derived from rows and their texts, made anew: the inverted lists and the log of changes."""

from collections.abc import Callable

import apsw

from codequarry.shared.model import ChunkRow
from codequarry.shared.store.embedded.batch import prepare_batch
from codequarry.shared.store.embedded.columns import ColumnCache, fold, log_added
from codequarry.shared.store.embedded.database import Database
from codequarry.shared.store.embedded.payload import decode_labelled
from codequarry.shared.store.embedded.segments import write_segment
from codequarry.shared.store.embedded.sql import fetch

# Rows listed in one transaction, as many as a large batch of an import has.
_PAGE = 2_000
_ROWS = (
    "SELECT chunk.row, timeline, born, died, path, slot, body FROM chunk JOIN payload USING (row)"
    " WHERE chunk.row > ? ORDER BY chunk.row LIMIT ?"
)


def list_anew(database: Database, advance: Callable[[int], None]) -> None:
    """Write lists and log for all rows of a database that has none; ``advance`` is told how many it has done."""
    last = done = 0
    while True:
        with database.writing() as connection:
            rows = fetch(connection, _ROWS, (last, _PAGE))
            if not rows:
                break
            _list(connection, rows)
        last = rows[-1][0]
        done += len(rows)
        advance(done)
    with database.writing() as connection:
        fold(connection, ColumnCache().including_own_changes(connection))


def _list(connection: apsw.Connection, rows: list[tuple[int, int, int, int, int, int, bytes]]) -> None:
    found: list[ChunkRow] = []
    for _, timeline, born, _, _, _, body in rows:
        chunk, tokens, labels = decode_labelled(body)
        found.append(ChunkRow(chunk, tokens, timeline, born, labels, ""))
    batch = prepare_batch(found)
    records = batch.records.copy()
    for name, column in (("row", 0), ("died", 3), ("path", 4), ("slot", 5)):
        records[name] = [row[column] for row in rows]
    write_segment(connection, records["row"].tolist(), batch.lists(records["row"]))
    log_added(connection, records)
