"""Fills a new folder with what a damaged folder still holds: the catalog, vectors, and the rows of complete files."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from codequarry.shared.model import Chunk, ChunkRow
from codequarry.shared.store.embedded.batch import prepare_batch
from codequarry.shared.store.embedded.columns import ColumnCache, fold, log_added
from codequarry.shared.store.embedded.damaged_database import DOCUMENT_INDEX, PATH_INDEX, DamagedDatabase
from codequarry.shared.store.embedded.database import Database
from codequarry.shared.store.embedded.payload import decode
from codequarry.shared.store.embedded.salvaged_vectors import SalvagedVectors
from codequarry.shared.store.embedded.schema import DATABASE
from codequarry.shared.store.embedded.segments import write_segment
from codequarry.shared.store.embedded.sql import fetch, fetch_first
from codequarry.shared.store.embedded.vectors import VectorFile

# Rows written in one transaction.
_PAGE = 10_000
_FILE = "file.timeline = chunk.timeline AND file.path = chunk.path AND file.born = chunk.born"
_UNUSABLE_CHUNKS = (
    "DELETE FROM chunk WHERE row NOT IN (SELECT row FROM payload) OR path NOT IN (SELECT id FROM path)"
    " OR slot NOT IN (SELECT slot FROM vector)"
)
_INCOMPLETE_FILES = (
    "DELETE FROM file WHERE path NOT IN (SELECT id FROM path)"
    f" OR rows != (SELECT count(*) FROM chunk WHERE {_FILE})"
    " RETURNING timeline, (SELECT path.path FROM path WHERE path.id = file.path)"
)
# Many rows may use a slot; all of them have the same text.
_WITHOUT_KEY = (
    "SELECT slot, body FROM chunk JOIN payload USING (row)"
    " WHERE slot < ? AND slot NOT IN (SELECT slot FROM vector) GROUP BY slot"
)
_LEFT_OVER = (
    f"DELETE FROM chunk WHERE NOT EXISTS (SELECT 1 FROM file WHERE {_FILE})",
    "DELETE FROM payload WHERE row NOT IN (SELECT row FROM chunk)",
    "DELETE FROM path WHERE id NOT IN (SELECT path FROM chunk) AND id NOT IN (SELECT path FROM file)",
)

_WRITTEN = "SELECT DISTINCT timeline, born FROM chunk UNION SELECT DISTINCT timeline, born FROM file"
# Enough to recognise the keys even if another release embeds some texts differently.
_COMPARED = 20
_WITH_KEY = f"SELECT key, body FROM chunk JOIN payload USING (row) JOIN vector USING (slot) LIMIT {_COMPARED}"

KeyOf = Callable[[Chunk], str]
SalvageProgress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Salvage:
    """What was found and what is missing.

    ``incomplete`` has the timeline and path of file versions that lost something and were left out; if
    ``may_lack_rows``, others may be lost entirely. Only the keys of ``lost_documents`` are known; if
    ``may_lack_documents``, others may be lost. ``written`` has the timelines and numbers of the rows that are left.
    ``lost_vectors`` have a key but hold zeros. ``fits``: whether ``key_of`` returns the stored keys (None if unknown).
    """

    pages: int
    damaged_pages: int
    may_lack_rows: bool
    may_lack_documents: bool
    lost_documents: tuple[str, ...]
    incomplete: tuple[tuple[int, str], ...]
    written: tuple[tuple[int, int], ...]
    files: int
    rows: int
    vectors: int
    lost_vectors: int
    fits: bool | None


def salvage(damaged: Path, target: Path, dimension: int, key_of: KeyOf, advance: SalvageProgress) -> Salvage:
    """Fill the new folder ``target``; ``key_of`` returns vector keys, ``advance`` receives the count of listed rows."""
    wreck = DamagedDatabase(damaged / DATABASE)
    vectors = SalvagedVectors(damaged, wreck, dimension)
    with closing(Database(target, dimension)) as database:
        _copy(database, "document VALUES (?, ?, ?)", (values for _, values in wreck.records("document")))
        _copy(database, "path VALUES (?, ?)", _paths(wreck))
        _copy(database, f"file VALUES ({', '.join('?' * 14)})", _rows(wreck, "file"))
        _copy(database, f"chunk VALUES ({', '.join('?' * 8)})", _rows(wreck, "chunk"))
        _copy(database, "payload VALUES (?, ?)", _rows(wreck, "payload"))
        wrong = _copy_vectors(database, vectors, VectorFile(target, dimension))
        incomplete = _drop_incomplete(database, vectors.slots, key_of)
        rebuild_lists(database, advance)
        with database.reading() as connection:
            counts = [int(connection.execute(f"SELECT count(*) FROM {table}").get) for table in ("file", "chunk")]
            lost = _lost_documents(connection, wreck)
            written = fetch(connection, _WRITTEN)
            lost_vectors = len(wrong.intersection(fetch_first(connection, "SELECT slot FROM vector")))
            fits = _fits(connection, key_of)
    return Salvage(
        pages=wreck.pages,
        damaged_pages=wreck.damaged_pages,
        may_lack_rows=wreck.may_lack_rows,
        may_lack_documents=wreck.may_lack_documents,
        lost_documents=tuple(lost),
        incomplete=tuple(incomplete),
        written=tuple((timeline, born) for timeline, born in written),
        files=counts[0],
        rows=counts[1],
        vectors=vectors.slots - len(wrong),
        lost_vectors=lost_vectors,
        fits=fits,
    )


def _copy(database: Database, into: str, rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows in several transactions; existing rows are kept."""
    waiting = iter(rows)
    while page := list(islice(waiting, _PAGE)):
        with database.writing() as connection:
            connection.executemany(f"INSERT OR IGNORE INTO {into}", page)


