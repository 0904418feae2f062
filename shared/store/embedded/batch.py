"""Prepares a batch of rows for the database before the write lock is taken: bytes, lists, lengths."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from codequarry.shared.filters import FILTERABLE_FIELDS, RECALL_WEIGHTS, path_tails, symbol_keys
from codequarry.shared.model import TOKEN_FIELDS, Chunk, ChunkRow, Tokens
from codequarry.shared.store.embedded.columns import RECORD, Ints, RowRecords
from codequarry.shared.store.embedded.payload import encode
from codequarry.shared.store.embedded.postings import ListBuilder, StoredList
from codequarry.shared.versions.snapshots import OPEN

# Prefixes for the kinds of keys in the inverted lists.
TERM, SYMBOL, TAIL, FIELD = "t", "s", "p", "f"

# The fields of commits, whose filters compare every value.
AUTHOR, DAY = "author", "commit_day"

# Chunk ids are looked up in an index of the chunk table instead.
_LISTED_FIELDS = tuple(name for name in FILTERABLE_FIELDS if name != "id")


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows with everything that is stored about them, except their numbers, paths and slots."""

    rows: Sequence[ChunkRow]
    payloads: Sequence[bytes]
    records: RowRecords
    builders: Sequence[ListBuilder]

    def lists(self, numbers: Ints) -> Iterator[StoredList]:
        """Yield the inverted lists, by key, of the rows whose number is not -1."""
        for builder in sorted(self.builders, key=lambda builder: builder.prefix):
            yield from builder.lists(numbers)


def prepare_batch(rows: Sequence[ChunkRow]) -> Batch:
    """Do all the work on ``rows`` that needs no lock."""
    terms, symbols = ListBuilder(TERM, ranks=True), ListBuilder(SYMBOL, ranks=True)
    tails, fields = ListBuilder(TAIL, ranks=False), ListBuilder(FIELD, ranks=False)
    records = np.zeros(len(rows), RECORD)
    for place, row in enumerate(rows):
        stride = row.chunk.stride_info
        first = stride is None or stride.stride_index == 0
        lengths, counts = _counted(row.tokens)
        terms.add_row(counts.keys(), counts.values())
        names = symbol_keys(row.chunk) if first else {}
        symbols.add_row(names.keys(), names.values())
        tails.add_row(path_tails(row.chunk.path) if first else ())
        fields.add_row(field_keys(row))
        records[place] = (
            0,
            row.timeline,
            row.born,
            OPEN,
            0,
            0,
            first,
            stride is not None,
            hashed(row.chunk.id),
            lengths,
        )
    payloads = [encode(row) for row in rows]
    return Batch(rows, payloads, records, (terms, symbols, tails, fields))


def _counted(tokens: Tokens) -> tuple[tuple[int, ...], Mapping[str, int]]:
    words = [getattr(tokens, name).split() for name in TOKEN_FIELDS]
    counts = Counter(words[-1])
    for name, found in zip(TOKEN_FIELDS[:-1], words[:-1], strict=True):
        for word in found:
            counts[word] += RECALL_WEIGHTS[name]
    return tuple(map(len, words)), counts


def field_key(name: str, value: str) -> str:
    """Return the key, without the prefix FIELD, of the rows that have ``value`` in the field ``name``."""
    return f"{name}={value}"


def field_keys(row: ChunkRow) -> set[str]:
    """Return the keys for all filterable fields of a row, and of a commit also its author and its day."""
    keys = {field_key(name, value) for name in _LISTED_FIELDS for value in _values(row.chunk, name)}
    if row.chunk.commit_day is not None:
        keys |= {field_key(AUTHOR, row.chunk.author or ""), field_key(DAY, str(row.chunk.commit_day))}
    return keys


def _values(chunk: Chunk, name: str) -> tuple[str, ...]:
    value = getattr(chunk, name)
    match value:
        case None:
            return ()
        case bool():
            return ("true" if value else "false",)
        case tuple():
            return value
        case _:
            return (value,)


def hashed(chunk_id: str) -> int:
    """Return a 64-bit hash of a chunk's id, which identifies the chunk in memory."""
    return int.from_bytes(
        hashlib.blake2b(chunk_id.encode("utf-8", "surrogatepass"), digest_size=8).digest(), signed=True
    )
