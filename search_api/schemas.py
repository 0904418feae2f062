"""What the HTTP bodies look like, for `/openapi.json`; ``request.py`` checks requests, and names what is wrong.

The tests compare these models with what is really read and given.
"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import models_json_schema

from codequarry.search_api.bodies import (
    Freshness,
    HealthBody,
    JobBody,
    Open,
    PendingBody,
    Problem,
    RepositoriesBody,
)
from codequarry.search_api.comparison import Change
from codequarry.search_api.hit_bodies import Hit, Score
from codequarry.search_api.request import (
    CLOSED_VALUES,
    DEFAULT_MAX_PER_FILE,
    DEFAULT_TOP_K,
    DEFAULT_WAIT_MS,
    FILTERS,
    MAX_FILTER_VALUES,
    MAX_QUERY_CHARACTERS,
    MAX_REPOS,
    MAX_TOP_K,
    MAX_VALUE_CHARACTERS,
    MAX_WAIT_MS,
)
from codequarry.search_api.work_bodies import WORK_MODELS
from codequarry.shared.model import SymbolType
from codequarry.shared.store.filters import BOOLEANS
from codequarry.shared.versions.refs import MIN_COMMIT_DIGITS

COMMIT_PATTERN = rf"^[0-9a-fA-F]{{{MIN_COMMIT_DIGITS},64}}$"
REF_TEMPLATE = "#/components/schemas/{model}"
Text = Annotated[str, Field(min_length=1, max_length=MAX_VALUE_CHARACTERS)]

FILTER_NOTES = {
    "path": "globs as in .gitignore; ! excludes",
    "branch": "an indexed branch; the default one if no version is named",
    "ref": "any indexed version: a branch, a tag, pull/12, workspace:/path (any folder in it), a full ref, or a commit",
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


class RepositoryVersionBody(BaseModel):
    """A repository at a version of its own."""

    model_config = ConfigDict(extra="forbid")

    name: Text | None = Field(None, description="as in GET /repos")
    originUri: Text | None = Field(None, description="where it is cloned from; scheme, user and .git don't count")
    checkoutHost: Text | None = Field(None, description="whose local path it is")
    checkoutPath: Text | None = Field(None, description="a local path below api.local_roots, or in a checkout there")
    repoPath: Text | None = Field(None, description="the same as checkoutPath")
    versionSpecifier: Text | None = Field(
        "latest", description="latest, workspace, or a branch, tag, pull/12 or commit"
    )


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
    top_k: int | None = Field(
        DEFAULT_TOP_K, ge=1, le=MAX_TOP_K, description="with a second stage [reranking] final_count by default"
    )
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
    repos: list[RepositoryVersionBody] | None = Field(
        None,
        min_length=1,
        max_length=MAX_REPOS,
        description="repositories each at its own version, instead of repositories and versions in the filters",
    )
    min_commit: str | None = Field(
        None,
        pattern=COMMIT_PATTERN,
        description="wait until the one version that is searched holds this commit, whole or its first digits",
    )
    wait_ms: int | None = Field(
        DEFAULT_WAIT_MS, ge=0, le=MAX_WAIT_MS, description="how long, for min_commit or ?index=true"
    )
    rerank: bool | None = Field(
        None,
        description="false leaves the second stage out; true is refused where there is none; by default it takes part",
    )
    token: str | None = Field(None, description="a key, for clients that send no Authorization header")


class AnswerBody(Open):
    """What `POST /search-code` answers."""

    results: list[Hit]
    freshness: list[Freshness]
    degraded: list[str] = Field(description="stages that the answer had to do without")
    reason: str | None = Field(description="why results is empty")
    suggestion: str | None
    next_cursor: str | None
    took_ms: float


class DiffBody(BaseModel):
    """What `POST /diff-search` asks."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"query": "retry policy", "from": "v1.0", "to": "v2.0", "filters": {"repo": "core"}}]
        },
    )

    query: str = SearchBody.model_fields["query"]  # type: ignore[assignment]  # the same field, description and all
    before: Text = Field(alias="from", description="a branch, a tag, pull/12 or a commit")
    after: Text = Field(alias="to", description="the version that it is compared with")
    all: bool | None = Field(False, description="show also what is the same in both")
    top_k: int | None = Field(DEFAULT_TOP_K, ge=1, le=MAX_TOP_K)
    filters: dict[str, Any] | None = SearchBody.model_fields["filters"]  # type: ignore[assignment]  # likewise
    max_per_file: int | None = Field(DEFAULT_MAX_PER_FILE, ge=1, le=MAX_TOP_K)
    include_tests: bool | None = True
    token: str | None = SearchBody.model_fields["token"]  # type: ignore[assignment]  # likewise


class DiffHit(Open):
    """A piece of code in one of the two versions: as a hit, without a score."""

    id: str
    repo: str
    path: str
    ref: str | None
    commit: str | None
    url: str | None
    symbol_type: SymbolType
    start_line: int
    end_line: int
    text: str


class DifferenceBody(Open):
    """What became of one piece of code."""

    change: Change
    score: Score = Field(description="of the better of the two")
    repo: str
    path: str
    symbol: str | None
    before: DiffHit | None = Field(alias="from", description="null where it was added")
    after: DiffHit | None = Field(alias="to", description="null where it was removed")


class DiffAnswerBody(Open):
    """What `POST /diff-search` answers."""

    results: list[DifferenceBody]
    counts: dict[Change, int] = Field(description="of all hits that were looked at, by what became of them")
    freshness: list[Freshness] = Field(description="of both versions")
    degraded: list[str]
    reason: str | None
    took_ms: float


MODELS: tuple[type[BaseModel], ...] = (
    SearchBody, AnswerBody, DiffBody, DiffAnswerBody, RepositoriesBody, JobBody, PendingBody, HealthBody, Problem,
    *WORK_MODELS,
)  # fmt: skip


def component_schemas() -> dict[str, Any]:
    """Return the schemas of all bodies by name, as OpenAPI 3.1 wants them."""
    _, document = models_json_schema([(model, "validation") for model in MODELS], ref_template=REF_TEMPLATE)
    schemas: dict[str, Any] = document["$defs"]
    # Pydantic writes its own idea of an open dictionary beside ours.
    for name in ("SearchBody", "DiffBody"):
        schemas[name]["properties"]["filters"].pop("additionalProperties", None)
    return schemas


def reference(model: type[BaseModel]) -> dict[str, str]:
    """Return the reference to a body's schema."""
    return {"$ref": REF_TEMPLATE.format(model=model.__name__)}