def _rows(wreck: DamagedDatabase, table: str) -> Iterator[Sequence[Any]]:
    """Yield rows; their first column is the row number, which the record leaves out."""
    return ((row, *values[1:]) for row, values in wreck.records(table))


def _paths(wreck: DamagedDatabase) -> Iterator[Sequence[Any]]:
    yield from _rows(wreck, "path")
    yield from ((values[1], values[0]) for _, values in wreck.records(PATH_INDEX))


def _copy_vectors(database: Database, vectors: SalvagedVectors, vector_file: VectorFile) -> set[int]:
    """Write the vectors to the same slots, and return the damaged slots."""
    first, wrong = 0, set[int]()
    for part, right in vectors.parts():
        with database.writing() as connection:
            vector_file.append(connection, part)
            here = [(vectors.keys[slot], slot) for slot in range(first, first + len(part)) if slot in vectors.keys]
            connection.executemany("INSERT OR IGNORE INTO vector VALUES (?, ?)", here)
        wrong.update((np.flatnonzero(~right) + first).tolist())
        first += len(part)
    return wrong


def _drop_incomplete(database: Database, slots: int, key_of: KeyOf) -> list[tuple[int, str]]:
    """Delete what is left of incomplete files, and return the timelines and paths of their records."""
    with database.writing() as connection:
        _find_keys(connection, slots, key_of)
        connection.execute(_UNUSABLE_CHUNKS)
        incomplete = fetch(connection, _INCOMPLETE_FILES)
        for statement in _LEFT_OVER:
            connection.execute(statement)
    return [(timeline, path) for timeline, path in incomplete if path is not None]


def _find_keys(connection: apsw.Connection, slots: int, key_of: KeyOf) -> None:
    """Compute lost vector keys from chunks that use the vectors."""
    for slot, body in fetch(connection, _WITHOUT_KEY, (slots,)):
        key = key_of(decode(body)[0])
        connection.execute("INSERT OR IGNORE INTO vector VALUES (?, ?)", (key, slot))
        connection.execute(
            "UPDATE chunk SET slot = (SELECT slot FROM vector WHERE key = ?) WHERE slot = ?", (key, slot)
        )


def _lost_documents(connection: apsw.Connection, wreck: DamagedDatabase) -> list[str]:
    found = set(fetch_first(connection, "SELECT key FROM document"))
    return sorted({str(values[0]) for _, values in wreck.records(DOCUMENT_INDEX)} - found)


def _fits(connection: apsw.Connection, key_of: KeyOf) -> bool | None:
    found = fetch(connection, _WITH_KEY)
    return any(key_of(decode(body)[0]) == key for key, body in found) if found else None


# Rows listed in one transaction, as in a large batch of an import.
_LISTED_AT_ONCE = 2_000
_ROWS = (
    "SELECT chunk.row, timeline, born, died, path, slot, body FROM chunk JOIN payload USING (row)"
    " WHERE chunk.row > ? ORDER BY chunk.row LIMIT ?"
)


def rebuild_lists(database: Database, advance: Callable[[int], None]) -> None:
    """Write the lists and the log for all rows of a database without any; ``advance`` receives the rows done."""
    last = done = 0
    while True:
        with database.writing() as connection:
            rows = fetch(connection, _ROWS, (last, _LISTED_AT_ONCE))
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
        chunk, tokens = decode(body)
        found.append(ChunkRow(chunk, tokens, timeline, born, ""))
    batch = prepare_batch(found)
    records = batch.records.copy()
    for name, column in (("row", 0), ("died", 3), ("path", 4), ("slot", 5)):
        records[name] = [row[column] for row in rows]
    write_segment(connection, records["row"].tolist(), batch.lists(records["row"]))
    log_added(connection, records)
