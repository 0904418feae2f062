"""Deliveries from any CI system: ``{"repo" or "originUri", "ref", "commit"}``."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field
from werkzeug.datastructures import Headers

from codequarry.search_api.query.request_body import Line, RequestBody
from codequarry.search_api.webhooks.events import Event, NamedRepository, Parsed, Payload, RefChange, commit_of
from codequarry.search_api.webhooks.provider import SignedDelivery, WebhookProvider
from codequarry.search_api.webhooks.signatures import HUB_PREFIX, check_hex, check_time
from codequarry.shared.errors import Unauthorized, UsageError
from codequarry.shared.versions.refs import NAMED_KINDS, Ref, check_ref, is_null_commit

EVENT = "generic"
PULL = "pull/"


def check_generic(delivery: SignedDelivery) -> int:
    """Check ``X-Codequarry-Signature``: the hexadecimal HMAC-SHA256 of ``ID.TIMESTAMP.BODY``."""
    headers = delivery.headers
    given = headers.get("X-Codequarry-Signature", "").removeprefix(HUB_PREFIX)
    identifier, timestamp = headers.get("X-Codequarry-Delivery", ""), headers.get("X-Codequarry-Timestamp", "")
    if not (given and identifier and timestamp):
        raise Unauthorized(
            "the headers X-Codequarry-Signature, X-Codequarry-Delivery and X-Codequarry-Timestamp are required"
        )
    signed = b".".join((identifier.encode(), timestamp.encode(), delivery.body))
    secret = check_hex(given, signed, delivery.secrets)
    check_time(timestamp, delivery.now, delivery.tolerance)
    return secret


def _checked_commit(commit: str) -> str:
    if not commit_of(commit):
        raise UsageError("'commit' must be a full commit: 40 or 64 hexadecimal digits")
    return commit_of(commit)


class GenericDelivery(RequestBody):
    """The body of `POST /webhooks/generic`; docs/webhooks.md describes its signature."""

    examples: ClassVar[Sequence[Mapping[str, Any]]] = [
        {"repo": "core", "ref": "main", "commit": "1f2e3d4c5b6a79881f2e3d4c5b6a79881f2e3d4c"}
    ]

    repo: Line = Field("", description="the repository's name in the index, if originUri is not given")
    originUri: Line = Field("", description="the repository's URL; scheme, user, case and .git are ignored")
    ref: Line = Field("", description="a branch, a tag or pull/12; the default branch if not given")
    commit: Annotated[Line, AfterValidator(_checked_commit)] = Field(
        "",
        description="the newest commit in full, if known; all zeros if the ref was deleted",
        json_schema_extra={"pattern": r"^([0-9a-fA-F]{40}|[0-9a-fA-F]{64})$"},
    )


def read_generic(_: Headers, body: Payload) -> Parsed:
    """Return the event of a delivery; raise UnknownName or UsageError if it is invalid."""
    given = GenericDelivery.read(body)
    if bool(given.repo) == bool(given.originUri):
        raise UsageError("give either 'repo' (the name in the index) or 'originUri' (the repository's URL)")
    place = NamedRepository((given.originUri,) if given.originUri else (), name=given.repo)
    change: RefChange = "deleted" if is_null_commit(given.commit) else "moved"
    refs = _refs(given.ref)
    first = refs[0] if refs else None
    return Event(EVENT, place, first, change, given.commit, asked=True, alternatives=refs[1:])


def _refs(name: str) -> tuple[Ref, ...]:
    """Return the refs that a name may mean, likeliest first."""
    if not name:
        return ()
    refs = _in_full(name) or (Ref("branch", name), Ref("tag", name))
    for ref in refs:
        if ref.kind not in NAMED_KINDS:
            raise UsageError("'ref' must be a branch, a tag or a pull request such as pull/12")
        check_ref(ref)
    return refs


def _in_full(name: str) -> tuple[Ref, ...]:
    if name.startswith(PULL):
        return (Ref("pull", name.removeprefix(PULL)),)
    try:
        return (Ref.of_key(name),)
    except ValueError:
        return ()


GENERIC = WebhookProvider(
    "generic", "any CI system", ("X-Codequarry-Delivery",), check_generic, lambda _: True, read_generic
)
