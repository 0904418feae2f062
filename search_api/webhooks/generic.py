"""Deliveries of any CI system: ``{"repo" or "originUri", "ref", "commit"}``."""

from codequarry.search_api.webhooks.events import Body, Change, Event, Parsed, Place, commit_of, text
from codequarry.shared.errors import UnknownName, UsageError
from codequarry.shared.versions.refs import NAMED_KINDS, Ref, check_ref, is_null_commit

GENERIC_FIELDS: tuple[str, ...] = ("repo", "originUri", "ref", "commit")
EVENT = "generic"
PULL = "pull/"


def read_generic(body: Body) -> Parsed:
    """Read a delivery; UnknownName and UsageError say what is wrong with it."""
    for name in body:
        if name not in GENERIC_FIELDS:
            raise UnknownName("field", str(name), GENERIC_FIELDS)
    for name in GENERIC_FIELDS:
        if body.get(name) is not None and not text(body, name):
            raise UsageError(f"'{name}' must be a text")
    repo, origin, commit = text(body, "repo"), text(body, "originUri"), text(body, "commit")
    if bool(repo) == bool(origin):
        raise UsageError("give 'repo', the name in the index, or 'originUri', where it comes from")
    if commit and not commit_of(commit):
        raise UsageError("'commit' must be a whole commit: 40 or 64 hexadecimal digits")
    place = Place((origin,) if origin else (), name=repo)
    change: Change = "deleted" if is_null_commit(commit) else "moved"
    refs = _refs(text(body, "ref"))
    first = refs[0] if refs else None
    return Event(EVENT, place, first, change, commit_of(commit), asked=True, alternatives=refs[1:])


def _refs(name: str) -> tuple[Ref, ...]:
    """Return what a name may mean, likeliest first."""
    if not name:
        return ()
    refs = _in_full(name) or (Ref("branch", name), Ref("tag", name))
    for ref in refs:
        if ref.kind not in NAMED_KINDS:
            raise UsageError("'ref' is a branch, a tag or pull/12")
        check_ref(ref)
    return refs


def _in_full(name: str) -> tuple[Ref, ...]:
    if name.startswith(PULL):
        return (Ref("pull", name.removeprefix(PULL)),)
    try:
        return (Ref.of_key(name),)
    except ValueError:
        return ()
