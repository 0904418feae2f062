"""File records, and the chunks of a file or of some rows, straight from SQL."""

from collections.abc import Collection, Iterator
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from codequarry.shared.model import Chunk, FileRecord, Snapshot
from codequarry.shared.store.embedded.live import live_clause
from codequarry.shared.store.embedded.payload import decode
from codequarry.shared.store.embedded.sql import LISTED, as_json, fetch, fetch_first

# The columns in the order of FileRecord's fields.
FILE_FIELDS = "repo, path.path, blob, verdict, rows, rules, timeline, born, language, size, lines, detail"
_FILES = f"SELECT {FILE_FIELDS} FROM file JOIN path ON path.id = file.path"
_BODIES = (
    "SELECT payload.body FROM chunk JOIN path ON path.id = chunk.path JOIN payload ON payload.row = chunk.row"
    " WHERE path.path = ? AND stride = 0"
)
# Two versions may hold the same chunk; a search that names both sees it once.
_FIRST_CHUNKS = (
    "SELECT payload.body FROM (SELECT path.path AS place, MIN(chunk.row) AS row FROM chunk"
    f" JOIN path ON path.id = chunk.path WHERE chunk.row IN {LISTED} GROUP BY chunk.id ORDER BY place, row LIMIT ?)"
    " JOIN payload USING (row)"
)


def live_files(connection: apsw.Connection, snapshot: Snapshot, paths: Collection[str] | None) -> Iterator[FileRecord]:
    """Return the file records that are live in ``snapshot``, by path."""
    only, wanted = "", []
    if paths is not None:
        only, wanted = f" AND file.path IN (SELECT id FROM path WHERE path IN {LISTED})", [as_json(paths)]
    found: set[tuple[Any, ...]] = set()
    for layer in snapshot.layers:
        clause, values = live_clause(layer)
        found.update(fetch(connection, f"{_FILES} WHERE {clause}{only}", [*values, *wanted]))
    return _records(found)


def files_of(connection: apsw.Connection, timeline: int, number: int) -> Iterator[FileRecord]:
    """Return the file records that transaction ``number`` wrote, by path."""
    return _records(fetch(connection, f"{_FILES} WHERE timeline = ? AND born = ?", (timeline, number)))


def _records(rows: Collection[tuple[Any, ...]]) -> Iterator[FileRecord]:
    """Make the records one at a time: a repository has hundreds of thousands."""
    for row in sorted(rows, key=lambda row: (row[1], row[6], row[7])):
        yield FileRecord(*row)


def chunks_of(connection: apsw.Connection, snapshot: Snapshot, path: str, repo: str) -> list[Chunk]:
    """Return the live chunks of a file in file order, the first stride of each."""
    bodies: dict[bytes, None] = {}
    for layer in snapshot.layers:
        clause, values = live_clause(layer)
        bodies |= dict.fromkeys(fetch_first(connection, f"{_BODIES} AND {clause}", (path, *values)))
    chunks = {chunk.id: chunk for chunk, _ in map(decode, bodies) if chunk.repo == repo}
    return sorted(chunks.values(), key=_place)


def chunks_at(connection: apsw.Connection, rows: NDArray[np.intp], limit: int) -> list[Chunk]:
    """Return the chunks of some rows by path and place in the file, at most ``limit``."""
    bodies = fetch_first(connection, _FIRST_CHUNKS, (as_json(rows.tolist()), limit))
    return sorted((decode(body)[0] for body in bodies), key=_place)


def _place(chunk: Chunk) -> tuple[str, int, int, str]:
    return chunk.path, chunk.ordinal, chunk.start_char, chunk.symbol_part or ""
