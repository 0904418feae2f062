"""The vocabulary: one frozen dataclass for each noun that flows between the rooms.

Nothing in this file does any input or output.
"""

from dataclasses import dataclass, field
from typing import Literal

SymbolType = Literal["file", "class", "interface", "enum", "function", "method", "block", "documentation", "config"]
SYMBOL_TYPES: tuple[SymbolType, ...] = (
    "file", "class", "interface", "enum", "function", "method", "block", "documentation", "config",
)  # fmt: skip
KindOfFile = Literal["source", "test", "example", "generated", "vendored", "docs", "config", "lock"]
KINDS_OF_FILE: tuple[KindOfFile, ...] = (
    "source", "test", "example", "generated", "vendored", "docs", "config", "lock",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class StrideInfo:
    """Where a stride lies in a chunk longer than the model's window; offsets in tokens of that model, end exclusive."""

    original_chunk_id: str
    stride_index: int
    total_strides: int
    overlap_start: int
    overlap_end: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of one file version. It never changes: only what the blob and its path decide stands here.

    Lines count from 1, both ends inclusive; characters from 0 of the decoded file, end exclusive. ``text`` is the
    file's own text at those lines, with its line ends. ``symbol_part`` is ``2/5`` where a symbol was split.
    """

    id: str
    repo: str
    path: str
    blob: str
    language: str
    symbol_type: SymbolType
    start_line: int
    end_line: int
    start_char: int
    end_char: int
    text: str
    content_hash: str
    ordinal: int = 0
    symbol_kind: str | None = None
    symbol_name: str | None = None
    qualified_name: str | None = None
    signature: str | None = None
    exported: bool | None = None
    body_start_char: int | None = None
    symbol_part: str | None = None
    stride_info: StrideInfo | None = None
    context: str = ""
    doc: str = ""
    microservice: str | None = None
    package: str | None = None
    aggregate: str | None = None
    tags: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    exports: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    kind_of_file: KindOfFile = "source"
    complexity_score: float | None = None
    masked: bool = False
    encoding: str | None = None


@dataclass(frozen=True, slots=True)
class Tokens:
    """A chunk's lexical fields: lower-case tokens made by ``identifiers.py``, joined by single spaces."""

    symbol: str = ""
    signature: str = ""
    path: str = ""
    doc: str = ""
    body: str = ""


TOKEN_FIELDS: tuple[str, ...] = ("symbol", "signature", "path", "doc", "body")


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """A chunk as one transaction wrote it into one timeline.

    ``vector_key`` names the vector in the embedding cache (hash of model and embedded text). A chunk longer than the
    model's window has one row per stride, with the same ``chunk.id`` and ``stride_info`` filled; only the stride of
    index 0 carries tokens, so that lexical counts stay true.
    """

    chunk: Chunk
    tokens: Tokens
    timeline: int
    born: int
    vector_key: str

    @property
    def id(self) -> str:
        """The row's own id: timeline and ``born`` are in it, so that a second life never overwrites the first."""
        stride = self.chunk.stride_info
        suffix = f".{stride.stride_index}" if stride and stride.stride_index else ""
        return f"{self.chunk.id}{suffix}:{self.timeline}:{self.born}"


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One file version in one timeline, indexed or skipped.

    ``verdict`` is ``indexed`` or the reason of the skip (``binary``, ``too-large``…); ``rows`` is the number of chunk
    rows written with it; ``rules`` is the hash of everything but the blob that decided verdict and chunks.
    """

    repo: str
    path: str
    blob: str
    verdict: str
    rows: int
    rules: str
    timeline: int
    born: int
    language: str | None = None
    size: int = 0
    lines: int = 0
    detail: str = ""

    @property
    def id(self) -> str:
        """The record's own id; unique for one life of one path."""
        return f"{self.timeline}:{self.born}:{self.path}"


INDEXED = "indexed"


@dataclass(frozen=True, slots=True)
class PathGlobs:
    """Path globs: a path counts when it fits any of ``include`` (or that is empty) and none of ``exclude``."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Layer:
    """What is live in some timelines after transaction ``at``.

    ``hidden`` holds the numbers that are open or aborted. ``mask`` holds paths that a layer above this one replaces.
    ``allowed`` is what the reader may see: paths that fit any of these, or every path where there are none.
    """

    timelines: tuple[int, ...]
    at: int
    hidden: frozenset[int] = frozenset()
    mask: frozenset[str] = frozenset()
    allowed: tuple[PathGlobs, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a search sees: a row is in it when it is live in any of its layers."""

    layers: tuple[Layer, ...]


@dataclass(frozen=True, slots=True)
class Filters:
    """Field filters, all of which must hold; each field with the values of which any will do."""

    terms: tuple[tuple[str, tuple[str, ...]], ...] = ()
    excluded: tuple[tuple[str, tuple[str, ...]], ...] = ()
    paths: PathGlobs = field(default_factory=PathGlobs)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that an engine recalled, with what the scores above the port are computed from.

    ``similarity`` is the cosine (-1 to 1) of the query with the chunk's best stride, or None where the k-NN did not
    recall it and no vector was asked for.
    """

    chunk: Chunk
    tokens: Tokens
    similarity: float | None
    is_stride: bool = False
