"""What goes into a store and comes out of one: documents, rows with their lifetimes, queries and what they recall."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from codequarry.shared.arrays import Vector
from codequarry.shared.model import Candidate, ChunkRow, FileRecord, Filters, Snapshot

Content = TypeVar("Content")


@dataclass(frozen=True, slots=True)
class Document:
    """A catalog document as read: ``version`` is opaque and goes back with the next write."""

    key: str
    body: Mapping[str, object]
    version: str

    def decode(self, content: Callable[..., Content]) -> Content:
        """Return what ``content`` makes of the fields of the body, which it takes by name; TypeError on others."""
        return content(**self.body)


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """What one search asks of the engine, all of it under one snapshot filter and in one round trip.

    ``vector`` (L2-normalised float32, the index's dimension) asks the k-NN; ``terms`` ask BM25 (any of them);
    ``symbols`` (lower case) ask for chunks whose ``symbol_name``, last part of ``qualified_name`` or ``defines`` is
    one of them, whatever the case; ``paths`` (lower-case file names or path tails, like ``store/port.py``) for chunks
    of files whose path ends with one. Each channel returns at most its limit.
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
    """What the engine found: candidates once each, and for each channel their ids, best first.

    Engines recall, scores are ours: the order inside a channel is only a hint. ``document_frequencies`` and
    ``live_chunks`` are counted under the query's snapshot alone (not its field filters), so that neither another
    branch nor a dead row nor a hidden repository leaks into a score; ``average_lengths`` (tokens per field of
    ``TOKEN_FIELDS``) likewise.
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
    """What a transaction wrote, counted after a refresh that reported no failed shard.

    ``rows`` and ``files`` were born of it; ``retirable`` rows and records are still alive on the paths it changes
    although an older transaction wrote them.
    """

    rows: int
    files: int
    retirable: int


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A chunk row as it is stored, and the number that retired it (OPEN while it lives)."""

    row: ChunkRow
    died: int


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file record as it is stored, and the number that retired it (OPEN while it lives)."""

    record: FileRecord
    died: int


@dataclass(frozen=True, slots=True)
class Damage:
    """Something stored that is not what was written; of ``vectors`` the model can make new ones."""

    kind: Literal["vectors", "database"]
    detail: str
