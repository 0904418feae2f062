"""Which repositories, at which commits, one search sees: the snapshot filter and what answers say of it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from codequarry.search_api.cursor import Cursor, digest
from codequarry.search_api.selection import Selection
from codequarry.shared.errors import AmbiguousCommit, NotIndexed, UsageError
from codequarry.shared.head import Head
from codequarry.shared.model import Layer, Snapshot
from codequarry.shared.repositories import Repository
from codequarry.shared.transactions import TransactionRecord

# As git has it: fewer digits are an accident.
MIN_COMMIT_DIGITS = 7
_COMMIT = re.compile(r"[0-9a-f]{1,64}")
# An error is read by a person: more names than these are a list, for which there is GET /repos.
MAX_NAMES_IN_ERROR = 20

History = Callable[[int], Sequence[TransactionRecord]]
"""Return the published transactions of a timeline, oldest first."""


@dataclass(frozen=True, slots=True)
class View:
    """One repository as a search sees it: its timeline after transaction ``number``, which is ``commit``."""

    repo: str
    branch: str
    timeline: int
    number: int
    commit: str


@dataclass(frozen=True, slots=True)
class Scope:
    """What a search sees. ``pending`` are repositories asked for that have nothing published yet."""

    snapshot: Snapshot
    views: Mapping[str, View]
    pending: tuple[str, ...] = ()
    at: int = 0
    open: tuple[int, ...] = field(default=())

    @property
    def timelines(self) -> str:
        """A hash of the versions in view, for cursors: while it is the same, pages go on."""
        return digest([[view.repo, view.timeline] for view in sorted(self.views.values(), key=lambda v: v.repo)])


def resolve(
    head: Head,
    catalog: Mapping[str, Repository],
    selection: Selection,
    history: History,
    cursor: Cursor | None = None,
) -> Scope:
    """Return the scope of a search; NotIndexed for what the index does not have, with what there is."""
    names = _chosen(head, catalog, selection)
    branches = {name: catalog[name].branch if name in catalog else "" for name in names}
    if selection.branches:
        names = [name for name in names if branches[name] in selection.branches]
        if not names:
            raise NotIndexed(f"branch {_listed(selection.branches)} is not indexed; {_what_is(head, branches)}")
    views = {name: _view(head, name, branches[name]) for name in names if _is_published(head, name)}
    pending = tuple(name for name in names if name not in views)
    if selection.commits:
        return _at_commits(head, views, selection.commits, history)
    still_open = tuple(sorted(head.open)) if cursor is None else cursor.open
    at = head.counter if cursor is None else cursor.at
    timelines = tuple(sorted(view.timeline for view in views.values()))
    layer = Layer(timelines, at, head.aborted | frozenset(still_open))
    return Scope(Snapshot((layer,)), views, pending, at, still_open)


def _chosen(head: Head, catalog: Mapping[str, Repository], selection: Selection) -> list[str]:
    known = sorted({*head.defaults, *catalog})
    for name in (*selection.repos, *selection.excluded_repos):
        if name not in known:
            raise NotIndexed(f"repository '{name}' is not indexed; indexed: {_listed(known) or 'none'}")
    return [name for name in selection.repos or known if name not in selection.excluded_repos]


def _is_published(head: Head, name: str) -> bool:
    timeline = head.defaults.get(name)
    return timeline is not None and head.timelines[timeline].published > 0


def _view(head: Head, name: str, branch: str) -> View:
    timeline = head.defaults[name]
    state = head.timelines[timeline]
    return View(name, branch, timeline, state.published, state.commit)


def _at_commits(head: Head, views: Mapping[str, View], commits: Sequence[str], history: History) -> Scope:
    """Return the scope of the named commits, each in the repositories that stood at it."""
    found: dict[str, View] = {}
    for name, view in views.items():
        known = {record.commit: record for record in history(view.timeline)}
        full = {commit for asked in commits for commit in _matching(asked, known)}
        if len(full) > 1:
            raise AmbiguousCommit(_listed(commits), sorted(full))
        for commit in full:
            found[name] = View(name, view.branch, view.timeline, known[commit].number, commit)
    if not found:
        has = {f"{view.repo} at {view.commit[:12]}": "" for view in views.values()}
        raise NotIndexed(f"commit {_listed(commits)} is not indexed; indexed: {_listed(list(has)) or 'none'}")
    _refuse_ambiguous(commits, found)
    layers = tuple(Layer((view.timeline,), view.number, head.hidden) for view in found.values())
    return Scope(Snapshot(layers), found, (), head.counter, tuple(sorted(head.open)))


def _matching(asked: str, known: Mapping[str, TransactionRecord]) -> list[str]:
    short = asked.lower()
    if not _COMMIT.fullmatch(short) or len(short) < MIN_COMMIT_DIGITS:
        raise UsageError(f"commit '{asked}' must be at least {MIN_COMMIT_DIGITS} hexadecimal digits")
    return [commit for commit in known if commit.startswith(short)]


def _refuse_ambiguous(commits: Sequence[str], found: Mapping[str, View]) -> None:
    """Raise AmbiguousCommit where a short commit fits different commits of several repositories."""
    for asked in commits:
        fits = {view.commit for view in found.values() if view.commit.startswith(asked.lower())}
        if len(fits) > 1:
            raise AmbiguousCommit(asked, sorted(fits))


def _what_is(head: Head, branches: Mapping[str, str]) -> str:
    has = [f"{name} at {branch}" for name, branch in branches.items() if _is_published(head, name)]
    return f"indexed: {_listed(has) or 'none'}"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MAX_NAMES_IN_ERROR])
    return f"{shown} and {len(names) - MAX_NAMES_IN_ERROR} more" if len(names) > MAX_NAMES_IN_ERROR else shown
