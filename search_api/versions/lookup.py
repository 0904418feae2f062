"""Lookup of the versions that a query names: branches, tags, pull requests, working trees, commits."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from codequarry.search_api.query.version_query import VersionQuery, VersionSpecifier
from codequarry.search_api.versions.views import Moment, Point, View, view_of
from codequarry.shared.errors import AmbiguousCommit, UsageError
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.refs import Ref


@dataclass(frozen=True, slots=True)
class VersionLine:
    """A published timeline of a repository; ``former`` if it no longer shows the newest state of its version.

    Its version was deleted, or another timeline replaced it (a force-push, growth, or a change of the default branch).
    """

    timeline: int
    ref: Ref
    former: bool = False


@dataclass(frozen=True, slots=True)
class FoundVersion:
    """The views of one repository that match a query, and the specifiers that they match."""

    views: tuple[View, ...]
    answered: frozenset[VersionSpecifier]


def lines_of(moment: Moment, repo: str, branch: str, timelines: Iterable[int]) -> list[VersionLine]:
    """Return a repository's published lines: default, former defaults, others. ``branch`` is the default's name."""
    head = moment.head
    default = head.defaults.get(repo)
    lines = [VersionLine(default, Ref("branch", branch))] if default is not None else []
    named: list[VersionLine] = []
    for timeline in sorted(timelines, reverse=True):
        state = head.timelines[timeline]
        if timeline == default or state.gone:
            continue
        if state.version:
            named.append(VersionLine(timeline, Ref.of_key(state.version), former=bool(state.former)))
        else:
            lines.append(VersionLine(timeline, Ref("branch", state.branch or branch), former=True))
    return [line for line in (*lines, *named) if head.timelines[line.timeline].published]


def timelines_by_repo(head: Head) -> dict[str, list[int]]:
    """Return the timelines of each repository."""
    found: dict[str, list[int]] = {}
    for timeline, state in head.timelines.items():
        found.setdefault(state.repo, []).append(timeline)
    return found


def find(moment: Moment, lines: Sequence[VersionLine], query: VersionQuery) -> FoundVersion:
    """Return the views of one repository that match a query.

    Raise UsageError for an invalid commit or a name that two versions share, AmbiguousCommit for an ambiguous prefix.
    """
    answered: set[VersionSpecifier] = set()
    named: list[VersionLine] = []
    views: dict[tuple[int, int], View] = {}
    for asked in query.names:
        if fitting := _named(lines, asked):
            named += fitting
            answered.add(asked)
        elif view := _at_commit(moment, _searched(lines, ()), asked) or _as_default(moment, lines, asked):
            views[view.timeline, view.number] = view
            answered.add(asked)
    if not query.commits:
        views |= {(view.timeline, view.number): view for view in _heads(moment, named)}
    elif named or not query.names:
        searched = _searched(lines, named)
        for asked in query.commits:
            if view := _at_commit(moment, searched, asked):
                views[view.timeline, view.number] = view
                answered.add(asked)
    return FoundVersion(tuple(views.values()), frozenset(answered))


def _named(lines: Sequence[VersionLine], asked: VersionSpecifier) -> list[VersionLine]:
    """Return the line with a name, or the lines that fit a pattern, the default branch first, then by name.

    Raise UsageError if a branch and a tag have the same name.
    """
    current = [line for line in lines if not line.former]
    fitting = [line for line in current if line.ref.answers_to(asked.text)]
    if asked.kind in ("branch", "tag"):
        fitting = [line for line in fitting if line.ref.kind == asked.kind]
    if not fitting and asked.is_pattern:
        first, others = current[:1], sorted(current[1:], key=lambda line: line.ref.key)
        return [line for line in (*first, *others) if asked.fits(line.ref)]
    if len(fitting) > 1:
        # A branch's name may be the same as another line's key.
        fitting = [line for line in fitting if line.ref.key == asked.text] or fitting
    if len(fitting) > 1:
        keys = " or ".join(line.ref.key for line in fitting)
        raise UsageError(f"'{asked.text}' names several versions; write {keys}")
    return fitting


def _as_default(moment: Moment, lines: Sequence[VersionLine], asked: VersionSpecifier) -> View | None:
    """Return the newest state that a branch had while it was the default branch, or None if it never was."""
    for line in lines:
        if moment.head.timelines[line.timeline].version:
            continue
        for point in reversed(moment.points(line.timeline)):
            if point.name and Ref("branch", point.name).answers_to(asked.text):
                return view_of(moment, line.timeline, line.ref, point, fixed=True)
    return None


def _heads(moment: Moment, lines: Sequence[VersionLine]) -> Iterator[View]:
    for line in lines:
        if point := moment.newest(line.timeline):
            yield view_of(moment, line.timeline, line.ref, point)


def _searched(lines: Sequence[VersionLine], named: Sequence[VersionLine]) -> list[VersionLine]:
    """Return the lines to search for a commit: those ``named``, with former defaults, or all but working trees."""
    if not named:
        return [line for line in lines if line.ref.kind != "workspace"]
    refs = {line.ref for line in named}
    return [line for line in lines if line.ref in refs]


def _at_commit(moment: Moment, lines: Sequence[VersionLine], asked: VersionSpecifier) -> View | None:
    """Return the view of a commit under the rules of its newest transaction, preferring the default line."""
    short = asked.commit
    if short is None:
        return None
    found: dict[str, list[tuple[VersionLine, Point]]] = {}
    for line in lines:
        for point in reversed(moment.points(line.timeline)):
            if point.commit.startswith(short):
                found.setdefault(point.commit, []).append((line, point))
    if len(found) > 1 and short not in found:
        raise AmbiguousCommit(asked.text, sorted(found))
    if not found:
        return None
    candidates = found.get(short) or next(iter(found.values()))
    # The settings may have changed since another line had the commit, or between two transactions at the commit.
    _, newest = max(candidates, key=lambda candidate: candidate[1].number)
    line, point = next(candidate for candidate in candidates if candidate[1].rules == newest.rules)
    return view_of(moment, line.timeline, line.ref, point, fixed=True)
