"""Reads file records, and the chunks of a file or of some rows, directly with SQL."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from codequarry.shared.filters import accepted_values
from codequarry.shared.model import Chunk, ChunkRow, CommitFilters, FileRecord, Filters, Snapshot
from codequarry.shared.store.embedded.batch import AUTHOR, DAY, FIELD, field_key
from codequarry.shared.store.embedded.columns import Bools, Columns
from codequarry.shared.store.embedded.live_rows import live_clauses
from codequarry.shared.store.embedded.path_names import PathNames
from codequarry.shared.store.embedded.payload import decode
from codequarry.shared.store.embedded.postings import PostingReader
from codequarry.shared.store.embedded.sql import LISTED, as_json, fetch, fetch_first
from codequarry.shared.store.records import StoredFile, StoredRow

# The columns in the order of FileRecord's fields.
FILE_FIELDS = "repo, path.path, blob, verdict, rows, rules, timeline, born, language, size, lines, detail"
_FILES = f"SELECT {FILE_FIELDS} FROM file JOIN path ON path.id = file.path"
# The unary plus leaves the index on paths as the only choice: a path has few records, whatever the timelines.
_LIVES = (
    f"SELECT {FILE_FIELDS}, died FROM file JOIN path ON path.id = file.path"
    f" WHERE file.path IN (SELECT id FROM path WHERE path IN {LISTED}) AND +timeline IN {LISTED}"
)
_BODIES = (
    "SELECT payload.body FROM chunk JOIN path ON path.id = chunk.path JOIN payload ON payload.row = chunk.row"
    " WHERE path.path = ? AND stride = 0"
)
_SYMBOL_LIVES = (
    "SELECT timeline, born, died, vector.key, payload.body FROM chunk JOIN payload ON payload.row = chunk.row"
    f" JOIN vector ON vector.slot = chunk.slot WHERE chunk.row IN {LISTED} AND stride = 0 AND +timeline IN {LISTED}"
)
# The fields that name what a chunk declares.
_SYMBOL_FIELDS = ("symbol_name", "defines")
# Two versions may hold the same chunk; a search of both returns it once.
_FIRST_CHUNKS = (
    "SELECT payload.body FROM (SELECT path.path AS place, MIN(chunk.row) AS row FROM chunk"
    f" JOIN path ON path.id = chunk.path WHERE chunk.row IN {LISTED} GROUP BY chunk.id ORDER BY place, row LIMIT ?)"
    " JOIN payload USING (row)"
)


def live_files(connection: apsw.Connection, snapshot: Snapshot, paths: Collection[str] | None) -> Iterator[FileRecord]:
    """Return the file records that are live in ``snapshot``, sorted by path."""
    only, wanted = "", []
    if paths is not None:
        only, wanted = f" AND file.path IN (SELECT id FROM path WHERE path IN {LISTED})", [as_json(paths)]
    found: set[tuple[Any, ...]] = set()
    for clause, values in live_clauses(snapshot):
        found.update(fetch(connection, f"{_FILES} WHERE {clause}{only}", [*values, *wanted]))
    return _records(found)


def files_of(connection: apsw.Connection, timeline: int, number: int) -> Iterator[FileRecord]:
    """Return the file records that transaction ``number`` wrote, sorted by path."""
    return _records(fetch(connection, f"{_FILES} WHERE timeline = ? AND born = ?", (timeline, number)))


def file_lives(connection: apsw.Connection, timelines: Collection[int], paths: Collection[str]) -> Iterator[StoredFile]:
    """Return every file record of ``timelines`` at ``paths``, dead or alive."""
    rows = fetch(connection, _LIVES, (as_json(paths), as_json(timelines)))
    return (StoredFile(FileRecord(*values), died) for *values, died in sorted(rows, key=_life))


def _records(rows: Collection[tuple[Any, ...]]) -> Iterator[FileRecord]:
    """Yield the records one at a time: a repository may have hundreds of thousands."""
    for row in sorted(rows, key=_life):
        yield FileRecord(*row)


def _life(row: tuple[Any, ...]) -> tuple[str, int, int]:
    """Return the path, timeline and ``born`` of a record's row."""
    return row[1], row[6], row[7]


