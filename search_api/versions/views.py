"""Views: versions of repositories as a search sees them, at one moment of the index."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

from codequarry.shared.catalog.repositories import Repository, default_branch
from codequarry.shared.errors import UsageError
from codequarry.shared.model import Layer, PathGlobs, Snapshot
from codequarry.shared.versions.commit_log import log_globs, log_timeline
from codequarry.shared.versions.head import Head, Place
from codequarry.shared.versions.refs import Ref
from codequarry.shared.versions.transactions import TransactionRecord


@dataclass(frozen=True, slots=True)
class Point:
    """A published transaction in short: it added ``commit_count`` commits and, if it ``rewrote``, removed others.

    ``rules`` is the hash of the settings and lists that decided which of the commit's files are indexed.
    """

    number: int
    commit: str
    commit_count: int = 0
    name: str = ""  # the version's name at that time, "" if not known to differ from its name now
    rewrote: bool = False
    rules: str = ""


class History(Protocol):
    """Reads the transactions published so far."""

    def points(self, timeline: int) -> Sequence[Point]:
        """Return the transactions of a timeline that readers may request, oldest first."""
        ...

    def record(self, timeline: int, number: int) -> TransactionRecord | None:
        """Return the record of a published transaction."""
        ...


@dataclass(frozen=True, slots=True)
class View:
    """One version of a repository: a timeline after transaction ``number``, at ``commit``.

    ``key`` is the version that the timeline shows or showed, empty for current and former default branches. ``fixed``
    if the request named a commit, which later transactions don't change. An overlay has a ``base`` and its ``mask``.
    ``allowed`` limits the paths that the principal may see, in every layer; empty means all paths. ``log_mask`` is the
    mask of the base's log, or None if the base's commits are not this version's.
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
    log_mask: frozenset[str] | None = None

    @property
    def log(self) -> "View":
        """The view of the version's commits instead of its files; only a search's snapshot may be made of it."""
        globs = tuple(map(log_globs, self.allowed))
        log = replace(self, timeline=log_timeline(self.timeline), allowed=globs, base=None, mask=frozenset())
        if self.base is None or self.log_mask is None:
            return log
        timeline, number = self.base
        return replace(log, base=(log_timeline(timeline), number), mask=self.log_mask)

    @property
    def branch(self) -> str | None:
        """The name of the branch, or None if the version is not a branch."""
        return self.ref.value if self.ref.kind == "branch" else None

    def layers(self, hidden: frozenset[int]) -> tuple[Layer, ...]:
        """Return the layers of this version (rule 12)."""
        own = Layer((self.timeline,), self.number, hidden, allowed=self.allowed)
        return (own, *self.base_layers(hidden))

    def base_layers(self, hidden: frozenset[int]) -> tuple[Layer, ...]:
        """Return the layer of an overlay's base, or no layers for other views."""
        if self.base is None:
            return ()
        timeline, number = self.base
        return (Layer((timeline,), number, hidden, self.mask, self.allowed),)

    def snapshot(self, hidden: frozenset[int]) -> Snapshot:
        """Return the filter for this version only."""
        return Snapshot(self.layers(hidden))


@dataclass(frozen=True, slots=True)
class AsOf:
    """The index when ``at`` was the newest transaction number and the transactions ``open`` were running."""

    at: int
    open: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Moment:
    """A head document read as of ``at`` and ``open`` (see ``AsOf``): the current state, or a cursor's."""

    head: Head
    past: History
    at: int
    open: tuple[int, ...]

    @property
    def hidden(self) -> frozenset[int]:
        """The transactions that were open at that moment, or are aborted."""
        return self.head.aborted | frozenset(self.open)

    def sees(self, number: int) -> bool:
        """Return whether a transaction that is published now was already published at that moment."""
        return number <= self.at and number not in self.open

    def newest(self, timeline: int) -> Point | None:
        """Return a timeline's newest transaction, or None before its first; raise UsageError for an expired moment."""
        state = self.head.timelines[timeline]
        if state.floor and not self.sees(state.floor):
            raise UsageError(
                f"the cursor's state of {state.repo} is no longer kept (retention); omit the cursor to start again"
            )
        if not state.published or self.sees(state.published):
            return Point(state.published, state.commit) if state.published else None
        return next((point for point in reversed(self.past.points(timeline)) if self.sees(point.number)), None)

    def points(self, timeline: int) -> list[Point]:
        """Return the transactions of a timeline that were published at that moment, oldest first."""
        return [point for point in self.past.points(timeline) if self.sees(point.number)]


def view_of(moment: Moment, timeline: int, ref: Ref, point: Point, *, fixed: bool = False) -> View:
    """Return a timeline's view after a transaction, with its base if it is an overlay."""
    state = moment.head.timelines[timeline]
    if not state.version and point.name not in {"", ref.name}:
        ref = Ref("branch", point.name)  # the default branch may have had another name
    base, mask, log_mask = None, frozenset[str](), None
    # Only timelines of other branches can be overlays; their record names the base.
    if state.version and (record := moment.past.record(timeline, point.number)):
        base, mask = record.base, _as_set(record.mask)
        log_mask = _as_set(record.log_mask or ()) if record.log_base else None
    allowed = moment.head.allowed.get(state.repo, ())
    return View(
        state.repo, ref, timeline, point.number, point.commit, state.version, fixed, base, mask, allowed, log_mask
    )


@lru_cache(maxsize=1024)
def _as_set(mask: tuple[str, ...]) -> frozenset[str]:
    """Return a mask as a set, the same object for the same mask: a search of many branches has many long masks."""
    return frozenset(mask)


def branch_of(head: Head, catalog: Mapping[str, Repository], name: str) -> str:
    """Return the name of a repository's default branch; the catalog may no longer have the repository."""
    return default_branch(head, catalog[name]) if name in catalog else head.default_branch(name)


class DefaultViews(Mapping[str, tuple[View, ...]]):
    """The view of each repository's default branch, created on access, because only a few of thousands have hits."""

    def __init__(self, head: Head, catalog: Mapping[str, Repository], timelines: Mapping[str, int]) -> None:
        """Use the published default ``timelines``, by repository."""
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
