"""Looks for damage, in samples or everywhere, and changes nothing."""

import json
import random
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import apsw
import numpy as np

from codequarry.shared.errors import StoreDamaged
from codequarry.shared.store.embedded.columns import ColumnCache
from codequarry.shared.store.embedded.payload import decode
from codequarry.shared.store.embedded.schema import DATABASE, read_meta
from codequarry.shared.store.embedded.sql import fetch, fetch_first
from codequarry.shared.store.embedded.vectors import GenerationGone, VectorFile
from codequarry.shared.store.records import Damage
from codequarry.shared.store.vectors import usable_rows

# A quick inspection reads 64 blocks of vectors (16 MB with the default model) and this many texts.
QUICK_BLOCKS = 64
QUICK_ROWS = 500
# Rows read in each transaction of a full inspection.
_PAGE = 2_000
_MOST_NAMED = 5

OpenForReading = Callable[[], AbstractContextManager[apsw.Connection]]


def inspect(reading: OpenForReading, vectors: VectorFile, *, thoroughly: bool) -> list[Damage]:
    """Return the damage found; if a damaged page stops the inspection, it is the last entry."""
    found: list[Damage] = []
    try:
        found.extend(inspect_wholly(reading, vectors) if thoroughly else inspect_quickly(reading, vectors))
    except StoreDamaged as error:
        found.append(Damage("database", str(error)))
    return found


def inspect_quickly(reading: OpenForReading, vectors: VectorFile) -> Iterator[Damage]:
    """Yield the damage found in a second or two: in the files, the catalog, the change log, and samples of the rest."""
    yield from _inspect_vector_file(reading, vectors, QUICK_BLOCKS)
    yield from _inspect_catalog(reading)
    yield from _inspect_change_log(reading)
    with reading() as connection:
        newest = int(connection.execute("SELECT coalesce(max(row), 0) FROM payload").get)
        picked = sorted(random.sample(range(1, newest + 1), min(QUICK_ROWS, newest)))
        yield from _inspect_texts(fetch(connection, _PAYLOADS.format(places=", ".join(map(str, picked))), ()))


def inspect_wholly(reading: OpenForReading, vectors: VectorFile) -> Iterator[Damage]:
    """Yield all damage: every page, list, text, vector and document is read."""
    yield from _inspect_vector_file(reading, vectors, None)
    if damage := list(_inspect_pages(reading)):
        yield from damage
        return  # reading such pages may never end
    yield from _inspect_vectors(reading, vectors)
    yield from _inspect_catalog(reading)
    yield from _inspect_all_texts(reading)
    yield from _inspect_change_log(reading)
    yield from _inspect_lists(reading)


_PAYLOADS = "SELECT row, body FROM payload WHERE row IN ({places})"


def _inspect_pages(reading: OpenForReading) -> Iterator[Damage]:
    with reading() as connection:
        errors = fetch_first(connection, f"PRAGMA integrity_check({_MOST_NAMED})")
    if errors != ["ok"]:
        yield Damage("database", f"{DATABASE}: {'; '.join(map(str, errors))}")


def _inspect_vector_file(reading: OpenForReading, vectors: VectorFile, most_blocks: int | None) -> Iterator[Damage]:
    with reading() as connection:
        name = vectors.path(read_meta(connection, "generation")).name
        damaged = vectors.damaged_slots(connection, most_blocks)
    if len(damaged):
        yield Damage("vectors", f"{name}: {len(damaged):,} vectors are damaged or missing")


def _inspect_vectors(reading: OpenForReading, vectors: VectorFile) -> Iterator[Damage]:
    """Look for vectors that no model can produce, although their checksums are right."""
    with reading() as connection:
        try:
            matrix = vectors.matrix(connection)
        except (StoreDamaged, GenerationGone):
            return  # already reported
        used = np.array(fetch_first(connection, "SELECT slot FROM vector"), np.int64)
        beyond = int(np.count_nonzero(used >= len(matrix)))
        there = used[used < len(matrix)]
        odd = sum(int((~usable_rows(matrix[there[at : at + _PAGE]])).sum()) for at in range(0, len(there), _PAGE))
    if beyond:
        yield Damage("database", f"{beyond:,} vectors have slots beyond the end of the file")
    if odd:
        yield Damage("vectors", f"{odd:,} vectors are zero or not finite")


def _inspect_catalog(reading: OpenForReading) -> Iterator[Damage]:
    with reading() as connection:
        bodies = fetch(connection, "SELECT key, body FROM document")
    for key, body in bodies:
        try:
            json.loads(body)
        except ValueError:
            yield Damage("database", f"catalog document {key} can't be read")


def _inspect_change_log(reading: OpenForReading) -> Iterator[Damage]:
    """Read the whole log, as every process does before its first search."""
    try:
        with reading() as connection:
            ColumnCache().refreshed(connection)
    except StoreDamaged as error:
        yield Damage("database", str(error))


def _inspect_all_texts(reading: OpenForReading) -> Iterator[Damage]:
    last = 0
    query = "SELECT row, body FROM payload WHERE row > ? ORDER BY row LIMIT ?"
    while True:
        with reading() as connection:
            rows = fetch(connection, query, (last, _PAGE))
        if not rows:
            break
        yield from _inspect_texts(rows)
        last = rows[-1][0]
    with reading() as connection:
        without = connection.execute("SELECT count(*) FROM chunk WHERE row NOT IN (SELECT row FROM payload)").get
    if without:
        yield Damage("database", f"{without:,} chunk rows have no text")


def _inspect_texts(rows: list[tuple[int, bytes]]) -> Iterator[Damage]:
    """Check that texts can be decoded; another check compares them with git."""
    for row, body in rows:
        try:
            decode(body)
        except (zlib.error, ValueError, TypeError, KeyError, AttributeError):
            yield Damage("database", f"the text of chunk row {row} can't be read")


def _inspect_lists(reading: OpenForReading) -> Iterator[Damage]:
    with reading() as connection:
        # Not the highest existing row, because lists name deleted rows until they are rewritten.
        newest = int(connection.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'chunk'").get)
        wrong = 0
        for rows, weights in connection.execute("SELECT rows, weights FROM posting"):
            numbers = np.frombuffer(rows, "<i4") if len(rows) % 4 == 0 else np.array([-1], "<i4")
            in_range = len(numbers) and int(numbers.min()) > 0 and int(numbers.max()) <= newest
            wrong += not in_range or (weights is not None and (len(weights) != len(numbers) or 0 in weights))
    if wrong:
        yield Damage("database", f"{wrong:,} posting lists are invalid")
