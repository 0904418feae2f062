"""The store port, implemented with OpenSearch; each method sends one request or a few."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from heapq import merge
from typing import Any

from opensearchpy import OpenSearch

from codequarry.shared.arrays import Vector
from codequarry.shared.liveness.deadline import Deadline
from codequarry.shared.model import Chunk, ChunkRow, FileRecord, Filters, Snapshot
from codequarry.shared.settings.config import OpenSearchSettings
from codequarry.shared.store.editions import FIRST
from codequarry.shared.store.opensearch import inventory
from codequarry.shared.store.opensearch.bulk import BulkItem, create_all, raise_if_rejected
from codequarry.shared.store.opensearch.cache import OpenSearchVectorCache
from codequarry.shared.store.opensearch.clauses import (
    FIRST_STRIDE,
    EngineClause,
    all_of,
    any_value,
    collectable_clause,
    paths_per_request,
    retirable_clause,
    retired_clause,
    search_clause,
    written_clause,
)
from codequarry.shared.store.opensearch.connection import connect
from codequarry.shared.store.opensearch.documents import CatalogDocuments
from codequarry.shared.store.opensearch.indices import Indices
from codequarry.shared.store.opensearch.multi_search import CHUNKS_PER_PAGE, recall
from codequarry.shared.store.opensearch.paging import count_hits, every_hit
from codequarry.shared.store.opensearch.recall import HITS
from codequarry.shared.store.opensearch.retired_files import RetiredFileCache
from codequarry.shared.store.opensearch.rows import chunk_of, record_document, record_of, row_document
from codequarry.shared.store.opensearch.sweeps import Sweeper
from codequarry.shared.store.records import Damage, Document, Recall, RecallQuery, StoredFile, StoredRow, Tally
from codequarry.shared.store.vectors import check_dimension, check_query_vector, unusable

# The position of a chunk in its file; no two rows of a file agree in all these fields.
IN_FILE = ["ordinal", "start_char", "id", "timeline", "born"]


class OpenSearchStore:
    """Chunk rows, file records, documents and vectors in four OpenSearch indices."""

    name = "opensearch"

    def __init__(self, settings: OpenSearchSettings, dimension: int, edition: int = FIRST) -> None:
        """Prepare the store; nothing is sent or created before it is needed."""
        self.settings = settings
        self.connection = connect(settings)
        self.indices = Indices(self.connection, dimension, edition)
        self._sweeper = Sweeper(self.connection)
        self._catalog = CatalogDocuments(self.indices, self._sweeper)
        self._cache = OpenSearchVectorCache(self.indices, self._sweeper)
        self._retired_files = RetiredFileCache()

    def within(self, deadline: Deadline | None) -> "OpenSearchStore":
        """Return the same store for requests that must end by ``deadline``; if None, they wait as long as a run may."""
        bound = copy(self)
        bound.connection = self.connection.within(deadline)
        bound.indices = replace(self.indices, connection=bound.connection)
        bound._sweeper = Sweeper(bound.connection)
        bound._catalog = replace(self._catalog, indices=bound.indices, sweeper=bound._sweeper)
        bound._cache = replace(self._cache, indices=bound.indices, sweeper=bound._sweeper)
        return bound

    @property
    def client(self) -> OpenSearch:
        """The client that sends the requests."""
        return self.connection.client

    @property
    def _versioned(self) -> tuple[str, str]:
        """The indices whose documents have ``born`` and ``died``."""
        return self.indices.chunks, self.indices.files

    # Documents

    def read_document(self, key: str) -> Document | None:
        """Return the newest version of a document."""
        return self._catalog.read(key)

    def write_document(self, key: str, body: Mapping[str, Any], version: str | None) -> Document:
        """Write a document if it is still at ``version`` (None: if it does not exist); otherwise raise Conflict."""
        return self._catalog.write(key, body, version)

    def delete_document(self, key: str, version: str | None = None) -> None:
        """Delete a document if it exists; raise Conflict if it is no longer at a given ``version``."""
        self._catalog.delete(key, version)

    def delete_documents(self, keys: Collection[str] = (), prefixes: Collection[str] = ()) -> None:
        """Delete the documents with any of ``keys``, and those whose keys begin with any of ``prefixes``."""
        self._catalog.delete_all(keys, prefixes)

    def list_documents(self, prefix: str) -> list[Document]:
        """Return the documents whose key begins with ``prefix``, by key."""
        return list(self._catalog.list(prefix))

    # Rows

    def create(self, rows: Sequence[ChunkRow], files: Sequence[FileRecord], vectors: Mapping[str, Vector]) -> None:
        """Create vectors, then rows, then the records of the files whose rows were all created."""
        check_dimension(vectors.values(), self.indices.dimension)
        self.indices.ensure()
        rejected = {row.id: why for row in rows if (why := unusable(vectors.get(row.vector_key)))}
        accepted = [row for row in rows if row.id not in rejected]
        rejected |= self._cache.write({row.vector_key: vectors[row.vector_key] for row in accepted})
        rejected |= self._create(
            BulkItem(self.indices.chunks, row.id, row_document(row, vectors[row.vector_key]), row.chunk.repo)
            for row in accepted
        )
        broken = {(row.chunk.repo, row.chunk.path, row.timeline, row.born) for row in rows if row.id in rejected}
        rejected |= self._create(
            BulkItem(self.indices.files, record.id, record_document(record), record.repo)
            for record in files
            if (record.repo, record.path, record.timeline, record.born) not in broken
        )
        raise_if_rejected(rejected)

    def _create(self, items: Iterable[BulkItem]) -> dict[str, str]:
        return create_all(self.connection, list(items))

    def retire(self, timeline: int, number: int, paths: Collection[str], aborted: Collection[int]) -> int:
        """Set ``died = number`` on the rows and records of ``paths``, and return how many changed (rule 3)."""
        return sum(
            self._sweeper.retire(self._versioned, retirable_clause(timeline, number, part, aborted), number, aborted)
            for part in paths_per_request(paths)
        )

    def undo(self, timeline: int, number: int) -> None:
        """Delete what ``number`` wrote and revive what it retired, until no trace of it is left (rule 9)."""
        while True:
            deleted = self._sweeper.delete(self._versioned, written_clause(timeline, number))
            revived = self._sweeper.revive(self._versioned, retired_clause(timeline, number), number)
            if not deleted and not revived:
                return

    def refresh(self) -> None:
        """Make all writes visible to searches; raise StoreUnavailable if a shard failed."""
        self._sweeper.refresh(*self._versioned)

    def tally(self, timeline: int, number: int, paths: Collection[str], aborted: Collection[int]) -> Tally:
        """Count what ``number`` wrote and what remains to be retired on ``paths``."""
        written = written_clause(timeline, number)
        retirable = sum(
            count_hits(self.indices, name, retirable_clause(timeline, number, part, aborted))
            for part in paths_per_request(paths)
            for name in self._versioned
        )
        rows, files = (count_hits(self.indices, name, written) for name in self._versioned)
        return Tally(rows, files, retirable)

    def collect(self, timeline: int, after: int, until: int, aborted: Collection[int]) -> int:
        """Delete the rows and records that no reader may request any longer, and return how many (rule 16)."""
        doomed = collectable_clause(timeline, after, until, aborted)
        self._cache.drop_of(doomed)
        return self._sweeper.delete(self._versioned, doomed)

    def purge(self, timelines: Collection[int], *, thoroughly: bool = False) -> None:
        """Delete all rows and file records of ``timelines``, and vectors that nothing refers to any longer."""
        doomed = any_value("timeline", sorted(timelines))
        if not thoroughly:
            self._cache.drop_of(doomed)
        self._sweeper.delete(self._versioned, doomed)
        if thoroughly:
            self._cache.drop_unused()

    def erase_deleted(self) -> bool:
        """Rewrite the segments that have deleted documents."""
        self.indices.expunge()
        return True

    def newest_number(self) -> int:
        """Return the highest ``born`` or ``died`` of any row or record."""
        self.refresh()
        return inventory.newest_number(self.indices)

    def history(self, timeline: int, after: int = -1) -> Iterator[StoredRow | StoredFile]:
        """Yield every row and record of a timeline by ``born``, or only the changes since ``after``."""
        self.refresh()
        return inventory.history(self.indices, timeline, after)

    # Reading

    def _parts(self, snapshot: Snapshot) -> list[EngineClause]:
        """Return the clauses for the live rows of a snapshot, which share no row."""
        return self._retired_files.parts(self.indices, snapshot)

    def row_counts(self, snapshot: Snapshot) -> Mapping[tuple[str, str], int]:
        """Return the number of live rows for each (path, blob)."""
        return inventory.row_counts(self.indices, self._parts(snapshot))

    def files(self, snapshot: Snapshot, paths: Collection[str] | None = None) -> Iterator[FileRecord]:
        """Yield the file records that are live in ``snapshot``, by path, or only the records of ``paths`` if given."""
        parts = self._parts(snapshot)
        if paths is None:
            return self._records_of_any(parts)
        return (
            record
            for some in paths_per_request(paths)
            for record in self._records_of_any([all_of([live, any_value("path", some)]) for live in parts])
        )

    def file_lives(self, timelines: Collection[int], paths: Collection[str]) -> Iterator[StoredFile]:
        """Yield every file record of ``timelines`` at ``paths``, dead or alive, by path, timeline and ``born``."""
        for part in paths_per_request(paths):
            query = all_of([any_value("timeline", sorted(timelines)), any_value("path", part)])
            body = {"query": query, "sort": ["path", "timeline", "born"]}
            for hit in every_hit(self.indices, self.indices.files, body):
                yield StoredFile(record_of(hit["_source"]), hit["_source"]["died"])

    def written_files(self, timeline: int, number: int) -> Iterator[FileRecord]:
        """Yield the file records that an unpublished transaction has written so far."""
        self._sweeper.refresh(self.indices.files)
        return self._records(written_clause(timeline, number))

    def _records_of_any(self, queries: Sequence[EngineClause]) -> Iterator[FileRecord]:
        """Yield the records of several queries, by path."""
        return merge(*map(self._records, queries), key=lambda record: (record.path, record.timeline, record.born))

    def _records(self, query: dict[str, Any]) -> Iterator[FileRecord]:
        body = {"query": query, "sort": ["path", "timeline", "born"]}
        return (record_of(hit["_source"]) for hit in every_hit(self.indices, self.indices.files, body))

    def symbol_lives(self, timelines: Collection[int], symbol: str) -> Iterator[StoredRow]:
        """Yield the rows of ``timelines`` that declare ``symbol``, dead or alive."""
        return inventory.symbol_lives(self.indices, timelines, symbol)

    def chunks(self, snapshot: Snapshot, path: str, repo: str) -> list[Chunk]:
        """Return a file's chunks in file order, without duplicates."""
        one_file: list[EngineClause] = [{"term": {"path": path}}, {"term": {"repo": repo}}, FIRST_STRIDE]
        queries = [all_of([live, *one_file]) for live in self._parts(snapshot)]
        # Several timelines may have the same chunk.
        return list({hit["id"]: chunk_of(hit) for hit in self._sources(queries, IN_FILE, routing=repo)}.values())

    def _sources(
        self, queries: Sequence[EngineClause], order: Sequence[str], page: int = CHUNKS_PER_PAGE, routing: str = ""
    ) -> Iterator[dict[str, Any]]:
        """Yield the documents of the chunk rows that match any of ``queries``, in order."""
        bodies = ({"query": query, "sort": order, "_source": HITS["_source"]} for query in queries)
        every = (
            every_hit(self.indices, self.indices.chunks, body, page=page, routing=routing or None) for body in bodies
        )
        return (hit["_source"] for hit in merge(*every, key=lambda hit: hit["sort"]))

    def find(self, snapshot: Snapshot, filters: Filters, limit: int) -> list[Chunk]:
        """Return the first ``limit`` live chunks that match the filters, by path and position in the file."""
        queries = [search_clause(live, filters, FIRST_STRIDE) for live in self._parts(snapshot)]
        found: dict[str, Chunk] = {}
        for source in self._sources(queries, ["path", *IN_FILE], page=min(CHUNKS_PER_PAGE, limit + 1)):
            if len(found) == limit:
                break
            found.setdefault(source["id"], chunk_of(source))
        return list(found.values())

    def recall(self, query: RecallQuery) -> Recall:
        """Return the candidates of every channel under the snapshot filter and the field filters."""
        check_query_vector(query.vector, self.indices.dimension)
        return recall(self.indices, query, self._parts(query.snapshot), self.settings.ef_search)

    def count(self, snapshot: Snapshot, filters: Filters) -> int:
        """Return the number of live chunks that match the filters; a strided chunk counts once."""
        clauses = (search_clause(live, filters, FIRST_STRIDE) for live in self._parts(snapshot))
        return sum(count_hits(self.indices, self.indices.chunks, clause) for clause in clauses)

    # The embedding cache

    def cached_vectors(self, keys: Iterable[str]) -> dict[str, Vector]:
        """Return the cached vectors among ``keys``."""
        return self._cache.read(keys)

    def cache_vectors(self, vectors: Mapping[str, Vector]) -> None:
        """Store vectors before any row uses them; raise WriteRejected with the keys that can't be stored."""
        check_dimension(vectors.values(), self.indices.dimension)
        self.indices.ensure()
        rejected = {key: why for key, vector in vectors.items() if (why := unusable(vector))}
        rejected |= self._cache.write({key: vector for key, vector in vectors.items() if key not in rejected})
        raise_if_rejected(rejected)

    def inspect(self, *, thoroughly: bool) -> list[Damage]:
        """Return nothing: Lucene checks its own files, and `codequarry doctor` reports failed shards."""
        return []

    def close(self) -> None:
        """Close the connections."""
        self.connection.close()
