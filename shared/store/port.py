"""The ports to a storage engine. Both adapters pass the tests in tests/contract/.

A store keeps documents (the catalog), chunk rows, file records, and the embedding cache. It knows nothing about
ranking, git or models. Callers ask for only the part that they need; ``Store`` has all parts. Every method may raise
``StoreUnavailable``, and every write ``StoreFull``.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, Self, runtime_checkable

from codequarry.shared.arrays import Vector
from codequarry.shared.liveness.deadline import Deadline
from codequarry.shared.model import Chunk, ChunkRow, FileRecord, Filters, Snapshot
from codequarry.shared.store.records import Damage, Document, Recall, RecallQuery, StoredFile, StoredRow, Tally


class DocumentStore(Protocol):
    """Documents of the catalog: reads see all earlier writes, and changes use compare-and-set."""

    def read_document(self, key: str) -> Document | None:
        """Return the newest version, including every write that returned; the caller must not modify ``body``."""
        ...

    def write_document(self, key: str, body: Mapping[str, object], version: str | None) -> Document:
        """Write a document if it is still at ``version`` (None: if it does not exist), or else raise Conflict."""
        ...

    def delete_document(self, key: str, version: str | None = None) -> None:
        """Delete a document if it exists; raise Conflict if it is no longer at a given ``version``."""
        ...

    def delete_documents(self, keys: Collection[str] = (), prefixes: Collection[str] = ()) -> None:
        """Delete the documents with any of ``keys``, and those whose keys begin with any of ``prefixes``.

        A call may fail when some of them are deleted; the cost hardly depends on their number.
        """
        ...

    def list_documents(self, prefix: str) -> list[Document]:
        """Return the documents whose keys begin with ``prefix``, sorted by key, including every write that returned."""
        ...


class RowReader(Protocol):
    """Reads of chunk rows and file records, mostly under a snapshot."""

    def files(self, snapshot: Snapshot, paths: Collection[str] | None = None) -> Iterator[FileRecord]:
        """Yield the file records that are live in ``snapshot``, sorted by path; only those of ``paths`` if given."""
        ...

    def file_lives(self, timelines: Collection[int], paths: Collection[str]) -> Iterator[StoredFile]:
        """Yield every file record of ``timelines`` at ``paths``, dead or alive, by path, timeline and ``born``.

        From these, callers compute which of many versions have which file, without a request for each version.
        """
        ...

    def written_files(self, timeline: int, number: int) -> Iterator[FileRecord]:
        """Yield the file records that an unpublished transaction has written so far, so that it can be resumed."""
        ...

    def row_counts(self, snapshot: Snapshot) -> Mapping[tuple[str, str], int]:
        """Return the number of live chunk rows (each stride counts) for each (path, blob), to check file records."""
        ...

    def history(self, timeline: int, after: int = -1) -> Iterator[StoredRow | StoredFile]:
        """Yield every row and record of a timeline, dead or alive, in order of ``born``; used to copy an index.

        With ``after``, yield only the rows and records born after that number, and the records retired after it.
        """
        ...

    def symbol_lives(self, timelines: Collection[int], symbol: str) -> Iterator[StoredRow]:
        """Yield the rows of ``timelines`` whose symbol is ``symbol`` or that define it, dead or alive.

        The order is by timeline, ``born``, path and place in the file; a strided chunk has only its first stride.
        """
        ...

    def chunks(self, snapshot: Snapshot, path: str, repo: str) -> list[Chunk]:
        """Return a file's chunks in file order, each once (a strided chunk by its first stride)."""
        ...

    def recall(self, query: RecallQuery) -> Recall:
        """Return the candidates of every channel under the snapshot filter and the field filters.

        The k-NN search applies the filters itself: it returns fewer than ``vector_limit`` only if fewer rows match.
        """
        ...

    def find(self, snapshot: Snapshot, filters: Filters, limit: int) -> list[Chunk]:
        """Return the first ``limit`` live chunks that match, by path and position, each once (by its first stride)."""
        ...

    def count(self, snapshot: Snapshot, filters: Filters) -> int:
        """Return the number of live chunks that match the filters; a strided chunk counts once."""
        ...


