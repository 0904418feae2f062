"""Creates rows and file records in a write transaction."""

from collections.abc import Collection, Mapping, Sequence

import apsw
import numpy as np

from codequarry.shared.arrays import Vector
from codequarry.shared.model import FileRecord
from codequarry.shared.store.embedded.batch import Batch
from codequarry.shared.store.embedded.columns import Ints, RowRecords, log_added
from codequarry.shared.store.embedded.segments import write_segment
from codequarry.shared.store.embedded.sql import LISTED, as_json, fetch
from codequarry.shared.store.embedded.vectors import VectorFile
from codequarry.shared.versions.snapshots import OPEN

_FILE_COLUMNS = "timeline, born, died, path, repo, blob, verdict, rows, rules, language, size, lines, detail"


def create_rows(
    connection: apsw.Connection, batch: Batch, vectors: Mapping[str, Vector], vector_file: VectorFile
) -> None:
    """Create the rows of a batch that do not exist yet."""
    if not batch.rows:
        return
    paths = path_ids(connection, {row.chunk.path for row in batch.rows})
    slots = keep_vectors(connection, vectors, vector_file)
    records = batch.records.copy()
    records["path"] = [paths[row.chunk.path] for row in batch.rows]
    records["slot"] = [slots[row.vector_key] for row in batch.rows]
    numbers = _insert_rows(connection, batch, records)
    created = np.flatnonzero(numbers >= 0)
    if not len(created):
        return
    records["row"] = numbers
    connection.executemany(
        "INSERT INTO payload VALUES (?, ?)",
        ((int(numbers[place]), batch.payloads[place]) for place in created.tolist()),
    )
    write_segment(connection, numbers[created].tolist(), batch.lists(numbers))
    log_added(connection, records[created])


def _insert_rows(connection: apsw.Connection, batch: Batch, records: RowRecords) -> Ints:
    """Insert the rows and return their numbers, or -1 for rows that already existed."""
    numbers = np.full(len(batch.rows), -1, np.int32)
    query = (
        "INSERT INTO chunk (id, stride, timeline, born, died, path, slot) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING RETURNING row"
    )
    for place, (row, path, slot) in enumerate(
        zip(batch.rows, records["path"].tolist(), records["slot"].tolist(), strict=True)
    ):
        stride = row.chunk.stride_info.stride_index if row.chunk.stride_info else 0
        values = (row.chunk.id, stride, row.timeline, row.born, OPEN, path, slot)
        number = connection.execute(query, values).get
        if number is not None:
            numbers[place] = number
    return numbers


def create_files(connection: apsw.Connection, files: Sequence[FileRecord]) -> None:
    """Create the file records that do not exist yet."""
    paths = path_ids(connection, {file.path for file in files})
    connection.executemany(
        f"INSERT INTO file ({_FILE_COLUMNS}) VALUES ({', '.join('?' * 13)}) ON CONFLICT DO NOTHING",
        (
            (
                *(file.timeline, file.born, OPEN, paths[file.path], file.repo, file.blob, file.verdict),
                *(file.rows, file.rules, file.language, file.size, file.lines, file.detail),
            )
            for file in files
        ),
    )


def path_ids(connection: apsw.Connection, paths: Collection[str]) -> dict[str, int]:
    """Return the ids of paths, adding new paths."""
    connection.executemany("INSERT INTO path (path) VALUES (?) ON CONFLICT DO NOTHING", ((path,) for path in paths))
    return dict(fetch(connection, f"SELECT path, id FROM path WHERE path IN {LISTED}", (as_json(paths),)))


def slots_of(connection: apsw.Connection, keys: Collection[str]) -> dict[str, int]:
    """Return the slots of those vectors that are stored, by key."""
    return dict(fetch(connection, f"SELECT key, slot FROM vector WHERE key IN {LISTED}", (as_json(keys),)))


def vectors_of(connection: apsw.Connection, keys: Sequence[str], vectors: VectorFile) -> dict[str, Vector]:
    """Return the stored vectors of ``keys``; raise GenerationGone if the file has been replaced."""
    slots = slots_of(connection, keys)
    matrix = vectors.matrix(connection)
    return {key: matrix[slot].copy() for key, slot in slots.items()}


def keep_vectors(connection: apsw.Connection, vectors: Mapping[str, Vector], vector_file: VectorFile) -> dict[str, int]:
    """Store the vectors that are new, and return the slots of all of them by key."""
    slots = slots_of(connection, vectors.keys())
    fresh = [key for key in vectors if key not in slots]
    if fresh:
        written = vector_file.append(connection, np.stack([vectors[key] for key in fresh]))
        slots.update(zip(fresh, written, strict=True))
        connection.executemany("INSERT INTO vector VALUES (?, ?)", ((key, slots[key]) for key in fresh))
    return slots
