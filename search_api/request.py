"""A search as it was asked: the JSON body checked, every unknown thing refused by its name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from codequarry.search_api.versions import Kind
from codequarry.shared.errors import UnknownName, UsageError
from codequarry.shared.model import KINDS_OF_FILE, SYMBOL_TYPES
from codequarry.shared.settings.reranking import RerankingSettings
from codequarry.shared.store.filters import BOOLEANS, FILTERABLE_FIELDS
from codequarry.shared.versions.refs import commit_digits

MAX_QUERY_CHARACTERS = 10_000
DEFAULT_TOP_K = 20
MAX_TOP_K = 200
DEFAULT_MAX_PER_FILE = 2
# A filter with more values than this is a list of files or repositories that belongs into a setting.
MAX_FILTER_VALUES = 200
MAX_VALUE_CHARACTERS = 1_000
MAX_REPOS = 100
DEFAULT_WAIT_MS = 10_000
MAX_WAIT_MS = 60_000

FIELDS: tuple[str, ...] = (
    "query", "top_k", "filters", "repos", "cursor", "max_per_file", "include_tests", "explain", "min_commit", "wait_ms",
    "rerank",
)  # fmt: skip
LATER_FIELDS: tuple[str, ...] = ("weights",)
# How a client names a repository in `repos`; `name` is ours, all others are where it comes from or is checked out.
REPO_FIELDS: tuple[str, ...] = ("name", "originUri", "checkoutHost", "checkoutPath", "repoPath", "versionSpecifier")

VERSION_FILTERS: tuple[Kind, ...] = ("ref", "branch", "commit")
LATER_FILTERS: tuple[str, ...] = ("author", "since", "until")
# Permissions are not for the caller to filter by.
KEYWORD_FILTERS: tuple[str, ...] = tuple(name for name in FILTERABLE_FIELDS if name != "acl")
FILTERS: tuple[str, ...] = (*KEYWORD_FILTERS, "path", *VERSION_FILTERS)
# Fields whose values are a closed list.
CLOSED_VALUES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"symbol_type": SYMBOL_TYPES, "kind_of_file": KINDS_OF_FILE}
    | {name: BOOLEANS for name, kind in FILTERABLE_FIELDS.items() if kind == "boolean"}
)

NO_RERANKING = RerankingSettings()

FilterValues = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class RepositoryVersion:
    """A repository by its name, origin or local path, at ``version``: ``latest``, ``workspace``, or a ref or commit."""

    name: str = ""
    origin: str = ""
    host: str = ""
    path: str = ""
    version: str = "latest"


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One search; ``filters`` has for each field the values of which any will do.

    ``min_commit`` must be in what is searched, for which ``wait_ms`` are waited. ``rerank`` lets a second stage take
    part, where there is one.
    """

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


def parse_request(
    body: object, *, may_index: bool = False, reranking: RerankingSettings = NO_RERANKING
) -> SearchRequest:
    """Check a JSON body and return the request; UnknownName or UsageError say what is wrong with it.

    ``may_index`` where the request also waits for what it lets be indexed; ``reranking`` is what the settings say.
    """
    if not isinstance(body, Mapping):
        raise UsageError("the body must be a JSON object")
    for name in body:
        if name not in FIELDS and name not in LATER_FIELDS:
            raise UnknownName("field", _text(str(name)), FIELDS)
    _refuse_later(body)
    rerank = _rerank(body, reranking)
    return SearchRequest(
        query=_query(body.get("query")),
        top_k=_integer(body, "top_k", reranking.final_count if rerank else DEFAULT_TOP_K, MAX_TOP_K),
        filters=read_filters(body.get("filters")),
        cursor=_cursor(body.get("cursor")),
        max_per_file=_integer(body, "max_per_file", DEFAULT_MAX_PER_FILE, MAX_TOP_K),
        include_tests=_boolean(body, "include_tests", True),
        explain=_boolean(body, "explain", False),
        repos=_repos(body.get("repos")),
        min_commit=_min_commit(body.get("min_commit")),
        wait_ms=_wait_ms(body, may_index),
        rerank=rerank,
    )


def _rerank(body: Mapping[str, object], settings: RerankingSettings) -> bool:
    wanted = _boolean(body, "rerank", settings.enabled)
    if wanted and not settings.enabled:
        raise UsageError("'rerank' needs a second stage, and none is set up here: see [reranking] in the settings")
    return wanted


def _refuse_later(body: Mapping[str, object]) -> None:
    for name in LATER_FIELDS:
        if body.get(name) is not None:
            raise UsageError(f"the field '{name}' is not available yet; leave it out")


