"""Writes the changed files of a transaction in batches, each embedded, checked and created as a whole."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from codequarry.ingest.files.read_file import ReadFile
from codequarry.ingest.request.index_request import IndexRequest, Workshop
from codequarry.ingest.request.progress import Watch
from codequarry.ingest.transaction.added_commentary import commentary_writer
from codequarry.ingest.transaction.lease import Held
from codequarry.ingest.transaction.written import Written
from codequarry.shared.embedding.cache import CachedEmbeddings, embed_with_cache, vector_key
from codequarry.shared.embedding.port import Embedder, Window
from codequarry.shared.embedding.strides import strides
from codequarry.shared.embedding.tokens import estimate_tokens
from codequarry.shared.errors import LimitExceeded, TextsRejected
from codequarry.shared.model import INDEXED, Chunk, ChunkRow, FileRecord, StrideInfo, Tokens
from codequarry.shared.secret_counts import SecretCounts
from codequarry.shared.telemetry.metrics import count_masked, count_written

# A batch ends at the configured number of files or at this many chunks; a single file may have thousands.
BATCH_CHUNKS = 2_000
NO_TOKENS = Tokens()


class WritePermit(Protocol):
    """Decides before each batch whether it may be written."""

    def check(self) -> None:
        """Raise LeaseHeld if another process now writes to the timeline."""
        ...


@dataclass(frozen=True, slots=True)
class StrideText:
    """One text to embed: a piece of a file or a stride of a piece."""

    row: ChunkRow
    text: str
    file: int


class Writer:
    """Writes files into one open transaction."""

    def __init__(
        self,
        repo: str,
        held: Held,
        workshop: Workshop,
        heartbeat: WritePermit,
        request: IndexRequest,
        *,
        spent_tokens: int = 0,
        of_commits: bool = False,
    ) -> None:
        """Write files, or documents ``of_commits``, for a request that has embedded ``spent_tokens`` elsewhere."""
        self._of_commits = of_commits
        # Documents of commits are small. Each batch rewrites a part of the inverted lists, so few batches are faster.
        self._batch_files = BATCH_CHUNKS if of_commits else workshop.settings.indexing.batch_files
        self._repo, self._held, self._workshop = repo, held, workshop
        self._heartbeat, self._request, self._spent_tokens = heartbeat, request, spent_tokens
        self.written = Written()

    def write(self, files: Iterable[ReadFile], watch: Watch) -> Written:
        """Write every file; after LimitExceeded, LeaseHeld or a store error, the earlier batches stay written."""
        commentary = None if self._of_commits else commentary_writer(self._workshop, self._repo)
        try:
            for batch in _batches(files, self._batch_files):
                chunks = self.written.chunks
                self._write_batch(commentary.added(batch, self.written, watch) if commentary else batch)
                watch.advance(len(batch), self.written.chunks - chunks)
        finally:
            if commentary:
                commentary.close()
        return self.written

    def _write_batch(self, batch: list[ReadFile]) -> None:
        batch, texts, made = self._embed(batch)
        rows = [replace(text.row, vector_key=key) for text, key in zip(texts, made.keys, strict=True)]
        per_file = Counter(text.file for text in texts)
        records = [self._record(file, per_file[index]) for index, file in enumerate(batch)]
        self._heartbeat.check()
        self._workshop.store.create(rows, records, made.vectors)
        total = self.written
        total.files += len(records)
        total.rows += len(rows)
        total.chunks += sum(len(file.pieces) for file in batch)
        total.embedded += made.embedded
        total.reused += made.reused
        total.tokens += made.tokens
        verdicts = Counter(file.verdict for file in batch)
        total.verdicts += verdicts
        secrets = SecretCounts.of_details(file.detail for file in batch if file.verdict == INDEXED)
        total.secrets += secrets
        if not self._of_commits:
            count_written(sum(len(file.pieces) for file in batch), verdicts)
        count_masked(secrets.by_rule)

    def _embed(self, batch: list[ReadFile]) -> tuple[list[ReadFile], list[StrideText], CachedEmbeddings]:
        """Embed a batch; skip files with a text that the model refuses for good."""
        embedder, store = self._workshop.embedder, self._workshop.store
        texts = self._texts(batch)
        self._check_limits(batch, texts)
        self._heartbeat.check()
        try:
            return batch, texts, embed_with_cache([text.text for text in texts], embedder, store)
        except TextsRejected as error:
            refused = {texts[index].file: reason for index, reason in error.reasons.items()}
            made = [texts[index].text for index in error.vectors]
        left = [_refused(file, refused[at]) if at in refused else file for at, file in enumerate(batch)]
        texts = self._texts(left)
        again = embed_with_cache([text.text for text in texts], embedder, store)
        return left, texts, _count_made(again, made, embedder)

    def _texts(self, batch: Sequence[ReadFile]) -> list[StrideText]:
        return [text for index, file in enumerate(batch) for text in self._texts_of(file, index)]

    def _texts_of(self, file: ReadFile, index: int) -> Iterator[StrideText]:
        for piece in file.pieces:
            row = ChunkRow(piece.chunk, piece.tokens, self._held.timeline, self._held.number, "")
            for stride, text in stride_rows(row, piece.text, self._workshop.embedder):
                yield StrideText(stride, text, index)

    def _record(self, file: ReadFile, rows: int) -> FileRecord:
        task = file.task
        return FileRecord(
            repo=self._repo,
            path=task.path,
            blob=task.blob,
            verdict=file.verdict,
            rows=rows,
            rules=task.rules,
            timeline=self._held.timeline,
            born=self._held.number,
            language=file.language,
            size=task.size,
            lines=file.lines,
            detail=file.detail,
        )

    def _check_limits(self, batch: Sequence[ReadFile], texts: Sequence[StrideText]) -> None:
        request, written = self._request, self.written
        chunks = written.chunks + sum(len(file.pieces) for file in batch)
        if request.max_chunks is not None and chunks > request.max_chunks:
            raise LimitExceeded(f"more than {request.max_chunks} chunks (--max-chunks); nothing was published")
        if request.max_tokens is None:
            return
        embedder = self._workshop.embedder
        by_key = {vector_key(embedder.name, text.text): text.text for text in texts}
        missing = by_key.keys() - self._workshop.store.cached_vectors(by_key).keys()
        tokens = self._spent_tokens + written.tokens + sum(estimate_tokens(embedder, by_key[key]) for key in missing)
        if tokens > request.max_tokens:
            raise LimitExceeded(f"more than {request.max_tokens} tokens to embed (--max-tokens); nothing was published")


def stride_rows(row: ChunkRow, text: str, embedder: Embedder) -> Iterator[tuple[ChunkRow, str]]:
    """Yield a chunk's rows with the texts to embed: the whole chunk, or its strides if it is too long."""
    windows = [] if embedder.max_tokens is None else stride_windows(text, embedder)
    if len(windows) < 2:
        yield row, text
        return
    for at, window in enumerate(windows):
        lines = lines_of(window, text, row.chunk)
        info = StrideInfo(row.chunk.id, at, len(windows), window.start_token, window.end_token, *lines)
        # Only the first stride carries tokens, so that lexical counts stay correct.
        tokens = NO_TOKENS if at else row.tokens
        yield replace(row, chunk=replace(row.chunk, stride_info=info), tokens=tokens), window.text


