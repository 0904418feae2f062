"""The values that pass through the store ports: documents, rows with lifetimes, queries and their results."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from codequarry.shared.arrays import Vector
from codequarry.shared.model import Candidate, ChunkRow, FileRecord, Filters, Snapshot

Content = TypeVar("Content")


@dataclass(frozen=True, slots=True)
class Document:
    """A catalog document as read; ``version`` is opaque, and the next write passes it back."""

    key: str
    body: Mapping[str, object]
    version: str

    def decode(self, content: Callable[..., Content]) -> Content:
        """Return ``content`` called with the body's fields as keyword arguments; raise TypeError for unknown fields."""
        return content(**self.body)


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """The query of one search, answered under one snapshot filter in one round trip.

    ``vector`` (L2-normalised float32, the index's dimension) is for k-NN and ``terms`` for BM25 (any term).
    ``symbols`` (lower case) select chunks by ``symbol_name``, the last part of ``qualified_name`` or ``defines``,
    ignoring case. ``paths`` (lower-case file names or path tails, like ``store/port.py``) select chunks of files whose
    path ends with any of them. Each channel returns at most its limit.
    """

    snapshot: Snapshot
    filters: Filters = field(default_factory=Filters)
    vector: Vector | None = None
    terms: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    vector_limit: int = 100
    term_limit: int = 100
    symbol_limit: int = 50
    path_limit: int = 50


@dataclass(frozen=True, slots=True)
class Recall:
    """The candidates that an engine found, each once, and the ids of each channel, best first.

    The order in a channel is only a hint: all scores are computed above the port. ``document_frequencies``,
    ``live_chunks`` and ``average_lengths`` (tokens per field of ``TOKEN_FIELDS``) are counted under the query's
    snapshot without its field filters, so that no other branch, dead row or hidden repository affects a score.
    """

    candidates: Mapping[str, Candidate]
    by_vector: tuple[str, ...] = ()
    by_terms: tuple[str, ...] = ()
    by_symbol: tuple[str, ...] = ()
    by_path: tuple[str, ...] = ()
    document_frequencies: Mapping[str, int] = field(default_factory=dict)
    live_chunks: int = 0
    average_lengths: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tally:
    """What a transaction wrote, counted after a refresh in which no shard failed.

    ``rows`` and ``files`` are its own; ``retirable`` counts older rows and records still alive on its paths.
    """

    rows: int
    files: int
    retirable: int


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A stored chunk row, and the number that retired it (OPEN while it is live)."""

    row: ChunkRow
    died: int

    @property
    def born(self) -> int:
        """The number that wrote it."""
        return self.row.born

    @property
    def path(self) -> str:
        """The path of its file."""
        return self.row.chunk.path


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A stored file record, and the number that retired it (OPEN while it is live)."""

    record: FileRecord
    died: int

    @property
    def born(self) -> int:
        """The number that wrote it."""
        return self.record.born

    @property
    def path(self) -> str:
        """The path of the file."""
        return self.record.path


@dataclass(frozen=True, slots=True)
class Damage:
    """Corrupt stored data; the model can recompute damaged ``vectors``."""

    kind: Literal["vectors", "database"]
    detail: str
