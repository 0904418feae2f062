"""The ports between the code and an engine. Both adapters run the suite in tests/contract/.

A store keeps four things: documents (the catalog), chunk rows, file records, and the embedding cache. It knows
nothing of ranking, git or models. Each user asks for the part that it needs; ``Store`` has all of them. Every method
may raise ``StoreUnavailable``; every write ``StoreFull``.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, Self, runtime_checkable

from codequarry.shared.arrays import Vector
from codequarry.shared.liveness.deadline import Deadline
from codequarry.shared.model import Chunk, ChunkRow, FileRecord, Filters, Snapshot
from codequarry.shared.store.records import Damage, Document, Recall, RecallQuery, StoredFile, StoredRow, Tally


class DocumentStore(Protocol):
    """Documents of the catalog: read in real time, changed only by compare-and-set."""

    def read_document(self, key: str) -> Document | None:
        """Return the newest version of a document, every write that returned before included.

        As long as it does not change, ``body`` may be the same object each time: it is not to be written to.
        """
        ...

    def write_document(self, key: str, body: Mapping[str, object], version: str | None) -> Document:
        """Write if the document is still at ``version`` (None: if it does not exist); raise Conflict if not."""
        ...

    def delete_document(self, key: str, version: str | None = None) -> None:
        """Delete a document if it exists; with a ``version`` only one that is still at it, Conflict if not."""
        ...

    def list_documents(self, prefix: str) -> list[Document]:
        """Return the documents whose key begins with ``prefix``, by key; every write that returned is in it."""
        ...


class RowReader(Protocol):
    """Chunk rows and file records, read under a snapshot."""

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


class RowStore(RowReader, Protocol):
    """Chunk rows and file records: created once, retired, undone, purged; never overwritten."""

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


class VectorCache(Protocol):
    """The embedding cache: vectors by model and embedded text."""

    def cached_vectors(self, keys: Iterable[str]) -> dict[str, Vector]:
        """Return the vectors known for ``keys`` (as in ``ChunkRow.vector_key``)."""
        ...

    def cache_vectors(self, vectors: Mapping[str, Vector]) -> None:
        """Keep vectors before any row uses them, so that an interrupted run need not embed again."""
        ...


class Store(DocumentStore, RowStore, VectorCache, Protocol):
    """One engine: the embedded one, or OpenSearch."""

    name: str

    def within(self, deadline: Deadline | None) -> Self:
        """Return the same store for a request that must be answered by ``deadline``; None waits as a run does."""
        ...

    def inspect(self, *, thoroughly: bool) -> list[Damage]:
        """Return what is damaged, as far as the engine does not look after that itself; by samples, or all of it."""
        ...

    def close(self) -> None:
        """Give back connections and files; the store is not used afterwards."""
        ...


@runtime_checkable
class RepairsVectors(Protocol):
    """A store that keeps vectors in a file of its own, where they can be replaced; an engine looks after its files."""

    def lost_vectors(self) -> dict[str, Chunk]:
        """Return a chunk (a stride of it where it has several) for each ``vector_key`` whose vector is damaged."""
        ...

    def replace_vectors(self, vectors: Mapping[str, Vector]) -> None:
        """Put new vectors in the place of damaged ones, and forget the other damaged ones of the cache."""
        ...
