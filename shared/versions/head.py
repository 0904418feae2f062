"""The head document, the only place that says what exists and what is visible. Only data types, no rules."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from codequarry.shared.model import PathGlobs

Place = tuple[int, int]
"""A state of a timeline: the timeline, and the number of one of its published transactions."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write to a timeline; ``number`` is the transaction, ``beat`` counts up while the holder is alive.

    ``base`` is the place that the transaction's overlay will lie on; from now on, the collector keeps it.
    """

    holder: str
    number: int
    beat: int = 0
    base: Place | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    """One line of history; ``published`` is the newest transaction that readers see, 0 before the first.

    ``ref`` is the key of its version (``refs.py``), empty for present and former default branches, which ``branch``
    names instead. ``floor`` is the oldest number that readers may ask for. ``pins`` are the bases of an overlay's
    retained transactions, empty for other timelines. A ``gone`` timeline has lost its version, and stays only until no
    overlay lies on it. ``repo_id`` is the id of its repository, even if another repository is called ``repo`` later;
    all timelines of a name have the same id.

    A timeline that no longer shows the newest state of its version, because the version was deleted, outgrew its layer
    or became the default branch, has the key in ``former`` instead of ``ref``. Its commits stay searchable.
    ``expiring_since`` (ISO 8601) is the time from which its newest commit ages; empty while that commit is current.
    """

    repo: str
    published: int = 0
    commit: str = ""
    lease: Lease | None = None
    ref: str = ""
    floor: int = 0
    pins: frozenset[Place] = frozenset()
    branch: str = ""
    gone: bool = False
    repo_id: str = ""
    former: str = ""
    expiring_since: str = ""

    @property
    def version(self) -> str:
        """The key of the version that the timeline shows or showed; empty for default branches."""
        return self.ref or self.former


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


@dataclass(frozen=True, slots=True)
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

    def of_repo(self, repo: str) -> Iterator[int]:
        """Yield the timelines of a repository."""
        return (key for key, state in self.timelines.items() if state.repo == repo)

    def id_of_repo(self, repo: str) -> str | None:
        """Return the id of the repository that has this name in the index, or None if it has no timeline."""
        return next((self.timelines[key].repo_id for key in self.of_repo(repo)), None)

    def default_branch(self, repo: str) -> str:
        """Return the name of the published default branch of a repository, or "" if there is none yet."""
        default = self.defaults.get(repo)
        return "" if default is None else self.timelines[default].branch

    def pinned(self, timeline: int) -> frozenset[int]:
        """Return the numbers of a timeline that overlays lie on, or will lie on once published."""
        places = {place for state in self.timelines.values() for place in _held_places(state)}
        return frozenset(number for owner, number in places if owner == timeline)

    def to_json(self) -> dict[str, Any]:
        """Return the document as it is stored."""
        body = {
            "counter": self.counter,
            "open": {str(number): timeline for number, timeline in self.open.items()},
            "aborted": sorted(self.aborted),
            "timelines": {str(key): _timeline_to_json(value) for key, value in self.timelines.items()},
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
            timelines={int(key): _timeline_from_json(value) for key, value in body["timelines"].items()},
            defaults=dict(body["defaults"]),
            move=Move(**body[MOVE]) if body.get(MOVE) else None,
        )


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