def _query(value: object) -> str:
    if not isinstance(value, str):
        raise UsageError("'query' must be a string of 1 to 10,000 characters")
    query = _text(value)
    if not query.strip():
        raise UsageError("the query is empty; say what to search for")
    if len(query) > MAX_QUERY_CHARACTERS:
        raise UsageError(f"the query has {len(query)} characters; at most {MAX_QUERY_CHARACTERS} are read")
    return query


def _text(value: str) -> str:
    """Replace what no engine can store: halves of surrogate pairs, which JSON can write but UTF-8 can't."""
    return value.encode("utf-8", "replace").decode("utf-8")


def _integer(body: Mapping[str, object], name: str, default: int, most: int, least: int = 1) -> int:
    value = body.get(name)
    if value is None:
        return default
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise UsageError(f"'{name}' must be a whole number from {least} to {most}")
    return value


def _boolean(body: Mapping[str, object], name: str, default: bool) -> bool:
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise UsageError(f"'{name}' must be true or false")
    return value


def _min_commit(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise UsageError("'min_commit' must be a commit as a string")
    return commit_digits(_text(value))


def _wait_ms(body: Mapping[str, object], may_index: bool) -> int:
    if body.get("wait_ms") is not None and body.get("min_commit") is None and not may_index:
        raise UsageError("'wait_ms' waits for 'min_commit', or with ?index=true; give one of them, or leave it out")
    return _integer(body, "wait_ms", DEFAULT_WAIT_MS, MAX_WAIT_MS, least=0)


def _repos(value: object) -> tuple[RepositoryVersion, ...]:
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or not 1 <= len(value) <= MAX_REPOS:
        raise UsageError(f"'repos' must be a list of 1 to {MAX_REPOS} repositories")
    return tuple(map(_repository, value))


def _repository(value: object) -> RepositoryVersion:
    if not isinstance(value, Mapping):
        raise UsageError("an entry of 'repos' must be an object with originUri and versionSpecifier")
    for name, given in value.items():
        if name not in REPO_FIELDS:
            raise UnknownName("field", _text(str(name)), REPO_FIELDS, where="repos")
        if given is not None and (not isinstance(given, str) or not 1 <= len(given) <= MAX_VALUE_CHARACTERS):
            raise UsageError(f"'{name}' in 'repos' must be a string of 1 to {MAX_VALUE_CHARACTERS} characters")
    fields = {name: _text(str(value.get(name) or "")) for name in REPO_FIELDS}
    paths = {fields["checkoutPath"], fields["repoPath"]} - {""}
    if len(paths) > 1:
        raise UsageError("checkoutPath and repoPath of an entry of 'repos' mean the same; give one of them")
    if not (fields["name"] or fields["originUri"] or paths):
        raise UsageError("an entry of 'repos' needs originUri, checkoutPath or name")
    if any("\0" in text for text in fields.values()):
        raise UsageError("an entry of 'repos' holds a zero byte")
    return RepositoryVersion(
        name=fields["name"],
        origin=fields["originUri"],
        host=fields["checkoutHost"],
        path=next(iter(paths), ""),
        version=fields["versionSpecifier"] or "latest",
    )


def _cursor(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise UsageError("'cursor' must be the string that an answer gave as next_cursor")


def read_filters(value: object) -> FilterValues:
    """Check the ``filters`` object: every field known, every value a string (or boolean) or a list of them."""
    if value is None:
        return MappingProxyType({})
    if not isinstance(value, Mapping):
        raise UsageError("'filters' must be an object of field names and values")
    filters = {name: _values(name, given) for name, given in value.items() if given is not None}
    return MappingProxyType(filters)


def _values(name: str, given: object) -> tuple[str, ...]:
    if name in LATER_FILTERS:
        raise UsageError(f"the filter '{name}' is not available yet; leave it out")
    if name not in FILTERS:
        raise UnknownName("filter", _text(name), FILTERS)
    listed: Sequence[object] = given if isinstance(given, list | tuple) else [given]
    if not 1 <= len(listed) <= MAX_FILTER_VALUES:
        raise UsageError(f"the filter '{name}' must have 1 to {MAX_FILTER_VALUES} values")
    return tuple(dict.fromkeys(_value(name, value) for value in listed))


def _value(name: str, value: object) -> str:
    if isinstance(value, bool) and CLOSED_VALUES.get(name) == BOOLEANS:
        return str(value).lower()
    if not isinstance(value, str):
        raise UsageError(f"a value of the filter '{name}' must be a {_type_name(name)}")
    text = _text(value)
    if not 1 <= len(text) <= MAX_VALUE_CHARACTERS:
        raise UsageError(f"a value of the filter '{name}' must have 1 to {MAX_VALUE_CHARACTERS} characters")
    closed = CLOSED_VALUES.get(name)
    if closed and text not in closed:
        raise UnknownName(name, text, closed)
    return text


def _type_name(name: str) -> str:
    return "boolean" if CLOSED_VALUES.get(name) == BOOLEANS else "string"
