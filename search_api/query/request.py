"""A search request, parsed from its JSON body; an unknown field is an error that names it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, WithJsonSchema

from codequarry.search_api.query.filters import FILTERS_SCHEMA, FilterValues, read_filters
from codequarry.search_api.query.request_body import RequestBody, ShortText, Text, WholeNumber
from codequarry.shared.errors import UsageError
from codequarry.shared.settings.reranking import RerankingSettings
from codequarry.shared.versions.refs import MIN_COMMIT_DIGITS, commit_digits

MAX_QUERY_CHARACTERS = 10_000
DEFAULT_TOP_K = 20
MAX_TOP_K = 200
DEFAULT_MAX_PER_FILE = 2
MAX_REPOS = 100
DEFAULT_WAIT_MS = 10_000
MAX_WAIT_MS = 60_000

LATER_FIELDS: tuple[str, ...] = ("weights",)
NO_RERANKING = RerankingSettings()


@dataclass(frozen=True, slots=True)
class RepositoryVersion:
    """A repository by name, origin or local path, at a ``version``: ``latest``, ``workspace``, a ref or a commit."""

    name: str = ""
    origin: str = ""
    host: str = ""
    path: str = ""
    version: str = "latest"


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One search; it waits up to ``wait_ms`` for ``min_commit``, and ``rerank`` uses the second stage, if any."""

    query: str
    top_k: int = DEFAULT_TOP_K
    filters: FilterValues = field(default_factory=dict)
    cursor: str | None = None
    max_per_file: int = DEFAULT_MAX_PER_FILE
    include_tests: bool = True
    explain: bool = False
    repos: tuple[RepositoryVersion, ...] = ()
    min_commit: str | None = None
    wait_ms: int = DEFAULT_WAIT_MS
    rerank: bool = True


def _checked_query(query: str) -> str:
    if not query.strip():
        raise UsageError("the query is empty; enter text to search for")
    if len(query) > MAX_QUERY_CHARACTERS:
        raise UsageError(f"the query has {len(query)} characters; the maximum is {MAX_QUERY_CHARACTERS}")
    return query


Query = Annotated[
    Text,
    AfterValidator(_checked_query),
    Field(
        description='plain text, names, "exact phrases", and the filters repo: lang: path: symbol: kind: type: author: '
        "since: until: (- before a filter excludes)",
        json_schema_extra={"minLength": 1, "maxLength": MAX_QUERY_CHARACTERS, "pattern": r"\S"},
    ),
]
Token = Annotated[str | None, Field(description="a key, for clients that send no Authorization header")]
CheckedFilters = Annotated[
    FilterValues,
    PlainValidator(read_filters),
    WithJsonSchema(FILTERS_SCHEMA),
    Field(description="Fields of a hit. All must match; a list matches if any of its values does."),
]


class RepositoryVersionBody(RequestBody):
    """A repository and its version."""

    name: ShortText = Field("", description="as in GET /repos")
    originUri: ShortText = Field("", description="its clone URL; scheme, user and .git are ignored")
    checkoutHost: ShortText = Field("", description="the machine that checkoutPath is on")
    checkoutPath: ShortText = Field("", description="a local path below api.local_roots; may be inside a checkout")
    repoPath: ShortText = Field("", description="the same as checkoutPath")
    versionSpecifier: ShortText = Field("latest", description="latest, workspace, or a branch, tag, pull/12 or commit")


def _read_repositories(entries: object) -> object:
    if not isinstance(entries, list | tuple):
        return entries  # not a list: the model rejects it
    return [RepositoryVersionBody.read(entry, where="repos") for entry in entries]


class SearchBody(RequestBody):
    """The body of `POST /search-code`."""

    examples: ClassVar[Sequence[Mapping[str, Any]]] = [
        {"query": "where are failed jobs retried"},
        {"query": "parse_header", "top_k": 5, "filters": {"language": "python", "path": ["src/", "!*_old.py"]}},
    ]

    query: Query
    top_k: WholeNumber = Field(
        DEFAULT_TOP_K, ge=1, le=MAX_TOP_K, description="with a second stage, the default is [reranking] final_count"
    )
    filters: CheckedFilters = Field(default_factory=dict)
    repos: Annotated[list[RepositoryVersionBody], BeforeValidator(_read_repositories)] = Field(
        default_factory=list,
        min_length=1,
        max_length=MAX_REPOS,
        description="repositories, each with its own version, instead of repositories and versions in the filters",
    )
    cursor: str | None = Field(None, description="next_cursor from an answer to the same search")
    max_per_file: WholeNumber = Field(
        DEFAULT_MAX_PER_FILE, ge=1, le=MAX_TOP_K, description="raised as far as needed to reach top_k"
    )
    include_tests: bool = True
    explain: bool = False
    min_commit: Annotated[Text | None, AfterValidator(commit_digits)] = Field(
        None,
        description="wait until the searched version (only one) has this commit; a full hash or its first digits",
        json_schema_extra={"pattern": rf"^[0-9a-fA-F]{{{MIN_COMMIT_DIGITS},64}}$"},
    )
    wait_ms: WholeNumber = Field(
        DEFAULT_WAIT_MS, ge=0, le=MAX_WAIT_MS, description="how long to wait for min_commit or ?index=true"
    )
    rerank: bool | None = Field(
        None,
        description="false skips the second stage; true is an error if there is none; used by default if there is one",
    )
    token: Token = None


FIELDS: tuple[str, ...] = tuple(name for name in SearchBody.field_names() if name != "token")


def parse_request(
    body: object, *, may_index: bool = False, reranking: RerankingSettings = NO_RERANKING
) -> SearchRequest:
    """Parse and check a JSON body; raise UsageError. With ``may_index``, the request may index a version and wait."""
    _refuse_later(body)
    parsed = SearchBody.read(body)
    rerank = reranking.enabled if parsed.rerank is None else parsed.rerank
    if rerank and not reranking.enabled:
        raise UsageError("'rerank' needs a second stage, and none is set up here; see [reranking] in the settings")
    if "wait_ms" in parsed.model_fields_set and parsed.min_commit is None and not may_index:
        raise UsageError("'wait_ms' needs 'min_commit' or ?index=true; add one of them, or remove 'wait_ms'")
    default = reranking.final_count if rerank else DEFAULT_TOP_K
    return SearchRequest(
        query=parsed.query,
        top_k=parsed.top_k if "top_k" in parsed.model_fields_set else default,
        filters=MappingProxyType(dict(parsed.filters)),
        cursor=parsed.cursor,
        max_per_file=parsed.max_per_file,
        include_tests=parsed.include_tests,
        explain=parsed.explain,
        repos=tuple(map(_repository, parsed.repos)),
        min_commit=parsed.min_commit,
        wait_ms=parsed.wait_ms,
        rerank=rerank,
    )


def _refuse_later(body: object) -> None:
    for name in LATER_FIELDS:
        if isinstance(body, Mapping) and body.get(name) is not None:
            raise UsageError(f"the field '{name}' is not available yet; leave it out")


def _repository(entry: RepositoryVersionBody) -> RepositoryVersion:
    paths = {entry.checkoutPath, entry.repoPath} - {""}
    if len(paths) > 1:
        raise UsageError("an entry of 'repos' has different values in checkoutPath and repoPath; give only one")
    if not (entry.name or entry.originUri or paths):
        raise UsageError("an entry of 'repos' needs originUri, checkoutPath or name")
    path = next(iter(paths), "")
    return RepositoryVersion(entry.name, entry.originUri, entry.checkoutHost, path, entry.versionSpecifier)