def chunks_of(connection: apsw.Connection, snapshot: Snapshot, path: str, repo: str) -> list[Chunk]:
    """Return the live chunks of a file in file order, each by its first stride."""
    bodies: dict[bytes, None] = {}
    for clause, values in live_clauses(snapshot):
        bodies |= dict.fromkeys(fetch_first(connection, f"{_BODIES} AND {clause}", (path, *values)))
    chunks = {chunk.id: chunk for chunk, _ in map(decode, bodies) if chunk.repo == repo}
    return sorted(chunks.values(), key=_place)


def chunks_at(connection: apsw.Connection, rows: NDArray[np.intp], limit: int) -> list[Chunk]:
    """Return at most ``limit`` chunks of the given rows, sorted by path and place in the file."""
    bodies = fetch_first(connection, _FIRST_CHUNKS, (as_json(rows.tolist()), limit))
    return sorted((decode(body)[0] for body in bodies), key=_place)


def symbol_lives(
    connection: apsw.Connection, postings: PostingReader, timelines: Collection[int], symbol: str
) -> list[StoredRow]:
    """Return the rows of ``timelines`` that declare ``symbol``, dead or alive, each by its first stride."""
    keys = [field_key(name, symbol) for name in _SYMBOL_FIELDS]
    rows = {row for posting in postings.read(connection, FIELD, keys).values() for row in posting.rows.tolist()}
    lives: list[StoredRow] = []
    for timeline, born, died, key, body in fetch(connection, _SYMBOL_LIVES, (as_json(rows), as_json(timelines))):
        chunk, tokens = decode(body)
        lives.append(StoredRow(ChunkRow(chunk, tokens, timeline, born, key), died))
    return sorted(lives, key=lambda life: (life.row.timeline, life.row.born, *_place(life.row.chunk)))


def _place(chunk: Chunk) -> tuple[str, int, int, str]:
    return chunk.path, chunk.ordinal, chunk.start_char, chunk.symbol_part or ""


class Selector:
    """Turns filters into masks."""

    def __init__(self, postings: PostingReader, paths: PathNames) -> None:
        self._postings = postings
        self._paths = paths

    def mask(self, connection: apsw.Connection, columns: Columns, filters: Filters, live: Bools) -> Bools:
        """Return which of the ``live`` rows match ``filters``, whose fields must exist."""
        fitting = live
        for name, values in filters.terms:
            fitting = fitting & self._having(connection, len(live), name, values)
        for name, values in filters.excluded:
            fitting = fitting & ~self._having(connection, len(live), name, values)
        if filters.paths.include or filters.paths.exclude:
            fitting = fitting & self._paths.fitting(connection, filters.paths, int(columns.path.max()))[columns.path]
        return self._of_commits(connection, filters.commits, fitting)

    def _of_commits(self, connection: apsw.Connection, commits: CommitFilters, live: Bools) -> Bools:
        fitting = live
        if commits.authors:
            fitting = fitting & self._by_authors(connection, len(live), commits.authors)
        if commits.excluded:
            fitting = fitting & ~self._by_authors(connection, len(live), commits.excluded)
        if commits.since is not None or commits.until is not None:
            first, last = commits.since, commits.until
            days = [
                day
                for day in map(int, self._postings.beginning(connection, FIELD + field_key(DAY, "")))
                if (first is None or day >= first) and (last is None or day <= last)
            ]
            fitting = fitting & self._having(connection, len(live), DAY, list(map(str, days)))
        return fitting

    def _by_authors(self, connection: apsw.Connection, size: int, names: Sequence[str]) -> Bools:
        authors = self._postings.beginning(connection, FIELD + field_key(AUTHOR, ""))
        wanted = [author for author in authors if any(name in author for name in names)]
        return self._having(connection, size, AUTHOR, wanted)

    def _having(self, connection: apsw.Connection, size: int, name: str, values: Sequence[str]) -> Bools:
        having = np.zeros(size, np.bool_)
        if name == "id":
            rows = fetch_first(connection, f"SELECT row FROM chunk WHERE id IN {LISTED}", (as_json(values),))
            having[np.array(rows, np.int64)] = True
            return having
        keys = [field_key(name, value) for value in accepted_values(name, values)]
        for posting in self._postings.read(connection, FIELD, keys).values():
            having[posting.rows] = True
        return having
