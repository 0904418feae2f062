"""A comparison request, parsed from its JSON body."""

import re
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
from codequarry.search_api.query.request_body import PullNumber, RequestBody, ShortText, WholeNumber
from codequarry.shared.errors import UsageError

# Search fields that have no meaning in a comparison.
NOT_COMPARED: tuple[str, ...] = ("cursor", "repos", "min_commit", "explain", "rerank")
_DOTS = re.compile(r"(?<!\.)(\.{2,3})(?!\.)")
# What a range is split into after its first version.
DOTS_AND_AFTER = 2
MERGE_BASE_DOTS = 3


@dataclass(frozen=True, slots=True)
class DiffRequest:
    """A query over two versions, each named like a ``ref``; "" is the default branch. ``all`` includes unchanged hits.

    ``merge_base`` compares with the commit at which ``after`` branched off from ``before``, instead of ``before``
    itself. ``pull`` is the number of a pull request, which names both versions instead: its target and its head.
    """

    search: SearchRequest
    before: str = ""
    after: str = ""
    merge_base: bool = False
    pull: str = ""
    all: bool = False


def _checked_version(name: str) -> str:
    if not name.strip():
        raise UsageError("'from' and 'to' must each name a version: a branch, a tag, pull/12 or a commit")
    return name


VersionText = Annotated[ShortText, AfterValidator(_checked_version)]


class DiffBody(RequestBody):
    """The body of `POST /diff-search`: it has `from` and `to`, or `range`, or `pull`."""

    examples: ClassVar[Sequence[Mapping[str, Any]]] = [
        {"query": "retry policy", "from": "v1.0", "to": "v2.0", "filters": {"repo": "core"}},
        {"query": "retry policy", "range": "main...feature", "filters": {"repo": "core"}},
        {"query": "retry policy", "pull": 12, "filters": {"repo": "core"}},
    ]

    query: Query
    before: VersionText | None = Field(
        None, alias="from", description="a branch, a tag, pull/12, workspace:/path or a commit"
    )
    after: VersionText | None = Field(None, alias="to", description="the version to compare 'from' with")
    merge_base: bool = Field(False, description="compare 'to' with its merge base with 'from', as git's three dots do")
    range: ShortText | None = Field(
        None,
        description="instead of from and to, as in git: A..B compares A with B, A...B compares the merge base of A and "
        "B with B; a name that is left out is the default branch",
    )
    pull: PullNumber | None = Field(
        None,
        description="instead of from and to: a pull request, compared with its merge base with its target branch",
    )
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
    selection = make_plan(request).selection
    if selection.version:
        raise UsageError("name the versions in 'from' and 'to', not in the filters or the query")
    if selection.documents:
        raise UsageError("a comparison covers code; search commits with POST /search-code")
    before, after, merge_base = _versions(parsed)
    return DiffRequest(request, before, after, merge_base, str(parsed.pull or ""), parsed.all)


def _versions(body: DiffBody) -> tuple[str, str, bool]:
    """Return the two versions, and whether the merge base is meant; a pull request has neither yet."""
    ways = (body.before is not None or body.after is not None, body.range is not None, body.pull is not None)
    if sum(ways) > 1:
        raise UsageError("name the versions in one way: in 'from' and 'to', in 'range', or in 'pull'")
    if body.merge_base and not ways[0]:
        raise UsageError("'merge_base' belongs to 'from' and 'to'; a 'range' with three dots and 'pull' imply it")
    if body.range is not None:
        return read_range(body.range)
    if body.pull is not None:
        return "", "", True
    for name, value in (("from", body.before), ("to", body.after)):
        if value is None:
            raise UsageError(f"'{name}' is missing; name two versions in 'from' and 'to', or in 'range', or a 'pull'")
    return body.before or "", body.after or "", body.merge_base


def read_range(text: str) -> tuple[str, str, bool]:
    """Return the two versions of ``A..B`` or ``A...B``, and whether the merge base is meant; "" is the default branch.

    Raise UsageError for anything else. Names of branches and tags hold no two dots, but folders of working trees may.
    """
    before, *dots_and_after = _DOTS.split(text.strip())
    if len(dots_and_after) != DOTS_AND_AFTER or not (before or dots_and_after[1]):
        raise UsageError(
            f"'{text}' is not a range: write A..B to compare A with B, or A...B to compare the merge base of A and B "
            "with B; a folder with two dots in its name needs 'from' and 'to'"
        )
    dots, after = dots_and_after
    return before, after, len(dots) == MERGE_BASE_DOTS
