"""What the HTTP bodies look like, for `/openapi.json`; ``request.py`` checks requests, and names what is wrong.

The tests compare these models with what is really read and given.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import models_json_schema

from codequarry.search_api.request import (
    CLOSED_VALUES,
    DEFAULT_MAX_PER_FILE,
    DEFAULT_TOP_K,
    FILTERS,
    MAX_FILTER_VALUES,
    MAX_QUERY_CHARACTERS,
    MAX_TOP_K,
    MAX_VALUE_CHARACTERS,
)
from codequarry.search_api.states import State
from codequarry.shared.model import KindOfFile, SymbolType
from codequarry.shared.store.filters import BOOLEANS

REF_TEMPLATE = "#/components/schemas/{model}"
Score = Annotated[float, Field(ge=0, le=1)]

FILTER_NOTES = {
    "path": "globs as in .gitignore; ! excludes",
    "branch": "the indexed branch",
    "ref": "the same as branch",
    "commit": "a commit that the index has, whole or its first 7 digits or more",
    "language": "lower case; config stands for yaml, json, toml, ini and properties too",
}


def _filter_schema(name: str) -> dict[str, Any]:
    closed = CLOSED_VALUES.get(name)
    value: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": MAX_VALUE_CHARACTERS}
    if closed == BOOLEANS:
        value = {"enum": [True, False, *BOOLEANS]}
    elif closed:
        value = {"type": "string", "enum": list(closed)}
    listed = {"type": "array", "items": value, "minItems": 1, "maxItems": MAX_FILTER_VALUES}
    note = FILTER_NOTES.get(name)
    return {"anyOf": [value, listed, {"type": "null"}], **({"description": note} if note else {})}


class Open(BaseModel):
    """A body of an answer: later versions may add fields to it."""

    model_config = ConfigDict(extra="allow")


class SearchBody(BaseModel):
    """What `POST /search-code` asks."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"query": "where are failed jobs retried"},
                {"query": "parse_header", "top_k": 5, "filters": {"language": "python", "path": ["src/", "!*_old.py"]}},
            ]
        },
    )

    query: str = Field(
        min_length=1,
        max_length=MAX_QUERY_CHARACTERS,
        pattern=r"\S",
        description='Plain text, names, "exact phrases", and the filters repo: lang: path: symbol: kind:, with - '
        "before them to exclude.",
    )
    top_k: int | None = Field(DEFAULT_TOP_K, ge=1, le=MAX_TOP_K)
    filters: dict[str, Any] | None = Field(
        None,
        description="Fields of a hit; all must fit, of several values any.",
        json_schema_extra={
            "anyOf": [
                {
                    "type": "object",
                    "properties": {name: _filter_schema(name) for name in FILTERS},
                    "additionalProperties": False,
                },
                {"type": "null"},
            ]
        },
    )
    cursor: str | None = Field(None, description="next_cursor of an answer to the same search")
    max_per_file: int | None = Field(
        DEFAULT_MAX_PER_FILE, ge=1, le=MAX_TOP_K, description="lifted as far as reaching top_k needs"
    )
    include_tests: bool | None = True
    explain: bool | None = False


class Stride(Open):
    """Where a stride lies in a chunk longer than the model's window, in tokens of the model."""

    original_chunk_id: str
    stride_index: int
    total_strides: int
    overlap_start: int
    overlap_end: int


class Explanation(Open):
    """What a score is made of; ``channels`` has the rank in each channel of the engine that recalled the hit."""

    signals: dict[str, Score]
    kind_weight: Score
    repeat_weight: Score
    channels: dict[str, int]


class Hit(Open):
    """One piece of a file; lines from 1, inclusive; characters from 0 of the decoded file, end exclusive."""

    score: Score = Field(description="0 to 1, the same scale for every query; results come by falling score")
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
    explain: Explanation | None = None


class Freshness(Open):
    """How fresh the answer is for one repository."""

    repo: str
    ref: str
    indexed_commit: str | None
    head_commit: str | None
    commits_behind: int | None
    indexed_at: str | None
    skipped_files: int
    state: State
    percent: int | None


class AnswerBody(Open):
    """What `POST /search-code` answers."""

    results: list[Hit]
    freshness: list[Freshness]
    degraded: list[str] = Field(description="stages that the answer had to do without")
    reason: str | None = Field(description="why results is empty")
    suggestion: str | None
    next_cursor: str | None
    took_ms: float


class RepositoryBody(Open):
    """One repository of the catalog."""

    name: str
    origin: str
    branch: str
    indexed_commit: str | None
    indexed_at: str | None
    head_commit: str | None
    commits_behind: int | None
    files: int
    chunks: int
    skipped: dict[str, int] = Field(description="files left out, by reason")
    state: State
    percent: int | None = Field(description="of a running first import")
    model: str | None = Field(description="that made the vectors; null before the first import")


class RepositoriesBody(Open):
    """What `GET /repos` answers."""

    repos: list[RepositoryBody]


class HealthBody(Open):
    """What the probes answer."""

    status: Literal["ok", "unavailable"]
    checks: dict[str, str] = Field({}, description="each part and what is wrong with it, or ok")


class Problem(Open):
    """An error, as RFC 9457 has it."""

    type: str
    title: str
    status: int
    detail: str
    request_id: str | None = None
    name: str | None = Field(None, description="the unknown field, filter or value")
    known: list[str] | None = Field(None, description="what there is instead")
    candidates: list[str] | None = Field(None, description="what an ambiguous commit may mean")


MODELS: tuple[type[BaseModel], ...] = (SearchBody, AnswerBody, RepositoriesBody, HealthBody, Problem)


def component_schemas() -> dict[str, Any]:
    """Return the schemas of all bodies by name, as OpenAPI 3.1 wants them."""
    _, document = models_json_schema([(model, "validation") for model in MODELS], ref_template=REF_TEMPLATE)
    schemas: dict[str, Any] = document["$defs"]
    # Pydantic writes its own idea of an open dictionary beside ours.
    filters = schemas["SearchBody"]["properties"]["filters"]
    filters.pop("additionalProperties", None)
    return schemas


def reference(model: type[BaseModel]) -> dict[str, str]:
    """Return the reference to a body's schema."""
    return {"$ref": REF_TEMPLATE.format(model=model.__name__)}
