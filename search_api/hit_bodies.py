"""What a hit looks like in HTTP bodies, for `/openapi.json`."""

from typing import Annotated

from pydantic import Field

from codequarry.search_api.bodies import Open
from codequarry.shared.model import KindOfFile, SymbolType

Score = Annotated[float, Field(ge=0, le=1)]


class Stride(Open):
    """Where a stride lies in a chunk longer than the model's window, in tokens of the model."""

    original_chunk_id: str
    stride_index: int
    total_strides: int
    overlap_start: int
    overlap_end: int


class BlendBody(Open):
    """What the score of a hit that a second stage scored too is made of."""

    first_score: Score
    rerank_score: float = Field(description="the model's own, on a scale of its own")
    weight: Score = Field(description="the model's share")


class Explanation(Open):
    """What a score is made of; ``channels`` has the rank in each channel of the engine that recalled the hit."""

    signals: dict[str, Score]
    kind_weight: Score
    repeat_weight: Score
    channels: dict[str, int]
    reranking: BlendBody | None = None


class HitVersion(Open):
    """A version that holds a hit."""

    ref: str
    commit: str


class Hit(Open):
    """One piece of a file; lines from 1, inclusive; characters from 0 of the decoded file, end exclusive."""

    score: Score = Field(description="0 to 1, the same scale for every query; results come by falling score")
    rerank_score: float | None = Field(
        None, description="of the second stage's model, where it has scored the hit; on the model's own scale"
    )
    id: str
    repo: str
    path: str
    ref: str | None
    branch: str | None
    commit: str | None
    url: str | None = Field(description="the lines on the code host, where the origin is known")
    blob: str
    language: str
    symbol_type: SymbolType
    symbol_kind: str | None = Field(description="the language's own word")
    symbol_name: str | None
    qualified_name: str | None
    signature: str | None
    symbol_part: str | None = Field(description="2/5 where a symbol was split")
    start_line: int
    end_line: int
    start_char: int
    end_char: int
    body_start_char: int | None
    text: str = Field(description="the file's own text at those lines")
    context: str = Field(description="class header, enclosing declarations and imports used")
    doc: str
    commentary: str
    kind_of_file: KindOfFile
    content_hash: str
    exported: bool | None
    tags: list[str]
    defines: list[str]
    references: list[str]
    imports: list[str]
    calls: list[str]
    is_stride: bool
    stride_info: Stride | None
    versions: list[HitVersion] | None = Field(
        None, description="every version in view that holds the hit, where a search sees several of its repository"
    )
    explain: Explanation | None = None
