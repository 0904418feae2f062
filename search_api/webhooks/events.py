"""What a delivery says, whichever code host sent it."""

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
    """The repository that a delivery is about: every spelling of its origin, and its default branch, if it says so.

    ``name`` is what the index calls it, where the sender knows that.
    """

    origins: tuple[str, ...] = ()
    default_branch: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """A version that changed; ``ref`` None is the default branch, and may be one of the ``alternatives`` instead.

    ``asked`` where the sender wants it indexed, whatever the settings name.
    """

    name: str
    place: NamedRepository
    ref: Ref | None
    change: RefChange
    commit: str = ""
    asked: bool = False
    alternatives: tuple[Ref, ...] = ()


@dataclass(frozen=True, slots=True)
class IgnoredEvent:
    """A delivery that says nothing about the index, and why."""

    name: str
    reason: str


Parsed = Event | IgnoredEvent
Payload = Mapping[str, object]


def table(body: Payload, name: str) -> Payload:
    """Return a JSON object in a body, an empty one where it is missing or something else."""
    value = body.get(name)
    return value if isinstance(value, Mapping) else {}


def text(body: Payload, *names: str) -> str:
    """Return a text in nested objects of a body, "" where it is missing, null or something else."""
    for name in names[:-1]:
        body = table(body, name)
    value = body.get(names[-1])
    return value if isinstance(value, str) and len(value) <= MAX_TEXT_CHARACTERS and "\0" not in value else ""


def required(body: Payload, *names: str) -> str:
    """Return a text in nested objects of a body; UsageError names it where it is missing."""
    value = text(body, *names)
    if not value:
        raise UsageError(f"the delivery has no text '{'.'.join(names)}'")
    return value


def texts(body: Payload, *names: str) -> tuple[str, ...]:
    """Return those of some fields of a body that are texts."""
    return tuple(value for name in names if (value := text(body, name)))


def full_ref(name: str) -> Ref | None:
    """Return the branch or tag of a full ref, None for anything else; UsageError where it can't be a name."""
    if not name.startswith((HEADS, TAGS)):
        return None
    ref = Ref.of_key(name)
    check_ref(ref)
    return ref


def named_ref(kind: str, name: str) -> Ref | None:
    """Return a branch or tag by its bare name, None for anything else."""
    if kind not in ("branch", "tag"):
        return None
    ref = Ref("branch" if kind == "branch" else "tag", name.removeprefix(HEADS).removeprefix(TAGS))
    check_ref(ref)
    return ref


def pull_ref(number: object) -> Ref:
    """Return a pull request by its number."""
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise UsageError("the delivery has no number of a pull request")
    ref = Ref("pull", str(number))
    check_ref(ref)
    return ref


def pushed(name: str, place: NamedRepository, full_name: str, after: str) -> Parsed:
    """Read a push: the full name of a ref, and its newest commit, or zeros where it was deleted."""
    ref = full_ref(full_name)
    if ref is None:
        return IgnoredEvent(name, "it is about no branch and no tag")
    return Event(name, place, ref, "deleted" if is_null_commit(after) else "moved", commit_of(after))


def commit_of(value: str) -> str:
    """Return a commit in full, "" for anything else: it is a hint, the origin says what there is."""
    digits = value.lower()
    return digits if len(digits) in (40, 64) and not digits.strip("0123456789abcdef") else ""
