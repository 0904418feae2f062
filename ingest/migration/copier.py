"""Copies an index into an edition for another model: rows in order of birth, then retirements in order of death.

The index has every chunk's text, so nothing is fetched or chunked again; texts to embed are rebuilt from the chunks.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace

from codequarry.ingest.chunking.lexical import embedded_text
from codequarry.ingest.transaction.copy_extent import CopyExtent
from codequarry.ingest.transaction.writer import stride_rows
from codequarry.shared.embedding.cache import CachedEmbeddings, embed_with_cache, vector_key
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.errors import StoreError, TextsRejected
from codequarry.shared.model import ChunkRow, FileRecord, Filters, Layer, Snapshot
from codequarry.shared.store.port import Store
from codequarry.shared.store.records import StoredFile, StoredRow
from codequarry.shared.versions.commit_log import with_logs
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.moves import published
from codequarry.shared.versions.snapshots import OPEN

# A batch ends with the file that reaches this many chunks or records.
BATCH_CHUNKS = 1_000
BATCH_FILES = 1_000
REFUSED = "embedder-refused"
# A timeline rarely has to be copied again; more times than this mean that something is wrong.
MAX_ATTEMPTS = 20


@dataclass
class Copied:
    """Counts of what was copied; ``refused`` maps (timeline, born, path) to the reason."""

    files: int = 0
    chunks: int = 0
    rows: int = 0
    embedded: int = 0
    reused: int = 0
    tokens: int = 0
    refused: dict[tuple[int, int, str], str] = field(default_factory=dict)


CopyProgress = Callable[[int, int], None]


class Copier:
    """Copies what one edition has published to another edition, in as many passes as needed."""

    def __init__(
        self,
        old: Store,
        new: Store,
        embedder: Embedder,
        until: dict[int, int],
        advance: CopyProgress,
        permit: Callable[[], None],
    ) -> None:
        """Start from ``until``, the transaction up to which each timeline is copied; ``advance`` is called per batch.

        ``permit`` is called before each pass, and raises if a repository's text may not be sent to the embedder.
        """
        self.copied = Copied()
        self.until = until
        self._permit = permit
        self._old, self._new, self._embedder, self._advance = old, new, embedder, advance
        # Whether the old edition's vectors are those of the new model, so that only what changes is embedded.
        self.takes_vectors = False
        self._attempts = 0

    def catch_up(self, head: Head) -> int:
        """Copy what ``head`` has published and the new edition lacks; return the number of rows and records."""
        self._permit()
        before = self.copied.rows + self.copied.files
        for timeline, state in published(head).items():
            if self.until.get(timeline, -1) < state.published:
                extent = CopyExtent.of(head, timeline, self.until.get(timeline, -1))
                for part in with_logs([timeline]):
                    self._copy_timeline(replace(extent, timeline=part))
                self.until[timeline] = state.published
        return self.copied.rows + self.copied.files - before

    def vanished(self, head: Head) -> list[int]:
        """Return the timelines that were copied and no longer exist."""
        return [timeline for timeline in self.until if timeline not in head.timelines]

    def _copy_timeline(self, extent: CopyExtent) -> None:
        deaths: dict[int, set[str]] = defaultdict(set)
        batches = _Batches(extent, self.copied.refused)
        for stored in self._old.history(extent.timeline, extent.after):
            if isinstance(stored, StoredFile):
                died = extent.death(stored.died)
                if extent.after < died < OPEN:
                    deaths[died].add(stored.record.path)
            for rows, records in batches.add(stored):
                self._write(batches, rows, records)
        for rows, records in batches.rest():
            self._write(batches, rows, records)
        if batches.partly_written:
            self._copy_again(extent, batches.partly_written)
            return
        self._new.refresh()
        self._check(extent, batches)
        # In ascending order: each number retires the rows that are live at that number, and no row born later (rule 3).
        for number in sorted(deaths):
            self._new.retire(extent.timeline, number, deaths[number], ())
        self._new.refresh()
        if not self._agrees(extent):
            held = {stored.born for stored in self._new.history(extent.timeline)}
            self._copy_again(replace(extent, after=-1), held)

    def _write(self, batches: "_Batches", rows: list[ChunkRow], records: list[FileRecord]) -> None:
        made, embeddings = self._embed(batches, rows)
        keyed = [replace(row, vector_key=key) for row, key in zip(made, embeddings.keys, strict=True)]
        finished = [batches.finished(record) for record in records]
        self._new.create(keyed, finished, embeddings.vectors)
        copied = self.copied
        copied.files += len(records)
        copied.chunks += len({row.chunk.id for row in made})
        copied.rows += len(made)
        copied.embedded += embeddings.embedded
        copied.reused += embeddings.reused
        copied.tokens += embeddings.tokens
        # A file is counted with its rows, perhaps long before its record, or with its record if it has no rows.
        self._advance(len({row.chunk.path for row in rows}) + sum(not record.rows for record in finished), len(rows))

    def _embed(self, batches: "_Batches", rows: list[ChunkRow]) -> tuple[list[ChunkRow], CachedEmbeddings]:
        """Embed chunks as rows for the new model, without files that contain a text that it refuses for good."""
        texts = self._texts(rows)
        if self.takes_vectors:
            self._new.cache_vectors(
                self._old.cached_vectors({vector_key(self._embedder.name, text) for _, text in texts})
            )
        try:
            embeddings = embed_with_cache([text for _, text in texts], self._embedder, self._new)
        except TextsRejected as error:
            for index, reason in error.reasons.items():
                batches.refuse(texts[index][0], reason)
            texts = self._texts([row for row in rows if not batches.is_refused(row)])
            embeddings = embed_with_cache([text for _, text in texts], self._embedder, self._new)
        made = [row for row, _ in texts]
        batches.count(made)
        return made, embeddings

    def _texts(self, rows: list[ChunkRow]) -> list[tuple[ChunkRow, str]]:
        return [made for row in rows for made in stride_rows(row, embedded_text(row.chunk), self._embedder)]

    def _copy_again(self, extent: CopyExtent, numbers: Collection[int]) -> None:
        """Undo the transactions ``numbers`` and copy the timeline again; the vectors are in the cache."""
        self._attempts += 1
        if self._attempts > MAX_ATTEMPTS:
            raise StoreError(f"timeline {extent.timeline} keeps changing and can't be copied; run again later")
        for number in numbers:
            self._new.undo(extent.timeline, number)
        self._copy_timeline(extent)

    def _agrees(self, extent: CopyExtent) -> bool:
        """Return whether the new edition shows as many rows of a timeline as the old edition."""
        # It shows more if the old edition collected a row before its retirement was copied. It can't show fewer,
        # because ``_check`` has found all rows, so equal counts mean equal rows.
        snapshot = Snapshot((Layer((extent.timeline,), extent.published, extent.hidden),))
        if self._refuses_any(extent):
            shown, expected = (dict(store.row_counts(snapshot)) for store in (self._new, self._old))
            return shown.keys() <= expected.keys()
        return self._new.count(snapshot, Filters()) == self._old.count(snapshot, Filters())

    def _refuses_any(self, extent: CopyExtent) -> bool:
        return any(timeline == extent.timeline for timeline, _, _ in self.copied.refused)

    def _check(self, extent: CopyExtent, batches: "_Batches") -> None:
        """Raise StoreError if the edition lacks rows (rule 6); it may have more if the old edition collected some."""
        for number, (rows, files) in batches.written.items():
            tally = self._new.tally(extent.timeline, number, (), ())
            if tally.rows < rows or tally.files < files:
                raise StoreError(
                    f"the copy of transaction {number} has {tally.rows} rows of {tally.files} files instead of "
                    f"{rows} of {files}; run the command again"
                )


class _Batches:
    """Groups the rows and records of a timeline into batches that end with a file, rows before their records."""

    def __init__(self, extent: CopyExtent, refused: dict[tuple[int, int, str], str]) -> None:
        self.partly_written: set[int] = set()
        self._extent, self._refused = extent, refused
        self._rows: list[ChunkRow] = []
        self._records: list[FileRecord] = []
        self._counts: Counter[tuple[int, str]] = Counter()
        self._rows_of: Counter[int] = Counter()
        self._files_of: Counter[int] = Counter()

    @property
    def written(self) -> dict[int, tuple[int, int]]:
        """The numbers of rows and records by transaction."""
        return {number: (self._rows_of[number], self._files_of[number]) for number in self._rows_of | self._files_of}

    def add(self, stored: StoredRow | StoredFile) -> Iterator[tuple[list[ChunkRow], list[FileRecord]]]:
        """Add a row or record; yield any batch that is then complete."""
        if isinstance(stored, StoredFile):
            if self._extent.has(stored.record.born, stored.died):
                # A record means that its file is complete, so its rows are written first.
                if self._rows or len(self._records) >= BATCH_FILES:
                    yield from self.rest()
                self._records.append(stored.record)
            return
        row, stride = stored.row, stored.row.chunk.stride_info
        if (stride and stride.stride_index) or not self._extent.has(row.born, stored.died) or self.is_refused(row):
            return
        if self._records or (len(self._rows) >= BATCH_CHUNKS and self._rows[-1].chunk.path != row.chunk.path):
            yield from self.rest()
        self._rows.append(replace(row, chunk=replace(row.chunk, stride_info=None)))

    def rest(self) -> Iterator[tuple[list[ChunkRow], list[FileRecord]]]:
        """Yield the unfinished batch, if any."""
        if self._rows or self._records:
            rows, records, self._rows, self._records = self._rows, self._records, [], []
            yield rows, records

    def is_refused(self, row: ChunkRow) -> bool:
        return (row.timeline, row.born, row.chunk.path) in self._refused

    def refuse(self, row: ChunkRow, reason: str) -> None:
        self._refused[(row.timeline, row.born, row.chunk.path)] = reason
        if self._counts[(row.born, row.chunk.path)]:
            self.partly_written.add(row.born)

    def count(self, rows: list[ChunkRow]) -> None:
        self._counts.update((row.born, row.chunk.path) for row in rows)
        self._rows_of.update(row.born for row in rows)

    def finished(self, record: FileRecord) -> FileRecord:
        """Return a record with the row count of the copied file, or the reason for its refusal."""
        self._files_of[record.born] += 1
        if reason := self._refused.get((record.timeline, record.born, record.path)):
            return replace(record, rows=0, verdict=REFUSED, detail=reason[:500])
        return replace(record, rows=self._counts.pop((record.born, record.path), 0))
