"""Translates snapshots into query clauses, exactly and with few clauses; ``snapshots.is_live`` defines liveness."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

from codequarry.shared.model import Layer, LayerState, Snapshot
from codequarry.shared.store.opensearch.clauses import (
    MAX_SNAPSHOT_CLAUSES,
    NOTHING,
    EngineClause,
    all_of,
    any_of,
    any_value,
    count_clauses,
    globs_clause,
)
from codequarry.shared.versions.snapshots import disjoint

FileLife = tuple[str, int, int]
"""A path, and the numbers that wrote and retired a version of the file."""

RetiredFiles = Callable[[int, int, int, frozenset[int]], Sequence[FileLife]]
"""Returns the file versions of a timeline that were retired after one number and up to another, not by hidden ones."""


def snapshot_parts(snapshot: Snapshot, retired: RetiredFiles) -> list[EngineClause]:
    """Return the clauses for live rows, each small enough for a request; no row is in two, so counts can be added."""
    parts: list[list[EngineClause]] = []
    room = 0
    for layer in disjoint(snapshot.layers):
        for clause in _clauses_of_layer(layer, retired) if layer.timelines else ():
            cost = count_clauses(clause)
            if cost > room:
                parts.append([])
                room = MAX_SNAPSHOT_CLAUSES
            parts[-1].append(clause)
            room -= cost
    return [part[0] if len(part) == 1 else any_of(part) for part in parts] or [NOTHING]


def _clauses_of_layer(layer: Layer, retired: RetiredFiles) -> Iterator[EngineClause]:
    """Yield clauses of which each live row of ``layer`` meets exactly one; a layer with one state has one clause."""
    hidden = sorted(layer.hidden)
    states = layer.states
    yield _framed(layer, layer.timelines, [_live_at_last(states, hidden)])
    if len(states) > 1:
        for timeline in layer.timelines:
            lives = retired(timeline, states[0].at, states[-1].at, layer.hidden)
            seen = _seen_dead(states, [life for life in lives if life[1] not in layer.hidden])
            yield from _in_groups(layer, timeline, seen)


def _framed(layer: Layer, timelines: Sequence[int], any_clause: Sequence[EngineClause]) -> EngineClause:
    """Return the clause for rows of ``timelines`` that meet any of some clauses and that the reader may see."""
    required = [any_value("timeline", timelines)]
    if layer.allowed:
        required.append(any_of([globs_clause(globs) for globs in layer.allowed]))
    required.append(any_clause[0] if len(any_clause) == 1 else any_of(list(any_clause)))
    return all_of(required, [any_value("born", sorted(layer.hidden))] if layer.hidden else [])


def _in_groups(layer: Layer, timeline: int, clauses: Sequence[EngineClause]) -> Iterator[EngineClause]:
    frame = count_clauses(_framed(layer, [timeline], [NOTHING]))
    group: list[EngineClause] = []
    cost = frame
    for clause in clauses:
        if group and cost + count_clauses(clause) > MAX_SNAPSHOT_CLAUSES:
            yield _framed(layer, [timeline], group)
            group, cost = [], frame
        group.append(clause)
        cost += count_clauses(clause)
    if group:
        yield _framed(layer, [timeline], group)


def _live_at_last(states: Sequence[LayerState], hidden: Sequence[int]) -> EngineClause:
    """Return the clause for the visible rows that are live in the last state.

    A row that is masked there may still be visible in an earlier state, if it was born by then.
    """
    last = states[-1].at
    later: EngineClause = {"range": {"died": {"gt": last}}}
    died = any_of([later, any_value("died", hidden)]) if hidden else later
    refused = []
    for born, paths in _last_unmasked(states).items():
        masked = any_value("path", sorted(paths))
        refused.append(masked if born is None else all_of([masked, {"range": {"born": {"gt": born}}}]))
    return all_of([{"range": {"born": {"lte": last}}}, died], refused)


def _last_unmasked(states: Sequence[LayerState]) -> dict[int | None, list[str]]:
    """Return the paths masked in the last state, by the number of the last earlier state in which each is not."""
    found: dict[int | None, list[str]] = {}
    for path in states[-1].mask:
        earlier = (state.at for state in reversed(states[:-1]) if path not in state.mask)
        found.setdefault(next(earlier, None), []).append(path)
    return found


def _seen_dead(states: Sequence[LayerState], lives: Sequence[FileLife]) -> list[EngineClause]:
    """Return clauses for the visible rows that are dead in the last state: few of all rows, named by what retired them.

    A number retires all visible files of a timeline that it changes or, if other versions replace them, only some.
    """
    seen: dict[int, dict[int, list[str]]] = {}  # paths by the numbers that retired and that wrote them
    unseen: set[int] = set()
    numbers = [state.at for state in states]
    for path, born, died in lives:
        # From the last state before its end back to the first in which it lived.
        within = range(bisect_left(numbers, died) - 1, bisect_left(numbers, born) - 1, -1)
        if any(path not in states[place].mask for place in within):
            seen.setdefault(died, {}).setdefault(born, []).append(path)
        else:
            unseen.add(died)
    whole = sorted(seen.keys() - unseen)
    clauses = [any_value("died", whole)] if whole else []
    for died in sorted(seen.keys() & unseen):
        written = [all_of([{"term": {"born": born}}, any_value("path", paths)]) for born, paths in seen[died].items()]
        clauses.append(all_of([{"term": {"died": died}}, written[0] if len(written) == 1 else any_of(written)]))
    return clauses