class RowStore(RowReader, Protocol):
    """Reads and writes of chunk rows and file records, which are never overwritten, only retired and deleted."""

    def create(self, rows: Sequence[ChunkRow], files: Sequence[FileRecord], vectors: Mapping[str, Vector]) -> None:
        """Create rows, then file records; existing rows and records are left unchanged (rule 2).

        ``vectors`` has one L2-normalised vector for each ``vector_key`` in ``rows``. Only failed items are retried;
        WriteRejected names the items that were dropped, after all others were written.
        """
        ...

    def retire(self, timeline: int, number: int, paths: Collection[str], aborted: Collection[int]) -> int:
        """Set ``died = number`` on the rows and records of ``paths`` in ``timeline``, and return how many changed.

        Only those with ``born < number`` and ``died`` OPEN or in ``aborted`` change (rule 3). ``paths`` has no limit.
        """
        ...

    def undo(self, timeline: int, number: int) -> None:
        """Delete what ``number`` wrote and revive what it retired, until no trace of it is left (rule 9)."""
        ...

    def refresh(self) -> None:
        """Make all writes visible to searches; raise StoreUnavailable if a shard failed."""
        ...

    def tally(self, timeline: int, number: int, paths: Collection[str], aborted: Collection[int]) -> Tally:
        """Count what ``number`` wrote and what remains to be retired on ``paths``; call ``refresh`` first."""
        ...

    def collect(self, timeline: int, after: int, until: int, aborted: Collection[int]) -> int:
        """Delete the rows and records of a timeline with ``born > after`` and ``died <= until``, and return how many.

        Those with ``died`` in ``aborted`` stay. No reader may request a number that sees a deleted row (rule 16).
        """
        ...

    def newest_number(self) -> int:
        """Return the highest ``born`` or ``died`` (except OPEN) of any row or record, or 0 if the store is empty."""
        ...

    def purge(self, timelines: Collection[int], *, thoroughly: bool = False) -> None:
        """Delete all rows and file records of ``timelines``, and the vectors that only they used.

        With ``thoroughly``, also delete every other vector that no row uses, and all traces in the search structures;
        the cost then depends on the size of the whole index.
        """
        ...

    def erase_deleted(self) -> bool:
        """Erase deleted data that can still be read from the disk; return False if readers prevent it.

        It costs about as much as rewriting the index. Backups and copies in the file system are up to the operator.
        """
        ...


class VectorCache(Protocol):
    """The embedding cache: vectors by model and embedded text."""

    def cached_vectors(self, keys: Iterable[str]) -> dict[str, Vector]:
        """Return the vectors known for ``keys`` (as in ``ChunkRow.vector_key``)."""
        ...

    def cache_vectors(self, vectors: Mapping[str, Vector]) -> None:
        """Store vectors before any row uses them, so that an interrupted run need not embed them again."""
        ...


class Store(DocumentStore, RowStore, VectorCache, Protocol):
    """A storage engine: SQLite or OpenSearch."""

    name: str

    def within(self, deadline: Deadline | None) -> Self:
        """Return the same store for requests that end by ``deadline``; with None, they wait as long as a run may."""
        ...

    def inspect(self, *, thoroughly: bool) -> list[Damage]:
        """Check samples, or everything if ``thoroughly``, and return the damage that the engine does not handle."""
        ...

    def close(self) -> None:
        """Close connections and files; the store must not be used afterwards."""
        ...


@runtime_checkable
class RepairsVectors(Protocol):
    """A store that keeps vectors in a separate file, in which damaged vectors can be replaced."""

    def lost_vectors(self) -> dict[str, Chunk]:
        """Return a chunk (or the stride of a chunk) for each ``vector_key`` whose vector is damaged."""
        ...

    def replace_vectors(self, vectors: Mapping[str, Vector]) -> None:
        """Replace the damaged vectors that are given, and drop the others from the cache."""
        ...
