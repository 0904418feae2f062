"""The head document, the only place that says what exists and what is visible. Only data types, no rules."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from codequarry.shared.model import PathGlobs
from codequarry.shared.versions.former_lines import is_line, of_lines, to_line
from codequarry.shared.versions.timeline import Lease, Place, Timeline

__all__ = ["Head", "Lease", "Move", "Place", "Timeline"]

# The head document's key in the catalog.
HEAD_KEY = "head"
# The key of the move in the document's body, for readers that need only the move.
MOVE = "move"


@dataclass(frozen=True, slots=True)
class Move:
    """A switch to another edition, made with ``model``; about to happen, or ``done`` at ``at`` (ISO 8601, UTC).

    Until it is done, only ``holder`` changes the head document, and ``beat`` counts up while the holder is alive.
    """

    holder: str
    edition: int
    model: str
    beat: int = 0
    done: bool = False
    at: str = ""


# Not slotted, because what is derived from the timelines is cached.
@dataclass(frozen=True)
class Head:
    """The newest number, the numbers that no reader sees, every timeline, and each repository's default timeline.

    ``move`` is set at the end of a migration to another model, and remains in the old edition. ``allowed`` is never
    stored: in a reader's view of the head document (``access.permitted_head``), it maps each repository of which the
    reader sees only some paths to these paths, as in ``Layer.allowed``.
    """

    counter: int = 0
    open: Mapping[int, int] = field(default_factory=dict)
    aborted: frozenset[int] = frozenset()
    timelines: Mapping[int, Timeline] = field(default_factory=dict)
    defaults: Mapping[str, int] = field(default_factory=dict)
    move: Move | None = None
    allowed: Mapping[str, tuple[PathGlobs, ...]] = field(default_factory=dict)

    @property
    def hidden(self) -> frozenset[int]:
        """The numbers that no reader sees: open or aborted."""
        return self.aborted | frozenset(self.open)

    @cached_property
    def by_repo(self) -> Mapping[str, Sequence[int]]:
        """The timelines of each repository."""
        found: dict[str, list[int]] = {}
        for key, state in self.timelines.items():
            found.setdefault(state.repo, []).append(key)
        return found

    def of_repo(self, repo: str) -> Iterator[int]:
        """Yield the timelines of a repository."""
        return iter(self.by_repo.get(repo, ()))

    def id_of_repo(self, repo: str) -> str | None:
        """Return the id of the repository that has this name in the index, or None if it has no timeline."""
        return next((self.timelines[key].repo_id for key in self.of_repo(repo)), None)

    def default_branch(self, repo: str) -> str:
        """Return the name of the published default branch of a repository, or "" if there is none yet."""
        default = self.defaults.get(repo)
        return "" if default is None else self.timelines[default].branch

    @cached_property
    def _pinned(self) -> Mapping[int, frozenset[int]]:
        return pinned_numbers(self.timelines.values())

    def pinned(self, timeline: int) -> frozenset[int]:
        """Return the numbers of a timeline that overlays lie on, or will lie on once published."""
        return self._pinned.get(timeline, frozenset())

    def to_json(self) -> dict[str, Any]:
        """Return the document as it is stored."""
        body = {
            "counter": self.counter,
            "open": {str(number): timeline for number, timeline in self.open.items()},
            "aborted": sorted(self.aborted),
            "timelines": {
                str(key): _timeline_to_json(value) for key, value in self.timelines.items() if not is_line(value)
            },
            "former": _former_to_json(self.timelines),
            "defaults": dict(self.defaults),
        }
        return body | ({MOVE: asdict(self.move)} if self.move else {})

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Head":
        """Read a stored document, including documents from before overlays existed."""
        return cls(
            counter=body["counter"],
            open={int(number): timeline for number, timeline in body["open"].items()},
            aborted=frozenset(body["aborted"]),
            timelines=_timelines_from_json(body),
            defaults=dict(body["defaults"]),
            move=Move(**body[MOVE]) if body.get(MOVE) else None,
        )


def pinned_numbers(states: Iterable[Timeline]) -> Mapping[int, frozenset[int]]:
    """Return, by timeline, the numbers that overlays lie on, or will lie on once published."""
    found: dict[int, set[int]] = {}
    for state in states:
        for owner, number in _held_places(state):
            found.setdefault(owner, set()).add(number)
    return {owner: frozenset(numbers) for owner, numbers in found.items()}


def _former_to_json(timelines: Mapping[int, Timeline]) -> list[list[str]]:
    """Return the name and id of each repository with former timelines, and their lines."""
    lines: dict[tuple[str, str], list[str]] = {}
    for key, state in timelines.items():
        if is_line(state):
            lines.setdefault((state.repo, state.repo_id), []).append(to_line(key, state))
    return [[repo, repo_id, "\n".join(found)] for (repo, repo_id), found in lines.items()]


def _timelines_from_json(body: Mapping[str, Any]) -> dict[int, Timeline]:
    timelines = {int(key): _timeline_from_json(value) for key, value in body["timelines"].items()}
    for repo, repo_id, lines in body.get("former", ()):
        timelines |= of_lines(repo, repo_id, lines)
    return timelines


def _held_places(state: Timeline) -> frozenset[Place]:
    drafted = {state.lease.base} if state.lease and state.lease.base else set()
    return state.pins | drafted


def _timeline_to_json(timeline: Timeline) -> dict[str, Any]:
    """Return a timeline's body without default values, to keep the document small: every search reads it."""
    body: dict[str, Any] = {"repo": timeline.repo, "published": timeline.published, "commit": timeline.commit}
    if timeline.lease:
        body["lease"] = _lease_to_json(timeline.lease)
    if timeline.ref:
        body["ref"] = timeline.ref
    if timeline.floor:
        body["floor"] = timeline.floor
    if timeline.pins:
        body["pins"] = sorted(map(list, timeline.pins))
    if timeline.branch:
        body["branch"] = timeline.branch
    if timeline.gone:
        body["gone"] = True
    if timeline.repo_id:
        body["repo_id"] = timeline.repo_id
    if timeline.former:
        body["former"] = timeline.former
    if timeline.expiring_since:
        body["expiring_since"] = timeline.expiring_since
    return body


def _lease_to_json(lease: Lease) -> dict[str, Any]:
    base = {"base": list(lease.base)} if lease.base else {}
    return {"holder": lease.holder, "number": lease.number, "beat": lease.beat, **base}


def _timeline_from_json(body: Mapping[str, Any]) -> Timeline:
    lease = body.get("lease")
    return Timeline(
        repo=body["repo"],
        published=body["published"],
        commit=body["commit"],
        lease=Lease(**{**lease, "base": _place(lease.get("base"))}) if lease else None,
        ref=body.get("ref", ""),
        floor=body.get("floor", 0),
        pins=frozenset(place for pin in body.get("pins", ()) if (place := _place(pin))),
        branch=body.get("branch", ""),
        gone=body.get("gone", False),
        repo_id=body.get("repo_id", ""),
        former=body.get("former", ""),
        expiring_since=body.get("expiring_since", ""),
    )


def _place(pair: Sequence[int] | None) -> Place | None:
    return (int(pair[0]), int(pair[1])) if pair else None
