"""What a search answers: hits, how fresh they are, and why there are none."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from codequarry.search_api.answers.absence import LEFT_OUT_IF_NONE
from codequarry.search_api.answers.freshness import Freshness
from codequarry.shared.model import KindOfFile, StrideInfo, SymbolType

Score = Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True)
class CodeChunk:
    """One piece of a file; lines from 1, inclusive; characters from 0 of the decoded file, end exclusive.

    Timelines and transactions are not among the fields: they mean nothing outside the index.
    """

    id: str
    repo: str
    path: str
    language: str
    symbol_type: SymbolType
    symbol_kind: Annotated[str | None, Field(description="the language's own word")]
    symbol_name: str | None
    qualified_name: str | None
    signature: str | None
    start_line: int
    end_line: int
    symbol_part: Annotated[str | None, Field(description="2/5 if the symbol was split")]
    text: Annotated[str, Field(description="the file's own text at those lines; secrets are masked by stars")]
    context: Annotated[str, Field(description="class header, enclosing declarations and imports used")]
    doc: str
    kind_of_file: KindOfFile
    exported: bool | None
    microservice: Annotated[str | None, Field(description="as [[path_rules]] say, like aggregate and tags")]
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
    masked: Annotated[bool, Field(description="a secret in the text was masked")]
    encoding: Annotated[str | None, Field(description="of the file, if not UTF-8")]
    complexity_score: float | None
    stride_info: Annotated[
        StrideInfo | None, Field(description="the best stride of a chunk longer than the model's window")
    ]


@dataclass(frozen=True)
class VersionedChunk(CodeChunk):
    """A piece of a file at one version of its repository."""

    ref: str | None
    branch: str | None
    commit: str | None
    url: Annotated[str | None, Field(description="the lines on the code host, if the origin is known")]


@dataclass(frozen=True)
class _Scored:
    score: Annotated[Score, Field(description="0 to 1, the same scale for every query; results come by falling score")]


@dataclass(frozen=True, slots=True)
class Blend:
    """What the score of a hit that a second stage scored too is made of."""

    first_score: Annotated[Score, Field(description="the ranker's")]
    rerank_score: Annotated[float, Field(description="the model's own, on a scale of its own")]
    weight: Annotated[Score, Field(description="the model's share")]


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a score is made of; ``channels`` has the rank in each channel of the engine that recalled the hit."""

    signals: Mapping[str, Score]
    kind_weight: Score
    repeat_weight: Score
    channels: Mapping[str, int]
    reranking: Annotated[Blend | None, LEFT_OUT_IF_NONE] = None


@dataclass(frozen=True, slots=True)
class HitVersion:
    """A version that holds a hit."""

    ref: str
    commit: str


@dataclass(frozen=True)  # no slots: Python can't lay out those of two bases
class Hit(VersionedChunk, _Scored):
    """A piece of a file that answers a search. The fields are on the wire in this order, ``score`` first."""

    is_stride: bool
    rerank_score: Annotated[
        float | None,
        LEFT_OUT_IF_NONE,
        Field(description="of the second stage's model, if it scored the hit; on the model's own scale"),
    ] = None
    versions: Annotated[
        tuple[HitVersion, ...] | None,
        LEFT_OUT_IF_NONE,
        Field(description="every version in view that holds the hit, if the search saw several of its repository"),
    ] = None
    explain: Annotated[Explanation | None, LEFT_OUT_IF_NONE] = None


@dataclass(frozen=True)
class _Similar:
    similarity: float | None


@dataclass(frozen=True)
class NearChunk(VersionedChunk, _Similar):
    """A piece of a file that is near to a text by its vector alone."""

    is_stride: bool


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The answer to one search."""

    results: tuple[Hit, ...]
    freshness: tuple[Freshness, ...] = ()
    degraded: Annotated[tuple[str, ...], Field(description="stages that the answer had to do without")] = ()
    reason: Annotated[str | None, Field(description="why results is empty")] = None
    suggestion: str | None = None
    next_cursor: str | None = None
    took_ms: float = 0.0
    stages: Annotated[Mapping[str, float], Field(exclude=True)] = field(default_factory=dict)
    """Milliseconds of each stage: for metrics, not for the wire."""
