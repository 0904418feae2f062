"""The event of a delivery, in one form for all code hosts."""

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
    """The repository of a delivery: spellings of its origin, default branch and name in the index, as far as given."""

    origins: tuple[str, ...] = ()
    default_branch: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """A change of ``ref`` (None: default branch) or one of ``alternatives``; ``asked`` if no setting must name it."""

    name: str
    place: NamedRepository
    ref: Ref | None
    change: RefChange
    commit: str = ""
    asked: bool = False
    alternatives: tuple[Ref, ...] = ()


@dataclass(frozen=True, slots=True)
class IgnoredEvent:
    """A delivery that does not concern the index, with the reason."""

    name: str
    reason: str


Parsed = Event | IgnoredEvent
Payload = Mapping[str, object]


def table(body: Payload, name: str) -> Payload:
    """Return a JSON object in a body, empty if it is missing or not an object."""
    value = body.get(name)
    return value if isinstance(value, Mapping) else {}


def text(body: Payload, *names: str) -> str:
    """Return a string in nested objects of a body, "" if it is missing, not a string or too long."""
    for name in names[:-1]:
        body = table(body, name)
    value = body.get(names[-1])
    return value if isinstance(value, str) and len(value) <= MAX_TEXT_CHARACTERS and "\0" not in value else ""


def required(body: Payload, *names: str) -> str:
    """Return a string in nested objects of a body; UsageError if it is missing."""
    value = text(body, *names)
    if not value:
        raise UsageError(f"the field '{'.'.join(names)}' of the delivery is missing or not valid")
    return value


def texts(body: Payload, *names: str) -> tuple[str, ...]:
    """Return the fields of a body that are non-empty strings."""
    return tuple(value for name in names if (value := text(body, name)))


def full_ref(name: str) -> Ref | None:
    """Return the branch or tag of a full ref, None for other refs; UsageError if the name is not valid."""
    if not name.startswith((HEADS, TAGS)):
        return None
    ref = Ref.of_key(name)
    check_ref(ref)
    return ref


def named_ref(kind: str, name: str) -> Ref | None:
    """Return a branch or tag by its short name, None for another kind."""
    if kind not in ("branch", "tag"):
        return None
    ref = Ref("branch" if kind == "branch" else "tag", name.removeprefix(HEADS).removeprefix(TAGS))
    check_ref(ref)
    return ref


def pull_ref(number: object) -> Ref:
    """Return a pull request by its number; UsageError if that is not a positive integer."""
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise UsageError("the delivery has no valid pull request number")
    ref = Ref("pull", str(number))
    check_ref(ref)
    return ref


def pushed(name: str, place: NamedRepository, full_name: str, after: str) -> Parsed:
    """Return the event of a push: the full name of a ref, and its newest commit, or zeros if it was deleted."""
    ref = full_ref(full_name)
    if ref is None:
        return IgnoredEvent(name, "it concerns neither a branch nor a tag")
    return Event(name, place, ref, "deleted" if is_null_commit(after) else "moved", commit_of(after))


def commit_of(value: str) -> str:
    """Return a full commit in lower case, "" for anything else: it is only a hint, the origin decides."""
    digits = value.lower()
    return digits if len(digits) in (40, 64) and not digits.strip("0123456789abcdef") else ""
