"""The vocabulary: frozen dataclasses that the packages exchange. Nothing here does any input or output."""

from dataclasses import dataclass, field
from typing import Literal

SymbolType = Literal[
    "file", "class", "interface", "enum", "function", "method", "block", "documentation", "config", "commit", "diff",
]  # fmt: skip
SYMBOL_TYPES: tuple[SymbolType, ...] = (
    "file", "class", "interface", "enum", "function", "method", "block", "documentation", "config", "commit", "diff",
)  # fmt: skip
# What is searched instead of code: messages of commits, and what commits changed.
CommitDocument = Literal["commit", "diff"]
COMMIT_DOCUMENTS: tuple[CommitDocument, ...] = ("commit", "diff")
CODE_TYPES: tuple[SymbolType, ...] = tuple(name for name in SYMBOL_TYPES if name not in COMMIT_DOCUMENTS)
KindOfFile = Literal["source", "test", "example", "generated", "vendored", "docs", "config", "lock"]
KINDS_OF_FILE: tuple[KindOfFile, ...] = (
    "source", "test", "example", "generated", "vendored", "docs", "config", "lock",
)  # fmt: skip
# The kind of a chunk that summarises its file.
SUMMARY_KIND = "summary"


@dataclass(frozen=True, slots=True)
class StrideInfo:
    """A stride of a chunk longer than the model's window; offsets are in that model's tokens, end exclusive.

    ``start_line`` and ``end_line`` are the lines of the file that the stride holds, both inclusive; None in rows of an
    older release.
    """

    original_chunk_id: str
    stride_index: int
    total_strides: int
    overlap_start: int
    overlap_end: int
    start_line: int | None = None
    end_line: int | None = None


@dataclass(frozen=True, slots=True)
class ChangedTogether:
    """Another file, and how many commits changed it along with a file."""

    path: str
    commits: int


@dataclass(frozen=True, slots=True)
class FileOwner:
    """An author of a file, and the share of its commits that are theirs (0 to 1)."""

    name: str
    share: float


@dataclass(frozen=True, slots=True)
class FileHistory:
    """The history of a file version: how many commits touched it, with which files, and by whom.

    There may be more commits if it ``is_partial``: the clone is shallow, or a limit was reached.
    """

    commits: int
    is_partial: bool = False
    changes_with: tuple[ChangedTogether, ...] = ()
    owners: tuple[FileOwner, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of one file version. It never changes: its fields depend only on the blob, its path and its history.

    The history is that of the commit for which the row was written; id and embedded text do not depend on it. Of it,
    ``commit_author`` and the four fields after it describe the last commit that touched the file.

    Lines count from 1, both ends inclusive; characters from 0 in the decoded file, end exclusive. ``text`` is the
    file's own text of those lines, with line endings. ``symbol_part`` is, for example, ``2/5`` if a symbol was split.

    ``relations`` has its definitions and references, as ``relations.py`` encodes them. ``symbols`` are the names of all
    these definitions; ``defines`` has those that searches go by, without attributes that methods set.

    Commits are chunks too: a message, or what a commit changed in a file. Their ``blob`` is the commit, their ``path``
    is one of ``commit_log.py``, and the fields of a commit are set, but no history. ``author`` is what the author
    filter reads: name and, as the settings permit, e-mail address, in lower case. ``commit_day`` counts days since
    1970, in UTC.

    If ``derived`` is set, ``text`` is not the file's own text but was made from the file, such as its summary or a cell
    of a notebook. ``commentary`` is what a model wrote about the chunk.
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
    symbols: tuple[str, ...] = ()
    relations: str = ""
    commit_author: str | None = None
    commit_date: str | None = None
    commit_message: str | None = None
    author: str | None = None
    commit_day: int | None = None
    derived: bool = False
    commentary: str = ""
    last_modified_commit: str | None = None
    file_history: FileHistory | None = None

    @property
    def is_summary(self) -> bool:
        """Whether this is the summary of its file: an extra chunk whose lines other chunks hold."""
        return self.derived and self.symbol_kind == SUMMARY_KIND


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

    ``vector_key`` is the key of the vector in the embedding cache (hash of model and embedded text). A chunk longer
    than the model's window has one row per stride, with the same ``chunk.id`` and with ``stride_info`` set; only
    stride 0 has tokens, so that lexical counts stay correct.
    """

    chunk: Chunk
    tokens: Tokens
    timeline: int
    born: int
    vector_key: str

    @property
    def id(self) -> str:
        """The id of the row; it includes timeline and ``born``, so that a chunk that returns gets a new row."""
        stride = self.chunk.stride_info
        suffix = f".{stride.stride_index}" if stride and stride.stride_index else ""
        return f"{self.chunk.id}{suffix}:{self.timeline}:{self.born}"


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One file version in one timeline, indexed or skipped.

    ``verdict`` is ``indexed`` or the reason for skipping the file (``binary``, ``too-large``…). ``rows`` is the number
    of its chunk rows. ``rules`` is a hash of everything besides the blob that determined verdict and chunks.
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
        """The id of the record; a path that returns gets a new record."""
        return f"{self.timeline}:{self.born}:{self.path}"


INDEXED = "indexed"


@dataclass(frozen=True, slots=True)
class PathGlobs:
    """Path globs: a path must match any of ``include`` (unless that is empty) and none of ``exclude``."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LayerState:
    """The state of a layer's timelines after transaction ``at``, without the paths in ``mask``."""

    at: int
    mask: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Layer:
    """The rows of some timelines that are live after transaction ``at``, or in any of the states in ``others``.

    ``hidden`` has the numbers of open and aborted transactions, ``mask`` the paths that a layer above replaces. The
    reader may see paths that match any of ``allowed``, or every path if it is empty. Many versions that lie on one
    timeline share one layer with many states, each with the paths that all versions on that state replace.
    """

    timelines: tuple[int, ...]
    at: int
    hidden: frozenset[int] = frozenset()
    mask: frozenset[str] = frozenset()
    allowed: tuple[PathGlobs, ...] = ()
    others: tuple[LayerState, ...] = ()

    @property
    def states(self) -> tuple[LayerState, ...]:
        """All states of the layer, oldest first."""
        return tuple(sorted((LayerState(self.at, self.mask), *self.others), key=lambda state: state.at))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The rows that a search sees: those that are live in any of the layers.

    ``siblings`` are groups of timelines, each with several versions of one repository: a search counts the same text at
    the same path in siblings once.
    """

    layers: tuple[Layer, ...]
    siblings: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class CommitFilters:
    """Filters on ``author`` and ``commit_day``; each name is lower-case and matches any part of the author.

    Any of ``authors`` must match (unless there are none), and none of ``excluded``. Both days are included.
    """

    authors: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None


@dataclass(frozen=True, slots=True)
class Filters:
    """Field filters, all of which must hold; each has a field and values, any of which may match."""

    terms: tuple[tuple[str, tuple[str, ...]], ...] = ()
    excluded: tuple[tuple[str, tuple[str, ...]], ...] = ()
    paths: PathGlobs = field(default_factory=PathGlobs)
    commits: CommitFilters = field(default_factory=CommitFilters)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A retrieved chunk; ``similarity`` is its best stride's cosine (-1 to 1), or None if the query has no vector."""

    chunk: Chunk
    tokens: Tokens
    similarity: float | None
    is_stride: bool = False
