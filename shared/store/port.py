"""The port between the code and an engine: what a store must do. Both adapters run the suite in tests/contract/.

A store keeps four things: documents (the catalog), chunk rows, file records, and the embedding cache. It knows
nothing of ranking, git or models. Every method may raise ``StoreUnavailable``; every write ``StoreFull``.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from codequarry.shared.model import Candidate, Chunk, ChunkRow, FileRecord, Filters, Snapshot

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Document:
    """A catalog document as read: ``version`` is opaque and goes back with the next write."""

    key: str
    body: Mapping[str, Any]
    version: str


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


class Store(Protocol):
    """One engine: the embedded one, or OpenSearch."""

    name: str

    # Documents: read in real time, changed only by compare-and-set.

    def read_document(self, key: str) -> Document | None:
        """Return the newest version of a document, every write that returned before included.

        As long as it does not change, ``body`` may be the same object each time: it is not to be written to.
        """
        ...

    def write_document(self, key: str, body: Mapping[str, Any], version: str | None) -> Document:
        """Write if the document is still at ``version`` (None: if it does not exist); raise Conflict if not."""
        ...

    def delete_document(self, key: str, version: str | None = None) -> None:
        """Delete a document if it exists; with a ``version`` only one that is still at it, Conflict if not."""
        ...

    def list_documents(self, prefix: str) -> list[Document]:
        """Return the documents whose key begins with ``prefix``, by key; every write that returned is in it."""
        ...

    # Rows: created once, retired, undone, purged; never overwritten.

    def create(self, rows: Sequence[ChunkRow], files: Sequence[FileRecord], vectors: Mapping[str, Vector]) -> None:
        """Create rows and then file records; what exists already is left as it is (rule 2).

        ``vectors`` has one L2-normalised vector for each ``vector_key`` in ``rows``. Only failed items are retried;
        WriteRejected names those given up after the others were written.
        """
        ...

    def retire(self, timeline: int, number: int, paths: Collection[str], aborted: Collection[int]) -> int:
        """Set ``died = number`` on the rows and records of ``paths`` in ``timeline``, and return how many.

        Only where ``born < number`` and ``died`` is OPEN or in ``aborted`` (rule 3). Any number of paths.
        """
        ...

    def undo(self, timeline: int, number: int) -> None:
        """Delete what ``number`` wrote and revive what it retired, until nothing of it is left (rule 9)."""
        ...

    def refresh(self) -> None:
        """Make all that was written visible to searches; raise StoreUnavailable if a shard failed."""
        ...

    def tally(self, timeline: int, number: int, paths: Collection[str], aborted: Collection[int]) -> Tally:
        """Count what ``number`` wrote and what is left to retire on ``paths``; call ``refresh`` before."""
        ...

    def collect(self, timeline: int, after: int, until: int, aborted: Collection[int]) -> int:
        """Delete the rows and records of a timeline with ``born > after`` and ``died <= until``, and return how many.

        Not where ``died`` is in ``aborted``: those live. The caller has made sure that nobody may ask for a number
        from which such a row is seen (rule 16).
        """
        ...

    def newest_number(self) -> int:
        """Return the highest ``born`` or ``died`` (OPEN left out) of any row or record, 0 in an empty store."""
        ...

    def purge(self, timelines: Collection[int]) -> None:
        """Delete every row and file record of ``timelines``, and vectors that nothing refers to any more."""
        ...

    def erase_deleted(self) -> bool:
        """Take from the disk what was deleted before and may still be read there; False where readers are in the way.

        Costs about what writing the index anew would. Backups, and what a file system keeps, are the operator's.
        """
        ...

    # Reading, always under a snapshot.

    def files(self, snapshot: Snapshot, paths: Collection[str] | None = None) -> Iterator[FileRecord]:
        """Yield the file records that are live in ``snapshot``, by path; only of ``paths`` where given."""
        ...

    def written_files(self, timeline: int, number: int) -> Iterator[FileRecord]:
        """Yield the file records that an unpublished transaction has written so far, for its resumption."""
        ...

    def row_counts(self, snapshot: Snapshot) -> Mapping[tuple[str, str], int]:
        """Count the live chunk rows (every stride) of each (path, blob), for comparison with the file records."""
        ...

    def history(self, timeline: int, after: int = -1) -> Iterator[StoredRow | StoredFile]:
        """Yield every row and record that a timeline has, dead ones too, in the order in which they were born.

        For copying an index: what ``create`` was given, and what ``retire`` and ``undo`` made of ``died`` since. With
        ``after`` only what has changed since: what was born after it, and the records that were retired after it.
        """
        ...

    def chunks(self, snapshot: Snapshot, path: str, repo: str) -> list[Chunk]:
        """Return a file's chunks in file order, each once (of a strided chunk the first stride)."""
        ...

    def recall(self, query: RecallQuery) -> Recall:
        """Return the candidates of every channel under the snapshot filter and the field filters.

        The k-NN filters inside: fewer than ``vector_limit`` only where fewer rows match the filters.
        """
        ...

    def find(self, snapshot: Snapshot, filters: Filters, limit: int) -> list[Chunk]:
        """Return the live chunks that fit the filters, each once (of a strided chunk the first stride).

        By path and place in the file; of more than ``limit`` those whose paths come first.
        """
        ...

    def count(self, snapshot: Snapshot, filters: Filters) -> int:
        """Count the live chunks (strides once) that fit the filters."""
        ...

    # The embedding cache: (model, embedded text) -> vector.

    def cached_vectors(self, keys: Iterable[str]) -> dict[str, Vector]:
        """Return the vectors known for ``keys`` (as in ``ChunkRow.vector_key``)."""
        ...

    def cache_vectors(self, vectors: Mapping[str, Vector]) -> None:
        """Keep vectors before any row uses them, so that an interrupted run need not embed again."""
        ...

    # Damage: what no write of ours has done.

    def inspect(self, *, thoroughly: bool) -> list[Damage]:
        """Return what is damaged, as far as the engine does not look after that itself; by samples, or all of it."""
        ...

    def close(self) -> None:
        """Give back connections and files; the store is not used afterwards."""
        ...


@runtime_checkable
class MendsVectors(Protocol):
    """A store that keeps vectors in a file of its own, where they can be replaced; an engine looks after its files."""

    def lost_vectors(self) -> dict[str, Chunk]:
        """Return a chunk (a stride of it where it has several) for each ``vector_key`` whose vector is damaged."""
        ...

    def replace_vectors(self, vectors: Mapping[str, Vector]) -> None:
        """Put new vectors in the place of damaged ones, and forget the other damaged ones of the cache."""
        ...
