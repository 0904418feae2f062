"""A new folder with all that a damaged one still holds: the catalog, vectors, and the rows of files that are whole."""

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
# A slot may be used by many rows, which all have the same text.
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
# Enough to tell whose keys they are, although some texts are embedded otherwise by another release.
_COMPARED = 20
_WITH_KEY = f"SELECT key, body FROM chunk JOIN payload USING (row) JOIN vector USING (slot) LIMIT {_COMPARED}"

KeyOf = Callable[[Chunk], str]
SalvageProgress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Salvage:
    """What was found and what is missing.

    ``incomplete`` are the timeline and path of file versions that have lost something and were left out; where
    ``may_lack_rows``, there may be others of which nothing is left. Of ``lost_documents`` only the keys are known;
    where ``may_lack_documents``, there may be others. ``written`` are the timelines and numbers of which rows are left.
    ``lost_vectors`` have a key and hold zeros now. ``fits`` says whether the keys of vectors are those that ``key_of``
    gives, None where there is nothing to compare.
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
    """Fill the new folder ``target``; ``key_of`` gives the key of a chunk's vector.

    ``advance`` is told of how many rows lists were made. What is in no tree of the damaged file, as what was deleted,
    is not brought back.
    """
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
    """Write rows in transactions of some; what is there already stays."""
    waiting = iter(rows)
    while some := list(islice(waiting, _PAGE)):
        with database.writing() as connection:
            connection.executemany(f"INSERT OR IGNORE INTO {into}", some)


def _rows(wreck: DamagedDatabase, table: str) -> Iterator[Sequence[Any]]:
    """Yield rows whose first column is their number, which the record leaves out."""
    return ((row, *values[1:]) for row, values in wreck.records(table))


def _paths(wreck: DamagedDatabase) -> Iterator[Sequence[Any]]:
    yield from _rows(wreck, "path")
    yield from ((values[1], values[0]) for _, values in wreck.records(PATH_INDEX))


def _copy_vectors(database: Database, vectors: SalvagedVectors, vector_file: VectorFile) -> set[int]:
    """Write the vectors to the same slots, and return the slots that are not what was written."""
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
    """Delete what is left of files that have lost something, and return the timelines and paths of their records."""
    with database.writing() as connection:
        _find_keys(connection, slots, key_of)
        connection.execute(_UNUSABLE_CHUNKS)
        incomplete = fetch(connection, _INCOMPLETE_FILES)
        for statement in _LEFT_OVER:
            connection.execute(statement)
    return [(timeline, path) for timeline, path in incomplete if path is not None]


def _find_keys(connection: apsw.Connection, slots: int, key_of: KeyOf) -> None:
    """Give vectors whose key is lost the one of a chunk that uses them."""
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


# Rows listed in one transaction, as many as a large batch of an import has.
_LISTED_AT_ONCE = 2_000
_ROWS = (
    "SELECT chunk.row, timeline, born, died, path, slot, body FROM chunk JOIN payload USING (row)"
    " WHERE chunk.row > ? ORDER BY chunk.row LIMIT ?"
)


def rebuild_lists(database: Database, advance: Callable[[int], None]) -> None:
    """Write lists and log for all rows of a database that has none; ``advance`` is told how many it has done."""
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
