"""A comparison as it was asked: the JSON body checked."""

from collections.abc import Mapping
from dataclasses import dataclass

from codequarry.search_api.plan import make_plan
from codequarry.search_api.request import MAX_VALUE_CHARACTERS, SearchRequest, parse_request
from codequarry.shared.errors import UsageError

DIFF_FIELDS: tuple[str, ...] = ("from", "to", "all")
# What a search takes and a comparison has no meaning for.
NOT_COMPARED: tuple[str, ...] = ("cursor", "repos", "min_commit", "wait_ms", "explain", "rerank")


@dataclass(frozen=True, slots=True)
class DiffRequest:
    """A question to two versions, each a branch, a tag, a pull request or a commit; ``all`` shows what is the same."""

    search: SearchRequest
    before: str
    after: str
    all: bool = False


def parse_diff(body: object) -> DiffRequest:
    """Check a JSON body and return the request; errors as ``parse_request``."""
    if not isinstance(body, Mapping):
        raise UsageError("the body must be a JSON object")
    for name in NOT_COMPARED:
        if body.get(name) is not None:
            raise UsageError(f"the field '{name}' has no meaning in a comparison; leave it out")
    request = parse_request({name: value for name, value in body.items() if name not in DIFF_FIELDS})
    if make_plan(request).selection.version:
        raise UsageError("name the versions in 'from' and 'to', not in the filters or the query")
    show_all = body.get("all")
    if show_all is not None and not isinstance(show_all, bool):
        raise UsageError("'all' must be true or false")
    return DiffRequest(request, _version(body, "from"), _version(body, "to"), bool(show_all))


def _version(body: Mapping[str, object], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value.strip() or "\0" in value or len(value) > MAX_VALUE_CHARACTERS:
        raise UsageError(f"'{name}' must name a version: a branch, a tag, pull/12 or a commit")
    return value.encode("utf-8", "replace").decode("utf-8")
