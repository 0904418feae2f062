"""Which version of a repository somebody means: branches, tags, pull requests, working trees, commits."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from codequarry.search_api.views import Moment, Point, View, view_of
from codequarry.shared.errors import AmbiguousCommit, UsageError
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.refs import KIND_NAMES, MIN_COMMIT_DIGITS, Ref, RefKind, commit_digits

Kind = Literal["branch", "ref", "commit"]
_HEXADECIMAL = re.compile(rf"[0-9a-fA-F]{{{MIN_COMMIT_DIGITS},64}}")
_COMMIT_PREFIX = "commit/"


@dataclass(frozen=True, slots=True)
class Asked:
    """A version in the words of the one who asks; a ``ref`` may be anything that has a name, or a commit."""

    kind: Kind
    text: str

    @property
    def commit(self) -> str | None:
        """The commit that it may mean, or the beginning of one; UsageError where it must be one and can't."""
        text = self.text.removeprefix(_COMMIT_PREFIX) if self.kind == "ref" else self.text
        if self.kind == "branch" or (self.kind == "ref" and not _HEXADECIMAL.fullmatch(text)):
            return None
        return commit_digits(text)

    def candidates(self) -> tuple[Ref, ...]:
        """Return what it may be called in the repository, likeliest first."""
        if self.kind == "branch":
            return (Ref("branch", self.text),)
        if self.commit:
            return (Ref("commit", self.commit),)
        for kind, prefix in (("pull", "pull/"), ("workspace", "workspace:")):
            if self.text.startswith(prefix):
                return (Ref(_kind(kind), self.text.removeprefix(prefix)),)
        try:
            return (Ref.of_key(self.text),)
        except ValueError:
            return Ref("branch", self.text), Ref("tag", self.text)

    def __str__(self) -> str:
        if self.kind != "ref":
            return f"{self.kind} '{self.text}'"
        try:
            ref = Ref.of_key(self.text)
        except ValueError:
            return f"version '{self.text}'"
        return f"{KIND_NAMES[ref.kind]} '{ref.value}'"


def _kind(name: str) -> RefKind:
    return "pull" if name == "pull" else "workspace"


@dataclass(frozen=True, slots=True)
class VersionQuery:
    """The versions that a search asks for, any of them; ``commits`` lie on ``names`` where both are given.

    ``names`` are branches and refs. Nothing at all means the default branch.
    """

    names: tuple[Asked, ...] = ()
    commits: tuple[Asked, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.names or self.commits)

    @property
    def all(self) -> tuple[Asked, ...]:
        """Everything that must be found somewhere."""
        return self.names + self.commits


@dataclass(frozen=True, slots=True)
class Line:
    """A published timeline of a repository; ``former`` where a rebuild or a force-push made another the default."""

    timeline: int
    ref: Ref
    former: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """The views of one repository that answer a query, and which of its versions they answer."""

    views: tuple[View, ...]
    answered: frozenset[Asked]


def lines_of(moment: Moment, repo: str, branch: str, timelines: Iterable[int]) -> list[Line]:
    """Return the lines of a repository that had published something: the default one, those before it, the others.

    ``branch`` is the name of the default branch, ``timelines`` are all that the repository has.
    """
    head = moment.head
    default = head.defaults.get(repo)
    lines = [Line(default, Ref("branch", branch))] if default is not None else []
    named: list[Line] = []
    for timeline in sorted(timelines, reverse=True):
        state = head.timelines[timeline]
        if timeline == default or state.gone:
            continue
        if state.ref:
            named.append(Line(timeline, Ref.of_key(state.ref)))
        else:
            lines.append(Line(timeline, Ref("branch", state.branch or branch), former=True))
    return [line for line in (*lines, *named) if head.timelines[line.timeline].published]


def timelines_by_repo(head: Head) -> dict[str, list[int]]:
    """Return the timelines of each repository."""
    found: dict[str, list[int]] = {}
    for timeline, state in head.timelines.items():
        found.setdefault(state.repo, []).append(timeline)
    return found


def find(moment: Moment, lines: Sequence[Line], query: VersionQuery) -> Found:
    """Return what a repository has of a query.

    UsageError for a name that means two versions or is no commit, AmbiguousCommit for a commit that fits several.
    """
    answered: set[Asked] = set()
    named: list[Line] = []
    views: dict[tuple[int, int], View] = {}
    for asked in query.names:
        line = _named(lines, asked)
        if line:
            named.append(line)
            answered.add(asked)
        elif asked.commit and (view := _at_commit(moment, _searched(lines, ()), asked)):
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
    return Found(tuple(views.values()), frozenset(answered))


def _named(lines: Sequence[Line], asked: Asked) -> Line | None:
    """Return the line that a name means; UsageError where a branch and a tag are called so."""
    fitting = [line for line in lines if not line.former and line.ref.answers_to(asked.text)]
    if asked.kind == "branch":
        fitting = [line for line in fitting if line.ref.kind == "branch"]
    if len(fitting) > 1:
        # A branch may be called like the key of another one.
        fitting = [line for line in fitting if line.ref.key == asked.text] or fitting
    if len(fitting) > 1:
        keys = " or ".join(line.ref.key for line in fitting)
        raise UsageError(f"'{asked.text}' names several versions; write {keys}")
    return fitting[0] if fitting else None


def _heads(moment: Moment, lines: Sequence[Line]) -> Iterator[View]:
    for line in lines:
        if point := moment.newest(line.timeline):
            yield view_of(moment, line.timeline, line.ref, point)


def _searched(lines: Sequence[Line], named: Sequence[Line]) -> list[Line]:
    """Return the lines that a commit is looked for on: all but working trees, or the named ones.

    The named default branch has its former timelines with it. A working tree is no commit, although it has one below.
    """
    if not named:
        return [line for line in lines if line.ref.kind != "workspace"]
    refs = {line.ref for line in named}
    return [line for line in lines if line.ref in refs]


def _at_commit(moment: Moment, lines: Sequence[Line], asked: Asked) -> View | None:
    """Return the newest transaction that made a line stand at a commit, the default line's before all others."""
    short = asked.commit
    if short is None:
        return None
    found: dict[str, tuple[Line, Point]] = {}
    for line in lines:
        # Newest first: rules may have changed at one commit, and only the last decision still holds.
        for point in reversed(moment.points(line.timeline)):
            if point.commit.startswith(short):
                found.setdefault(point.commit, (line, point))
    if len(found) > 1 and short not in found:
        raise AmbiguousCommit(asked.text, sorted(found))
    if not found:
        return None
    line, point = found.get(short) or next(iter(found.values()))
    return view_of(moment, line.timeline, line.ref, point, fixed=True)
