"""Follows the declarations of a symbol through the states of a version: what appeared, changed, moved, vanished. Pure.

A state maps each path to the version of the file there. Two states may hold another version of a file in which a
declaration has the same text: for that declaration, nothing happened.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from codequarry.search_api.search.history.declared_texts import DeclaredText

EventKind = Literal["present", "appeared", "changed", "moved", "vanished"]
EVENTS: tuple[EventKind, ...] = ("present", "appeared", "changed", "moved", "vanished")

# The least share of common lines of a declaration that moved; git's limit for a renamed file.
MIN_SIMILARITY = 0.5
# More pairs of vanished and new declarations in one transaction are compared by equal text only.
MAX_COMPARED_PAIRS = 20_000


@dataclass(frozen=True, slots=True)
class DeclaringFile:
    """A version of a file in one timeline, live from ``born`` until ``died``, with the declarations in it."""

    path: str
    timeline: int
    born: int
    died: int
    texts: tuple[DeclaredText, ...]


State = Mapping[str, DeclaringFile]
"""The files of a version that declare the symbol, by path."""


@dataclass(frozen=True, slots=True)
class LineageEvent:
    """What happened to a declaration between ``state`` and the state before it, by their positions."""

    kind: EventKind
    state: int
    before: DeclaredText | None
    after: DeclaredText | None


@dataclass(slots=True, eq=False)
class Lineage:
    """A declaration through time, wherever it moved: its events, oldest first, and its ``text`` in the last state."""

    events: list[LineageEvent] = field(default_factory=list)
    text: DeclaredText | None = None

    @property
    def last(self) -> DeclaredText:
        """The newest text of the declaration, even if it has vanished."""
        text = self.text or self.events[-1].before
        assert text is not None, "a declaration has at least one text"
        return text

    def happen(self, kind: EventKind, state: int, after: DeclaredText | None) -> None:
        """Add an event that leads to the text ``after``."""
        self.events.append(LineageEvent(kind, state, None if kind == "appeared" else self.text, after))
        self.text = after


def follow(states: Sequence[State]) -> list[Lineage]:
    """Return the declarations in any of the states of a version, which are given oldest first."""
    if not states:
        return []
    follower = _Follower()
    for path in sorted(states[0]):
        for text in states[0][path].texts:
            follower.begin("present", 0, text)
    for place, (old, new) in enumerate(pairwise(states), 1):
        follower.advance(place, old, new)
    return follower.lineages


class _Follower:
    """The declarations that are known so far, and those that are alive at each path."""

    def __init__(self) -> None:
        self.lineages: list[Lineage] = []
        self._alive: dict[str, list[Lineage]] = {}

    def begin(self, kind: EventKind, state: int, text: DeclaredText) -> None:
        """Add a declaration, or an earlier one that is back at its old place."""
        lineage = next((known for known in reversed(self.lineages) if _is_back(known, text)), None)
        if lineage is None:
            lineage = Lineage()
            self.lineages.append(lineage)
        lineage.happen(kind, state, text)
        self._alive.setdefault(text.chunk.path, []).append(lineage)

    def advance(self, state: int, old: State, new: State) -> None:
        """Follow every declaration from one state to the next."""
        gone: list[Lineage] = []
        fresh: list[DeclaredText] = []
        for path in sorted(old.keys() | new.keys()):
            if old.get(path) is new.get(path):
                continue
            known = self._alive.pop(path, [])
            texts = list(new[path].texts) if path in new else []
            kept, lost, added = _matched(known, texts)
            for lineage, text in kept:
                if _differ(lineage.last, text):
                    lineage.happen("changed", state, text)
                lineage.text = text
                self._alive.setdefault(path, []).append(lineage)
            gone += lost
            fresh += added
        for lineage, text in _moves(gone, fresh):
            gone.remove(lineage)
            fresh.remove(text)
            lineage.happen("moved", state, text)
            self._alive.setdefault(text.chunk.path, []).append(lineage)
        for lineage in gone:
            lineage.happen("vanished", state, None)
        for text in fresh:
            self.begin("appeared", state, text)


def _is_back(lineage: Lineage, text: DeclaredText) -> bool:
    return lineage.text is None and lineage.last.chunk.path == text.chunk.path and _may_be_same(lineage.last, text)


def _differ(old: DeclaredText, new: DeclaredText) -> bool:
    return old.text != new.text


def _may_be_same(old: DeclaredText, new: DeclaredText) -> bool:
    """Return whether the scopes agree, as far as they are known."""
    return old.symbol == new.symbol or not (old.qualified and new.qualified)


Pairs = list[tuple[Lineage, DeclaredText]]


def _matched(
    known: Sequence[Lineage], texts: Sequence[DeclaredText]
) -> tuple[Pairs, list[Lineage], list[DeclaredText]]:
    """Match the declarations of a file with those in its next version: pairs, and what is left on both sides.

    Overloads have one name, so equal texts are matched first, then those that follow each other.
    """
    lineages, left, pairs = list(known), list(texts), []
    for fits in _FITS:
        for lineage in list(lineages):
            text = next((text for text in left if fits(lineage.last, text)), None)
            if text is not None:
                pairs.append((lineage, text))
                lineages.remove(lineage)
                left.remove(text)
    return pairs, lineages, left


_FITS: tuple[Callable[[DeclaredText, DeclaredText], bool], ...] = (
    lambda old, new: old.symbol == new.symbol and not _differ(old, new),
    lambda old, new: _may_be_same(old, new) and not _differ(old, new),
    lambda old, new: old.symbol == new.symbol,
    _may_be_same,
)


def _moves(gone: Iterable[Lineage], fresh: Iterable[DeclaredText]) -> Iterator[tuple[Lineage, DeclaredText]]:
    """Yield the declarations that vanished in one place and appeared in another, the most similar first."""
    lost = [(lineage, _line_counts(lineage.last)) for lineage in gone]
    added = [(text, _line_counts(text)) for text in fresh]
    few = len(lost) * len(added) <= MAX_COMPARED_PAIRS
    found = [
        (-likeness, place, other)
        for place, (_, old) in enumerate(lost)
        for other, (_, new) in enumerate(added)
        if (likeness := _similarity(old, new) if few else float(old == new)) >= MIN_SIMILARITY
    ]
    taken: set[int] = set()
    given: set[int] = set()
    for _, place, other in sorted(found):
        if place not in taken and other not in given:
            taken.add(place)
            given.add(other)
            yield lost[place][0], added[other][0]


def _line_counts(text: DeclaredText) -> Counter[str]:
    """Return how often each line occurs, without its indentation, which a move may change."""
    return Counter(line.strip() for line in text.text.split("\n") if line.strip())


def _similarity(old: Counter[str], new: Counter[str]) -> float:
    return 2 * (old & new).total() / max(1, old.total() + new.total())
