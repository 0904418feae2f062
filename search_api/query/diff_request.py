"""A comparison request, parsed from its JSON body."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from codequarry.search_api.query.plan import make_plan
from codequarry.search_api.query.request import (
    DEFAULT_MAX_PER_FILE,
    DEFAULT_TOP_K,
    DEFAULT_WAIT_MS,
    MAX_TOP_K,
    MAX_WAIT_MS,
    CheckedFilters,
    Query,
    SearchRequest,
    Token,
)
from codequarry.search_api.query.request_body import RequestBody, ShortText, WholeNumber
from codequarry.shared.errors import UsageError

# Search fields that have no meaning in a comparison.
NOT_COMPARED: tuple[str, ...] = ("cursor", "repos", "min_commit", "explain", "rerank")


@dataclass(frozen=True, slots=True)
class DiffRequest:
    """A query over two versions (branch, tag, pull request or commit); ``all`` includes unchanged hits."""

    search: SearchRequest
    before: str
    after: str
    all: bool = False


def _checked_version(name: str) -> str:
    if not name.strip():
        raise UsageError("'from' and 'to' must each name a version: a branch, a tag, pull/12 or a commit")
    return name


VersionText = Annotated[ShortText, AfterValidator(_checked_version)]


class DiffBody(RequestBody):
    """The body of `POST /diff-search`."""

    examples: ClassVar[Sequence[Mapping[str, Any]]] = [
        {"query": "retry policy", "from": "v1.0", "to": "v2.0", "filters": {"repo": "core"}}
    ]

    query: Query
    before: VersionText = Field(alias="from", description="a branch, a tag, pull/12 or a commit")
    after: VersionText = Field(alias="to", description="the version to compare 'from' with")
    all: bool = Field(False, description="also show hits that are the same in both versions")
    top_k: WholeNumber = Field(DEFAULT_TOP_K, ge=1, le=MAX_TOP_K)
    filters: CheckedFilters = Field(default_factory=dict)
    max_per_file: WholeNumber = Field(DEFAULT_MAX_PER_FILE, ge=1, le=MAX_TOP_K)
    include_tests: bool = True
    wait_ms: WholeNumber = Field(DEFAULT_WAIT_MS, ge=0, le=MAX_WAIT_MS, description="how long to wait with ?index=true")
    token: Token = None


def parse_diff(body: object, *, may_index: bool = False) -> DiffRequest:
    """Check a JSON body and return the request; raise the same errors as ``parse_request``.

    With ``may_index``, the request may index its versions and wait.
    """
    for name in NOT_COMPARED:
        if isinstance(body, Mapping) and body.get(name) is not None:
            raise UsageError(f"the field '{name}' has no meaning in a comparison; leave it out")
    parsed = DiffBody.read(body)
    if "wait_ms" in parsed.model_fields_set and not may_index:
        raise UsageError("'wait_ms' needs ?index=true; add it, or remove 'wait_ms'")
    request = SearchRequest(
        query=parsed.query,
        top_k=parsed.top_k,
        filters=parsed.filters,
        max_per_file=parsed.max_per_file,
        include_tests=parsed.include_tests,
        wait_ms=parsed.wait_ms,
        rerank=False,
    )
    if make_plan(request).selection.version:
        raise UsageError("name the versions in 'from' and 'to', not in the filters or the query")
    return DiffRequest(request, parsed.before, parsed.after, parsed.all)
