"""The answer to a search: hits, their freshness, and the reason if there are none."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from codequarry.search_api.answers.absence import LEFT_OUT_IF_NONE
from codequarry.search_api.answers.freshness import Freshness
from codequarry.shared.model import ChangedTogether, FileOwner, KindOfFile, StrideInfo, SymbolType

Score = Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True)
class CodeChunk:
    """A piece of a file. Lines count from 1, end inclusive; characters of the decoded file from 0, end exclusive.

    Timelines and transactions are left out: they mean nothing outside the index.
    """

    id: str
    repo: str
    path: Annotated[str, Field(description="the file; empty for the message of a commit")]
    language: str
    symbol_type: SymbolType
    symbol_kind: Annotated[str | None, Field(description="the language's own term for the symbol")]
    symbol_name: str | None
    qualified_name: str | None
    signature: str | None
    start_line: int
    end_line: int
    symbol_part: Annotated[str | None, Field(description="such as 2/5, if the symbol was split")]
    text: Annotated[
        str,
        Field(description="the file's own text at those lines, unless derived is true; secrets are masked with stars"),
    ]
    context: Annotated[str, Field(description="class header, enclosing declarations and imports used")]
    doc: str
    commentary: Annotated[str, Field(description="what a model wrote about the chunk; empty unless it is enabled")]
    kind_of_file: KindOfFile
    exported: bool | None
    microservice: Annotated[str | None, Field(description="set by [[path_rules]], like aggregate and tags")]
    package: str | None
    aggregate: str | None
    tags: tuple[str, ...]
    defines: tuple[str, ...]
    references: tuple[str, ...]
    imports: tuple[str, ...]
    exports: tuple[str, ...]
    calls: tuple[str, ...]
    dependencies: tuple[str, ...]
    blob: str
    content_hash: str
    start_char: int
    end_char: int
    body_start_char: int | None
    masked: Annotated[bool, Field(description="true if a secret in the text was masked")]
    derived: Annotated[
        bool,
        Field(description="true if the text was made from the file: a summary of the file, or a cell of a notebook"),
    ]
    encoding: Annotated[str | None, Field(description="encoding of the file, if not UTF-8")]
    complexity_score: float | None
    stride_info: Annotated[
        StrideInfo | None, Field(description="the best stride of a chunk longer than the model's window")
    ]
    commit_author: Annotated[
        str | None,
        Field(description="author of the commit; for code, of the last one that touched the file, if that is known"),
    ]
    commit_date: Annotated[str | None, Field(description="when the commit was made, in UTC")]
    commit_message: Annotated[
        str | None, Field(description="first line of the message; also null if the caller sees only some paths")
    ]
    last_modified_commit: Annotated[
        str | None, Field(description="for code, the last commit that touched the file; null if it is not known")
    ]
    file_history_length: Annotated[
        int | None, Field(description="how many commits touched the file, as `git log -- PATH` counts them")
    ]
    file_history_is_partial: Annotated[
        bool, Field(description="true if there may be more: the clone is shallow, or a limit was reached")
    ]
    co_change_files: Annotated[
        tuple[ChangedTogether, ...],
        Field(description="the files that most often changed in the same commits, and in how many of them"),
    ]
    owners: Annotated[
        tuple[FileOwner, ...], Field(description="the authors of most of the file's commits, each with the share")
    ]


@dataclass(frozen=True)
class VersionedChunk(CodeChunk):
    """A piece of a file at one version of its repository."""

    ref: str | None
    branch: str | None
    commit: Annotated[str | None, Field(description="of the version; for a document of a commit, that commit")]
    introduced_commit: Annotated[
        str | None, Field(description="the commit that brought this version of the file: last_modified_commit")
    ]
    url: Annotated[
        str | None, Field(description="link to the lines or the commit on the code host, if the origin is known")
    ]


@dataclass(frozen=True)
class _Scored:
    score: Annotated[Score, Field(description="0 to 1, on the same scale for every query; results are sorted by it")]


@dataclass(frozen=True, slots=True)
class Blend:
    """The parts of the score of a hit that the second stage also scored."""

    first_score: Annotated[Score, Field(description="the ranker's score")]
    rerank_score: Annotated[float, Field(description="the model's score, on the model's own scale")]
    weight: Annotated[Score, Field(description="the model's share of the score")]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The parts of a score; ``channels`` has the hit's rank in each channel that recalled it."""

    signals: Mapping[str, Score]
    kind_weight: Score
    repeat_weight: Score
    channels: Mapping[str, int]
    reranking: Annotated[Blend | None, LEFT_OUT_IF_NONE] = None


@dataclass(frozen=True, slots=True)
class HitVersion:
    """A version that has a declaration, and the lines at which it has it."""

    ref: str
    commit: str
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class HitVariant:
    """Another text of a hit's declaration, at the same path in other versions; ``id`` is its chunk in the first one."""

    versions: tuple[HitVersion, ...]
    id: str
    blob: str
    content_hash: str
    start_line: int
    end_line: int
    score: Annotated[
        Score | None, LEFT_OUT_IF_NONE, Field(description="its own score, if the search found this text too")
    ] = None


@dataclass(frozen=True)  # no slots: Python can't combine the slots of two bases
class Hit(VersionedChunk, _Scored):
    """A piece of a file that answers a search. JSON keeps this order of fields, with ``score`` first."""

    is_stride: bool
    code_owners: Annotated[
        tuple[str, ...], Field(description="the owners that the version's CODEOWNERS file names for the path")
    ]
    rerank_score: Annotated[
        float | None,
        LEFT_OUT_IF_NONE,
        Field(description="the second stage's score, on the model's own scale, if it scored the hit"),
    ] = None
    versions: Annotated[
        tuple[HitVersion, ...] | None,
        LEFT_OUT_IF_NONE,
        Field(
            description="if the search covers several versions of the repository: those with the same text of the "
            "declaration at the same path; ref, commit and lines of the hit are those of the first"
        ),
    ] = None
    variants: Annotated[
        tuple[HitVariant, ...] | None,
        LEFT_OUT_IF_NONE,
        Field(description="the other texts of the declaration, each with its versions; empty if no version differs"),
    ] = None
    explain: Annotated[Explanation | None, LEFT_OUT_IF_NONE] = None


@dataclass(frozen=True)
class _Similar:
    similarity: float | None


@dataclass(frozen=True)
class NearChunk(VersionedChunk, _Similar):
    """A piece of a file whose vector is close to the vector of a text."""

    is_stride: bool


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The answer to a search."""

    results: tuple[Hit, ...]
    freshness: Annotated[
        tuple[Freshness, ...],
        Field(description="the versions that were searched, those with hits first; a long list is cut"),
    ] = ()
    versions_searched: Annotated[int, Field(description="how many versions were searched, shown or not")] = 0
    degraded: Annotated[tuple[str, ...], Field(description="stages that were not available")] = ()
    reason: Annotated[str | None, Field(description="why results is empty")] = None
    suggestion: str | None = None
    next_cursor: str | None = None
    took_ms: float = 0.0
    stages: Annotated[Mapping[str, float], Field(exclude=True)] = field(default_factory=dict)
    """Milliseconds of each stage, for metrics; not part of the JSON."""
