"""The embedded store's implementation of the store port."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import apsw
import numpy as np

from codequarry.shared.arrays import Vector
from codequarry.shared.errors import StoreDamaged, WriteRejected
from codequarry.shared.filters import check_filters
from codequarry.shared.liveness.deadline import Deadline
from codequarry.shared.model import Chunk, ChunkRow, FileRecord, Filters, Snapshot
from codequarry.shared.store.document_cache import DocumentCache
from codequarry.shared.store.embedded import deletion, documents, inventory, lifetimes, reader, vector_repair
from codequarry.shared.store.embedded.batch import prepare_batch
from codequarry.shared.store.embedded.columns import Bools, ColumnCache, fold_if_long
from codequarry.shared.store.embedded.database import Database
from codequarry.shared.store.embedded.inspection import inspect
from codequarry.shared.store.embedded.live_rows import LiveRows, ViewCache
from codequarry.shared.store.embedded.path_names import PathNames
from codequarry.shared.store.embedded.postings import PostingReader
from codequarry.shared.store.embedded.reader import Selector
from codequarry.shared.store.embedded.recall import RecallSession, recall
from codequarry.shared.store.embedded.segments import clean_lists
from codequarry.shared.store.embedded.vectors import GenerationGone, VectorFile
from codequarry.shared.store.embedded.writer import create_files, create_rows, keep_vectors, vectors_of
from codequarry.shared.store.records import Damage, Document, Recall, RecallQuery, StoredFile, StoredRow, Tally
from codequarry.shared.store.vectors import check_dimension, check_query_vector, unusable

Result = TypeVar("Result")

# A read is retried if the vector file was replaced during it, which several purges may do in a row.
_READ_ATTEMPTS = 5

# Lists keep the words of an undone transaction, which only cost time, until this share of a segment is deleted.
_MAX_DELETED_SHARE = 0.5


class EmbeddedStore:
    """A folder on a local file system as a store. Safe to use from several threads and processes."""

    name = "embedded"

    def __init__(self, folder: Path, dimension: int) -> None:
        self._dimension = dimension
        self._database = Database(folder, dimension)
        self._vectors = VectorFile(folder, dimension)
        self._columns = ColumnCache()
        paths = PathNames()
        self._views = ViewCache(paths)
        self._postings = PostingReader()
        self._selector = Selector(self._postings, paths)
        self._remembered = DocumentCache()

    def within(self, _: Deadline | None) -> "EmbeddedStore":
        """Return this store: a local disk needs no deadline."""
        return self

    def read_document(self, key: str) -> Document | None:
        """Return a document, or None if it does not exist."""
        _, known = self._remembered.take(key) or ("", None)
        with self._database.reading() as connection:
            document = documents.read_document(connection, key, known)
        return document and self._remembered.keep(document)

    def write_document(self, key: str, body: Mapping[str, Any], version: str | None) -> Document:
        """Write a document if it is still at ``version``, or else raise Conflict."""
        with self._database.writing() as connection:
            document = documents.write_document(connection, key, body, version)
        return self._remembered.keep(document)

    def delete_document(self, key: str, version: str | None = None) -> None:
        """Delete a document if it exists; raise Conflict if it is not at the given ``version``."""
        with self._database.writing() as connection:
            documents.delete_document(connection, key, version)

    def delete_documents(self, keys: Collection[str] = (), prefixes: Collection[str] = ()) -> None:
        """Delete the documents with any of ``keys``, and those whose keys begin with any of ``prefixes``."""
        with self._database.writing() as connection:
            documents.delete_documents(connection, keys, prefixes)

    def list_documents(self, prefix: str) -> list[Document]:
        """Return the documents whose keys begin with ``prefix``, sorted by key."""
        with self._database.reading() as connection:
            return documents.list_documents(connection, prefix)

    def create(self, rows: Sequence[ChunkRow], files: Sequence[FileRecord], vectors: Mapping[str, Vector]) -> None:
        """Create rows and file records in one transaction; raise WriteRejected for rows without a usable vector."""
        check_dimension(vectors.values(), self._dimension)
        rejected = {row.id: why for row in rows if (why := unusable(vectors.get(row.vector_key)))}
        accepted = [row for row in rows if row.id not in rejected]
        # The record of a file that lacks a row would mark the file as complete.
        incomplete = {(row.timeline, row.born, row.chunk.path) for row in rows if row.id in rejected}
        complete = [file for file in files if (file.timeline, file.born, file.path) not in incomplete]
        batch = prepare_batch(accepted)
        used = {row.vector_key: vectors[row.vector_key] for row in accepted}
        with self._changing() as connection:
            create_rows(connection, batch, used, self._vectors)
            create_files(connection, complete)
        if rejected:
            raise WriteRejected(rejected)

    def retire(self, timeline: int, number: int, paths: Collection[str], aborted: Collection[int]) -> int:
        """Set ``died`` to ``number`` in the rows and records that rule 3 allows, and return how many changed."""
        with self._changing() as connection:
            return lifetimes.retire(connection, timeline, number, paths, aborted)

    def undo(self, timeline: int, number: int) -> None:
        """Delete what ``number`` wrote and revive what it retired."""
        with self._changing() as connection:
            lifetimes.undo(connection, timeline, number)
        clean_lists(self._database.writing, _MAX_DELETED_SHARE)

    def refresh(self) -> None:
        """Do nothing: a commit is visible at once."""

    def tally(self, timeline: int, number: int, paths: Collection[str], aborted: Collection[int]) -> Tally:
        """Count what ``number`` wrote and what is left to retire on ``paths``."""
        with self._database.reading() as connection:
            return lifetimes.tally(connection, timeline, number, paths, aborted)

    def collect(self, timeline: int, after: int, until: int, aborted: Collection[int]) -> int:
        """Delete the rows and records that no reader may request (rule 16), and return how many."""
        collected = self._delete_in_steps(
            lambda connection: deletion.collect_some(connection, timeline, after, until, aborted)
        )
        # A process that is killed after it has deleted rows leaves a second vector file.
        if collected or self._vectors.has_old_files():
            self._free_room(_MAX_DELETED_SHARE)
        return collected

    def purge(self, timelines: Collection[int], *, thoroughly: bool = False) -> None:
        """Delete all rows of ``timelines`` in short transactions."""
        self._delete_in_steps(lambda connection: deletion.purge_some(connection, timelines))
        if thoroughly:
            with self._changing() as connection:
                deletion.drop_unused(connection)
        self._free_room(0 if thoroughly else _MAX_DELETED_SHARE)

    def erase_deleted(self) -> bool:
        """Rewrite lists, vectors and pages without traces of deleted rows; return False if readers hold the log."""
        with self._changing() as connection:
            deletion.compact(connection, self._columns, self._vectors)
        clean_lists(self._database.writing, 0)
        with self._database.writing() as connection:
            self._vectors.remove_old(connection)
        return self._database.erase_unused()

    def _delete_in_steps(self, step: Callable[[apsw.Connection], int]) -> int:
        """Take short write transactions until one finds nothing to delete, and return how much was deleted."""
        deleted = 0
        found = 1
        while found:
            with self._changing() as connection:
                found = step(connection)
            deleted += found
        return deleted

    def _free_room(self, share: float) -> None:
        """Free unused space: in the vector file if it is large, in lists above ``share``, and in the database file."""
        with self._changing() as connection:
            deletion.compact_if_worthwhile(connection, self._columns, self._vectors)
        clean_lists(self._database.writing, share)
        with self._database.writing() as connection:
            self._vectors.remove_old(connection)
        self._database.give_room_back()

    def newest_number(self) -> int:
        """Return the highest ``born`` or ``died`` of any row or record."""
        with self._database.reading() as connection:
            return inventory.newest_number(connection)

    def history(self, timeline: int, after: int = -1) -> Iterator[StoredRow | StoredFile]:
        """Yield every row and record of a timeline in order of ``born``, or only what has changed since ``after``."""
        return inventory.history(self._database.reading, timeline, after)

    def row_counts(self, snapshot: Snapshot) -> Mapping[tuple[str, str], int]:
        """Count the live rows of each (path, blob)."""
        with self._database.reading() as connection:
            view = self._view(connection, snapshot)
            return inventory.row_counts(connection, view.columns, view.live)

    def files(self, snapshot: Snapshot, paths: Collection[str] | None = None) -> Iterator[FileRecord]:
        """Return the live file records, sorted by path, as of now."""
        with self._database.reading() as connection:
            return reader.live_files(connection, snapshot, paths)

    def file_lives(self, timelines: Collection[int], paths: Collection[str]) -> Iterator[StoredFile]:
        """Return every file record of ``timelines`` at ``paths``, dead or alive, by path, timeline and ``born``."""
        with self._database.reading() as connection:
            return reader.file_lives(connection, timelines, paths)

    def written_files(self, timeline: int, number: int) -> Iterator[FileRecord]:
        """Return the file records that a transaction has written so far."""
        with self._database.reading() as connection:
            return reader.files_of(connection, timeline, number)

    def symbol_lives(self, timelines: Collection[int], symbol: str) -> Iterator[StoredRow]:
        """Return the rows of ``timelines`` that declare ``symbol``, dead or alive."""
        with self._database.reading() as connection:
            return iter(reader.symbol_lives(connection, self._postings, timelines, symbol))

    def chunks(self, snapshot: Snapshot, path: str, repo: str) -> list[Chunk]:
        """Return a file's chunks in file order."""
        with self._database.reading() as connection:
            return reader.chunks_of(connection, snapshot, path, repo)

    def recall(self, query: RecallQuery) -> Recall:
        """Return the candidates of every channel, with exact k-NN over all rows that match the filters."""
        check_filters(query.filters)
        check_query_vector(query.vector, self._dimension)
        return self._read(lambda connection: self._recall(connection, query))

    def _recall(self, connection: apsw.Connection, query: RecallQuery) -> Recall:
        view = self._view(connection, query.snapshot)
        allowed = self._selector.mask(connection, view.columns, query.filters, view.live)
        matrix = self._vectors.matrix(connection) if query.vector is not None else None
        return recall(connection, self._postings, RecallSession(query, view, allowed, matrix))

    def find(self, snapshot: Snapshot, filters: Filters, limit: int) -> list[Chunk]:
        """Return the live chunks that match the filters, sorted by path and place in the file."""
        check_filters(filters)
        with self._database.reading() as connection:
            return reader.chunks_at(connection, np.flatnonzero(self._fitting(connection, snapshot, filters)), limit)

    def count(self, snapshot: Snapshot, filters: Filters) -> int:
        """Count the live chunks that match the filters."""
        check_filters(filters)
        with self._database.reading() as connection:
            return int(np.count_nonzero(self._fitting(connection, snapshot, filters)))

    def _fitting(self, connection: apsw.Connection, snapshot: Snapshot, filters: Filters) -> Bools:
        view = self._view(connection, snapshot)
        return self._selector.mask(connection, view.columns, filters, view.live) & view.columns.first

    def cached_vectors(self, keys: Iterable[str]) -> dict[str, Vector]:
        """Return the cached vectors of ``keys``."""
        wanted = list(dict.fromkeys(keys))
        return self._read(lambda connection: vectors_of(connection, wanted, self._vectors))

    def cache_vectors(self, vectors: Mapping[str, Vector]) -> None:
        """Cache vectors before any row uses them; raise WriteRejected for unusable vectors."""
        check_dimension(vectors.values(), self._dimension)
        rejected = {key: why for key, vector in vectors.items() if (why := unusable(vector))}
        with self._database.writing() as connection:
            kept = {key: vector for key, vector in vectors.items() if key not in rejected}
            keep_vectors(connection, kept, self._vectors)
        if rejected:
            raise WriteRejected(rejected)

    def inspect(self, *, thoroughly: bool) -> list[Damage]:
        """Return the damage found; if a damaged page stops the inspection, it is the last entry."""
        return inspect(self._database.reading, self._vectors, thoroughly=thoroughly)

    def lost_vectors(self) -> dict[str, Chunk]:
        """Return a chunk for each damaged vector that rows use, by the vector's key."""
        with self._database.reading() as connection:
            slots = vector_repair.damaged_slots(connection, self._vectors)
            return vector_repair.chunks_of_slots(connection, slots)

    def replace_vectors(self, vectors: Mapping[str, Vector]) -> None:
        """Write the vectors to a new file, with damaged vectors replaced or dropped."""
        check_dimension(vectors.values(), self._dimension)
        with self._changing() as connection:
            vector_repair.replace_vectors(connection, self._vectors, vectors)
        with self._database.writing() as connection:
            self._vectors.remove_old(connection)

    def close(self) -> None:
        """Close the database; the store must not be used afterwards."""
        self._database.close()

    def _view(self, connection: apsw.Connection, snapshot: Snapshot) -> LiveRows:
        """Return what ``snapshot`` sees; must be the first query of a transaction."""
        return self._views.view(connection, self._columns.refreshed(connection), snapshot)

    def _read(self, read: Callable[[apsw.Connection], Result]) -> Result:
        for _ in range(_READ_ATTEMPTS):
            with self._database.reading() as connection:
                try:
                    return read(connection)
                except GenerationGone as error:
                    gone = str(error)
        raise StoreDamaged(gone)

    @contextmanager
    def _changing(self) -> Iterator[apsw.Connection]:
        """Provide a write transaction that changes rows, and keep the change log short."""
        with self._database.writing() as connection:
            yield connection
            fold_if_long(connection, self._columns)
