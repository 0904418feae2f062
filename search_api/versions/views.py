"""One version of one repository as a search sees it, and the moment of the index at which it does."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from codequarry.shared.catalog.repositories import Repository, default_branch
from codequarry.shared.errors import UsageError
from codequarry.shared.model import Layer, PathGlobs, Snapshot
from codequarry.shared.versions.head import Head, Place
from codequarry.shared.versions.refs import Ref
from codequarry.shared.versions.transactions import TransactionRecord


@dataclass(frozen=True, slots=True)
class Point:
    """A published transaction in short; ``commit_count`` commits came with it, others were lost where it ``rewrote``.

    ``name`` is what its version was called then, "" where that is not known to differ from now.
    """

    number: int
    commit: str
    commit_count: int = 0
    name: str = ""
    rewrote: bool = False


class Past(Protocol):
    """What was published before now."""

    def points(self, timeline: int) -> Sequence[Point]:
        """Return the transactions of a timeline that readers may ask for, oldest first."""
        ...

    def record(self, timeline: int, number: int) -> TransactionRecord | None:
        """Return the record of a published transaction."""
        ...


@dataclass(frozen=True, slots=True)
class View:
    """One version of a repository: a timeline after transaction ``number``, which is ``commit``.

    ``key`` is the timeline's version in the head document, empty for the default branch and what was that once.
    ``fixed`` where a commit was asked for, which no later transaction changes. An overlay has a base and its ``mask``.
    ``allowed`` are the paths that the reader may see of it, all where there are none; it is in every layer.
    """

    repo: str
    ref: Ref
    timeline: int
    number: int
    commit: str
    key: str = ""
    fixed: bool = False
    base: Place | None = None
    mask: frozenset[str] = frozenset()
    allowed: tuple[PathGlobs, ...] = ()

    @property
    def branch(self) -> str | None:
        """The name of the branch, where the version is one."""
        return self.ref.value if self.ref.kind == "branch" else None

    def layers(self, hidden: frozenset[int]) -> tuple[Layer, ...]:
        """Return what a reader sees of this version alone (rule 12)."""
        own = Layer((self.timeline,), self.number, hidden, allowed=self.allowed)
        return (own, *self.base_layers(hidden))

    def base_layers(self, hidden: frozenset[int]) -> tuple[Layer, ...]:
        """Return the layer that an overlay lies on, if it is one."""
        if self.base is None:
            return ()
        timeline, number = self.base
        return (Layer((timeline,), number, hidden, self.mask, self.allowed),)

    def snapshot(self, hidden: frozenset[int]) -> Snapshot:
        """Return this version alone as a filter."""
        return Snapshot(self.layers(hidden))


@dataclass(frozen=True, slots=True)
class AsOf:
    """The state of the index when number ``at`` was the newest and the transactions ``open`` were running."""

    at: int
    open: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Moment:
    """The index when number ``at`` was the newest and ``open`` were under way: now, or as a cursor remembers it."""

    head: Head
    past: Past
    at: int
    open: tuple[int, ...]

    @property
    def hidden(self) -> frozenset[int]:
        """The numbers that nobody saw then or sees now."""
        return self.head.aborted | frozenset(self.open)

    def sees(self, number: int) -> bool:
        """Tell whether a transaction that is published now was so then."""
        return number <= self.at and number not in self.open

    def newest(self, timeline: int) -> Point | None:
        """Return what a timeline stood at, None before its first publication; UsageError where that is given up."""
        state = self.head.timelines[timeline]
        if state.floor and not self.sees(state.floor):
            raise UsageError(
                f"what the cursor saw of {state.repo} is no longer kept (retention); leave it out to begin anew"
            )
        if not state.published or self.sees(state.published):
            return Point(state.published, state.commit) if state.published else None
        return next((point for point in reversed(self.past.points(timeline)) if self.sees(point.number)), None)

    def points(self, timeline: int) -> list[Point]:
        """Return what could be asked of a timeline then, oldest first."""
        return [point for point in self.past.points(timeline) if self.sees(point.number)]


def view_of(moment: Moment, timeline: int, ref: Ref, point: Point, *, fixed: bool = False) -> View:
    """Return a timeline's version after a transaction, with its base where it is an overlay."""
    state = moment.head.timelines[timeline]
    if not state.ref and point.name not in {"", ref.name}:
        ref = Ref("branch", point.name)  # the default branch may have had another name
    base, mask = None, frozenset[str]()
    # The timelines of default branches are whole; only others may lie on a base, which their record names.
    if state.ref and (record := moment.past.record(timeline, point.number)):
        base, mask = record.base, frozenset(record.mask)
    allowed = moment.head.allowed.get(state.repo, ())
    return View(state.repo, ref, timeline, point.number, point.commit, state.ref, fixed, base, mask, allowed)


def branch_of(head: Head, catalog: Mapping[str, Repository], name: str) -> str:
    """Return what the default branch of a repository is called, which the catalog may not have any more."""
    return default_branch(head, catalog[name]) if name in catalog else head.default_branch(name)


class DefaultViews(Mapping[str, tuple[View, ...]]):
    """The view of each repository at its default branch, as of ``head``, made when it is asked for.

    A search over a thousand repositories shows hits of a few.
    """

    def __init__(self, head: Head, catalog: Mapping[str, Repository], timelines: Mapping[str, int]) -> None:
        """Take the published default ``timelines`` by repository."""
        self._head = head
        self._catalog = catalog
        self._timelines = timelines

    def __getitem__(self, name: str) -> tuple[View, ...]:
        timeline = self._timelines[name]
        state = self._head.timelines[timeline]
        branch = Ref("branch", branch_of(self._head, self._catalog, name))
        allowed = self._head.allowed.get(name, ())
        return (View(name, branch, timeline, state.published, state.commit, allowed=allowed),)

    def __iter__(self) -> Iterator[str]:
        return iter(self._timelines)

    def __len__(self) -> int:
        return len(self._timelines)
