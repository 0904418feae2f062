"""The indexed heads of a version, oldest first: its transactions, those of its former timelines, and of its base."""

from collections.abc import Sequence
from dataclasses import dataclass

from codequarry.search_api.versions.lookup import VersionLine
from codequarry.search_api.versions.views import Moment, Point, View, view_of
from codequarry.shared.versions.head import Place
from codequarry.shared.versions.refs import Ref


@dataclass(frozen=True, slots=True)
class IndexedHead:
    """A published state of a version, as it was reached by the transaction ``point``."""

    view: View
    point: Point


@dataclass(frozen=True, slots=True)
class HeadHistory:
    """The indexed heads of a version; ``expired`` if retention has dropped earlier ones."""

    heads: tuple[IndexedHead, ...]
    expired: bool


def timelines_of(moment: Moment, lines: Sequence[VersionLine], view: View) -> set[int]:
    """Return the timelines that may hold rows of any head of a version, without reading its transactions."""
    own = {line.timeline for line in _its_lines(moment, lines, view)}
    return own | {owner for timeline in own for owner, _ in moment.head.timelines[timeline].pins}


def indexed_heads(moment: Moment, lines: Sequence[VersionLine], view: View) -> HeadHistory:
    """Return the heads of a version up to ``view``; ``lines`` are all lines of its repository.

    The former timelines of a version are its earlier history (rule 11). The history of an overlay begins with that of
    its first base, up to the state on which it lies.
    """
    heads: list[IndexedHead] = []
    reached = 0
    for line in _its_lines(moment, lines, view):
        is_last = line.timeline == view.timeline
        points = [point for point in moment.points(line.timeline) if not is_last or point.number <= view.number]
        # While another timeline showed the version, this one had another name.
        points = [point for point in points if point.number > reached or (is_last and point is points[-1])]
        heads += [IndexedHead(view_of(moment, line.timeline, line.ref, point), point) for point in points]
        reached = max([reached, *(point.number for point in points)])
    base = heads[0].view.base if heads else None
    if base is not None:
        heads[:0] = _base_heads(moment, lines, view.repo, base)
    first = heads[0].view.timeline if heads else view.timeline
    return HeadHistory(tuple(heads), moment.head.timelines[first].floor > 0)


def _its_lines(moment: Moment, lines: Sequence[VersionLine], view: View) -> list[VersionLine]:
    """Return the lines of a version in the order in which they showed it, up to the line of ``view``."""
    current = next(line for line in lines if line.timeline == view.timeline)
    timelines = moment.head.timelines
    former = [
        line
        for line in lines
        if line.ref == current.ref
        and line.former
        and line.timeline != current.timeline
        and (not current.former or timelines[line.timeline].published < timelines[current.timeline].published)
    ]
    return [*sorted(former, key=lambda line: timelines[line.timeline].published), current]


def _base_heads(moment: Moment, lines: Sequence[VersionLine], repo: str, base: Place) -> list[IndexedHead]:
    timeline, number = base
    if timeline not in moment.head.timelines:
        return []
    line = next((line for line in lines if line.timeline == timeline), None)
    # A timeline that has lost its version stays only for the overlays on it.
    points = [point for point in moment.past.points(timeline) if point.number <= number] if line else []
    record = moment.past.record(timeline, number)
    if record is not None and all(point.number != number for point in points):
        points = [Point(number, record.commit, record.commit_count, record.ref, record.lost != (), record.rules)]
    heads: list[IndexedHead] = []
    for point in points:
        ref = line.ref if line else Ref("branch", point.name or repo)
        heads.append(IndexedHead(view_of(moment, timeline, ref, point), point))
    return heads
