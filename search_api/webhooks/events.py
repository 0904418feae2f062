"""The event of a delivery, in the same form for all code hosts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from codequarry.shared.errors import UsageError
from codequarry.shared.versions.refs import Ref, check_ref, is_null_commit

RefChange = Literal["moved", "deleted", "closed"]
HEADS, TAGS = "refs/heads/", "refs/tags/"
MAX_TEXT_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class NamedRepository:
    """A delivery's repository: the spellings of its origin, its default branch and its name in the index, if given."""

    origins: tuple[str, ...] = ()
    default_branch: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """A change to ``ref`` (None: default branch) or one of ``alternatives``; ``asked`` if no setting need name it.

    ``target`` is the branch that a pull request is to be merged into, or "" if the delivery does not say.
    """

    name: str
    place: NamedRepository
    ref: Ref | None
    change: RefChange
    commit: str = ""
    asked: bool = False
    alternatives: tuple[Ref, ...] = ()
    target: str = ""


@dataclass(frozen=True, slots=True)
class IgnoredEvent:
    """A delivery that does not concern the index, with the reason."""

    name: str
    reason: str


Parsed = Event | IgnoredEvent
Payload = Mapping[str, object]


def table(body: Payload, name: str) -> Payload:
    """Return a JSON object in a body, or an empty object if it is missing or not an object."""
    value = body.get(name)
    return value if isinstance(value, Mapping) else {}


def text(body: Payload, *names: str) -> str:
    """Return the string at a path of names in a body, or "" if it is missing, not a string or too long."""
    for name in names[:-1]:
        body = table(body, name)
    value = body.get(names[-1])
    return value if isinstance(value, str) and len(value) <= MAX_TEXT_CHARACTERS and "\0" not in value else ""


def required(body: Payload, *names: str) -> str:
    """Return the string at a path of names in a body; raise UsageError if it is missing."""
    value = text(body, *names)
    if not value:
        raise UsageError(f"the field '{'.'.join(names)}' of the delivery is missing or not valid")
    return value


def texts(body: Payload, *names: str) -> tuple[str, ...]:
    """Return the named fields of a body that are non-empty strings."""
    return tuple(value for name in names if (value := text(body, name)))


def full_ref(name: str) -> Ref | None:
    """Return the branch or tag of a full ref, or None for other refs; raise UsageError if the name is not valid."""
    if not name.startswith((HEADS, TAGS)):
        return None
    ref = Ref.of_key(name)
    check_ref(ref)
    return ref


def named_ref(kind: str, name: str) -> Ref | None:
    """Return a branch or tag by its short name, or None for another kind."""
    if kind not in ("branch", "tag"):
        return None
    ref = Ref("branch" if kind == "branch" else "tag", name.removeprefix(HEADS).removeprefix(TAGS))
    check_ref(ref)
    return ref


def pull_ref(number: object) -> Ref:
    """Return a pull request by its number; raise UsageError if the number is not a positive integer."""
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise UsageError("the delivery has no valid pull request number")
    ref = Ref("pull", str(number))
    check_ref(ref)
    return ref


def branch_name(value: str) -> str:
    """Return the name of a branch, or "" for anything that can't be one."""
    try:
        check_ref(Ref("branch", value))
    except UsageError:
        return ""
    return value


def pushed(name: str, place: NamedRepository, full_name: str, after: str) -> Parsed:
    """Return the event of a push to ``full_name``; ``after`` is the ref's newest commit, or zeros if it was deleted."""
    ref = full_ref(full_name)
    if ref is None:
        return IgnoredEvent(name, "it concerns neither a branch nor a tag")
    return Event(name, place, ref, "deleted" if is_null_commit(after) else "moved", commit_of(after))


def commit_of(value: str) -> str:
    """Return a full commit in lower case, or "" for anything else; it is only a hint, since the origin decides."""
    digits = value.lower()
    return digits if len(digits) in (40, 64) and not digits.strip("0123456789abcdef") else ""
