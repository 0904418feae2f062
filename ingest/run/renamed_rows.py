"""Copies the rows and records of a timeline to a timeline of the repository's other name."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from codequarry.ingest.chunking.chunk_ids import chunk_id, digest
from codequarry.ingest.chunking.lexical import embedded_text
from codequarry.ingest.history.documents import document_id
from codequarry.ingest.transaction.copy_extent import CopyExtent
from codequarry.ingest.transaction.writer import WritePermit, stride_rows
from codequarry.shared.embedding.cache import embed_with_cache
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.errors import StoreError
from codequarry.shared.model import COMMIT_DOCUMENTS, Chunk, ChunkRow, FileRecord
from codequarry.shared.store.port import Store
from codequarry.shared.store.records import StoredFile, StoredRow
from codequarry.shared.versions.snapshots import OPEN

# Each batch rewrites a part of the inverted lists, so few batches are faster.
BATCH_ROWS = 2_000


@dataclass
class _Written:
    """What was written, by transaction, and the paths that each transaction retires."""

    rows: Counter[int] = field(default_factory=Counter)
    files: Counter[int] = field(default_factory=Counter)
    deaths: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))


@dataclass(frozen=True, slots=True)
class RowCopier:
    """Copies rows under the name ``repo``; ``permit`` is asked before each batch."""

    store: Store
    embedder: Embedder
    repo: str
    permit: WritePermit

    def copy(self, extent: CopyExtent, timeline: int) -> Iterator[tuple[int, int]]:
        """Copy a timeline's rows to ``timeline``; yield the numbers of files and chunks of each batch.

        Raise LeaseHeld if the permit is lost, StoreError if the copy is not complete.
        """
        written = _Written()
        kept = self._kept(extent, written)
        while batch := list(islice(kept, BATCH_ROWS)):
            rows = [replace(stored.row, timeline=timeline) for stored in batch if isinstance(stored, StoredRow)]
            files = [replace(stored.record, timeline=timeline) for stored in batch if isinstance(stored, StoredFile)]
            self._write(rows, files)
            yield len(files), len({row.chunk.id for row in rows})
        self.store.refresh()
        # In ascending order: each number retires the rows that are live at that number, and no row born later (rule 3).
        for number in sorted(written.deaths):
            self.permit.check()
            self.store.retire(timeline, number, written.deaths[number], ())
        self.store.refresh()
        self._check(timeline, written)

    def _kept(self, extent: CopyExtent, written: _Written) -> Iterator[StoredRow | StoredFile]:
        for stored in self.store.history(extent.timeline):
            if not extent.has(stored.born, stored.died):
                continue
            (written.rows if isinstance(stored, StoredRow) else written.files)[stored.born] += 1
            if (death := extent.death(stored.died)) < OPEN:
                written.deaths[death].add(stored.path)
            yield stored

    def _write(self, rows: Sequence[ChunkRow], files: Sequence[FileRecord]) -> None:
        vectors = self.store.cached_vectors({row.vector_key for row in rows})
        renamed = [renamed_row(row, self.repo) for row in rows]
        lost = [place for place, row in enumerate(rows) if row.vector_key not in vectors]
        if lost:
            made = embed_with_cache([self._text(rows[place]) for place in lost], self.embedder, self.store)
            vectors.update(made.vectors)
            for place, key in zip(lost, made.keys, strict=True):
                renamed[place] = replace(renamed[place], vector_key=key)
        self.permit.check()
        self.store.create(renamed, [replace(file, repo=self.repo) for file in files], vectors)

    def _text(self, row: ChunkRow) -> str:
        """Return the text of a row whose vector is not in the cache."""
        stride = row.chunk.stride_info
        whole = replace(row, chunk=replace(row.chunk, stride_info=None))
        texts = [text for _, text in stride_rows(whole, embedded_text(whole.chunk), self.embedder)]
        if len(texts) != (stride.total_strides if stride else 1):
            raise StoreError(
                f"the vector of {row.chunk.path} is gone and its text is now embedded in other parts: run "
                "codequarry index --full, then rename again"
            )
        return texts[stride.stride_index if stride else 0]

    def _check(self, timeline: int, written: _Written) -> None:
        """Raise StoreError unless the store holds what was written, retired where the original is (rule 6)."""
        for number in sorted(written.rows.keys() | written.files.keys() | written.deaths.keys()):
            found = self.store.tally(timeline, number, written.deaths.get(number, ()), ())
            if (found.rows, found.files, found.retirable) != (written.rows[number], written.files[number], 0):
                raise StoreError(
                    f"the copy of transaction {number} has {found.rows} rows of {found.files} files instead of "
                    f"{written.rows[number]} of {written.files[number]}, and {found.retirable} old rows; rename again"
                )


def renamed_row(row: ChunkRow, repo: str) -> ChunkRow:
    """Return the row that the chunk has in a repository of another name."""
    chunk = replace(row.chunk, id=_renamed_id(row.chunk, repo), repo=repo)
    if chunk.stride_info:
        chunk = replace(chunk, stride_info=replace(chunk.stride_info, original_chunk_id=chunk.id))
    return replace(row, chunk=chunk)


def _renamed_id(chunk: Chunk, repo: str) -> str:
    """Return the id that a chunk gets under another name, or an id of its own if another version made the chunk."""
    return _id_in(chunk, repo) if _id_in(chunk, chunk.repo) == chunk.id else digest((repo, chunk.id))


def _id_in(chunk: Chunk, repo: str) -> str:
    if chunk.symbol_type in COMMIT_DOCUMENTS:
        return document_id(repo, chunk.path, chunk.ordinal)
    return chunk_id(repo, chunk.path, chunk.blob, chunk.ordinal, chunk.symbol_part)