def lines_of(window: Window, text: str, chunk: Chunk) -> tuple[int, int]:
    """Return the first and last line of a chunk that a window of its embedded ``text`` holds."""
    # The chunk's own text comes last in the embedded text, without white space at its end.
    before = len(text) - len(chunk.text.rstrip())
    first = max(0, window.start_char - before)
    until = max(first + 1, window.start_char + (window.characters or 0) - before)
    start = chunk.start_line + chunk.text.count("\n", 0, first)
    end = chunk.start_line + chunk.text.count("\n", 0, until - 1)
    return start, min(end, chunk.end_line)


def stride_windows(text: str, embedder: Embedder) -> list[Window]:
    """Cut a text into windows of the model; each stride begins with the text's first line, which names the path."""
    head, line_end, rest = text.partition("\n")
    return strides(rest, embedder, head + line_end)


def _count_made(again: CachedEmbeddings, made: Sequence[str], embedder: Embedder) -> CachedEmbeddings:
    """Count the refused call's vectors as embedded, because the second call found them in the cache."""
    found = {vector_key(embedder.name, text) for text in made} & set(again.keys)
    return replace(
        again,
        reused=again.reused - len(found),
        embedded=again.embedded + len(made),
        tokens=again.tokens + sum(estimate_tokens(embedder, text) for text in made),
    )


def _refused(file: ReadFile, reason: str) -> ReadFile:
    return replace(file, verdict="embedder-refused", detail=reason[:500], pieces=())


def _batches(files: Iterable[ReadFile], most_files: int) -> Iterator[list[ReadFile]]:
    batch: list[ReadFile] = []
    chunks = 0
    for file in files:
        batch.append(file)
        chunks += len(file.pieces)
        if len(batch) >= most_files or chunks >= BATCH_CHUNKS:
            yield batch
            batch, chunks = [], 0
    if batch:
        yield batch
