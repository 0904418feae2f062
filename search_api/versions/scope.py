"""The scope of a search: its repositories and versions, and the snapshot filter for the store."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from codequarry.search_api.query.selection import Selection
from codequarry.search_api.query.version_query import VersionQuery, VersionSpecifier
from codequarry.search_api.versions.lookup import VersionLine, find, lines_of, timelines_by_repo
from codequarry.search_api.versions.missing_version import Missing, VersionMissing, listed, no_match
from codequarry.search_api.versions.views import AsOf, DefaultViews, History, Moment, View, branch_of
from codequarry.search_api.versions.workspaces import resolve_workspaces
from codequarry.shared.catalog.repositories import Repository
from codequarry.shared.errors import AmbiguousCommit, NotIndexed, UsageError
from codequarry.shared.model import Layer, PathGlobs, Snapshot
from codequarry.shared.versions.commit_log import log_layer
from codequarry.shared.versions.head import Head, Place
from codequarry.shared.versions.refs import Ref
from codequarry.shared.versions.snapshots import disjoint

# An engine allows 1,024 clauses in a query, and a glob needs two. The rest is left for its words and filters.
MAX_GLOBS = 440


@dataclass(frozen=True, slots=True)
class VersionScope:
    """The views that a search covers, by repository name; ``pending`` repositories have published nothing yet."""

    snapshot: Snapshot
    views: Mapping[str, tuple[View, ...]]
    pending: tuple[str, ...] = ()
    at: int = 0
    open: tuple[int, ...] = field(default=())
    hidden: frozenset[int] = frozenset()
    of_commits: bool = False

    def searched(self, repo: str) -> tuple[View, ...]:
        """Return the views of a repository whose rows are searched: those of files, or of commits."""
        return _searched(self.views.get(repo, ()), self.of_commits)

    @property
    def version_count(self) -> int:
        """The number of versions in scope, including the default branches of pending repositories."""
        if isinstance(self.views, DefaultViews):
            return len(self.views) + len(self.pending)
        return sum(map(len, self.views.values())) + len(self.pending)

    @property
    def timelines(self) -> list[list[str | int]]:
        """The versions in scope; a cursor is valid only while they do not change."""
        views = [view for name in sorted(self.views) for view in self.views[name]]
        return [[view.repo, view.timeline, view.number if view.fixed else 0] for view in views]


def _at_defaults(head: Head, catalog: Mapping[str, Repository], names: Sequence[str], of_commits: bool) -> VersionScope:
    """Return the scope of a search that names no versions (rule 11); it may cover every repository."""
    published = {
        name: timeline
        for name in names
        if (timeline := head.defaults.get(name)) is not None and head.timelines[timeline].published
    }
    pending = tuple(name for name in names if name not in published)
    standing = ((timeline, head.allowed.get(name, ())) for name, timeline in published.items())
    layers = _standing_layers(standing, head.counter, head.hidden)
    snapshot = Snapshot(_bounded(map(log_layer, layers) if of_commits else layers))
    views = DefaultViews(head, catalog, published)
    return VersionScope(snapshot, views, pending, head.counter, _still_open(head), head.hidden, of_commits)


def _still_open(head: Head) -> tuple[int, ...]:
    """Return the open transactions of visible timelines; hidden repositories must not leak theirs."""
    return tuple(sorted(number for number, timeline in head.open.items() if timeline in head.timelines))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Repositories, and versions that must each exist in at least one of them."""

    repos: tuple[str, ...]
    query: VersionQuery


def resolve(
    head: Head,
    catalog: Mapping[str, Repository],
    selection: Selection,
    past: History,
    as_of: AsOf | None = None,
) -> VersionScope:
    """Return the scope of a search in the current index, or for a later page in the first page's state (``as_of``).

    Raise VersionMissing or NotIndexed, with what is indexed, for a version or repository that the index does not have,
    AmbiguousCommit or UsageError for an ambiguous version.
    """
    if as_of is None and not selection.version and not selection.versions:
        return _at_defaults(head, catalog, _names(head, catalog, selection), bool(selection.documents))
    at, still_open = (head.counter, _still_open(head)) if as_of is None else (as_of.at, as_of.open)
    moment = Moment(head, past, at, still_open)
    resolver = _Resolver(moment, catalog)
    for wanted in _wanted(head, catalog, selection):
        resolver.add(wanted)
    views = {name: tuple(found.values()) for name, found in resolver.views.items()}
    of_commits = bool(selection.documents)
    searched = {name: _searched(found, of_commits) for name, found in views.items()}
    layers = _bounded(_layers(moment, [view for found in searched.values() for view in found]))
    snapshot = Snapshot(layers, _siblings(searched))
    return VersionScope(snapshot, views, tuple(resolver.pending), at, still_open, moment.hidden, of_commits)


def _names(head: Head, catalog: Mapping[str, Repository], selection: Selection) -> list[str]:
    known = sorted({*head.defaults, *catalog})
    named = [name for name, _ in selection.versions]
    for name in (*selection.repos, *selection.excluded_repos, *named):
        if name not in known:
            raise NotIndexed(f"repository '{name}' is not indexed; indexed: {listed(known) or 'none'}")
    return [name for name in selection.repos or known if name not in selection.excluded_repos]


def _wanted(head: Head, catalog: Mapping[str, Repository], selection: Selection) -> list[_Wanted]:
    names = _names(head, catalog, selection)
    if not selection.versions:
        return [_Wanted(tuple(names), resolve_workspaces(selection.version, head, names))]
    return [
        _Wanted((name,), resolve_workspaces(query, head, (name,)))
        for name, query in selection.versions
        if name in names
    ]


class _Resolver:
    def __init__(self, moment: Moment, catalog: Mapping[str, Repository]) -> None:
        self._moment = moment
        self._catalog = catalog
        self.views: dict[str, dict[Place, View]] = {}
        self.pending: dict[str, None] = {}

    def add(self, wanted: _Wanted) -> None:
        """Add the views of the wanted versions; raise VersionMissing for a version that no repository has."""
        if wanted.query:
            self._add_versions(wanted)
        else:
            self._add_defaults(wanted.repos)

    def _add_defaults(self, repos: Iterable[str]) -> None:
        defaults, newest = self._moment.head.defaults, self._moment.newest
        for name in repos:
            timeline = defaults.get(name)
            point = None if timeline is None else newest(timeline)
            if timeline is None or point is None:
                self.pending[name] = None
            else:
                ref = Ref("branch", self._branch(name))
                allowed = self._moment.head.allowed.get(name, ())
                self._see(View(name, ref, timeline, point.number, point.commit, allowed=allowed))

    def _see(self, view: View) -> None:
        self.views.setdefault(view.repo, {}).setdefault((view.timeline, view.number), view)

    def _add_versions(self, wanted: _Wanted) -> None:
        lines = {name: self._lines(name) for name in wanted.repos}
        answered: set[VersionSpecifier] = set()
        views: list[View] = []
        for name in wanted.repos:
            if self._is_pending(name, lines[name], wanted.query):
                self.pending[name] = None
                answered.update(wanted.query.names)
                continue
            found = find(self._moment, lines[name], wanted.query)
            answered |= found.answered
            views += found.views
        _refuse_ambiguous(wanted.query, views)
        missing = [asked for asked in wanted.query.all if asked not in answered]
        if missing and missing[0].is_pattern:
            raise no_match(missing[0], wanted.repos, self._moment, lines)
        if missing:
            what = tuple(Missing(name, missing[0]) for name in wanted.repos)
            raise VersionMissing(missing[0], what, self._moment, lines, self._catalog)
        for view in views:
            self._see(view)

    def _lines(self, name: str) -> list[VersionLine]:
        return lines_of(self._moment, name, self._branch(name), self._timelines.get(name, []))

    @cached_property
    def _timelines(self) -> dict[str, list[int]]:
        return timelines_by_repo(self._moment.head)

    def _branch(self, name: str) -> str:
        return branch_of(self._moment.head, self._catalog, name)

    def _is_pending(self, name: str, lines: Sequence[VersionLine], query: VersionQuery) -> bool:
        """Return whether a repository has published nothing and the query names its default branch."""
        branch = Ref("branch", self._branch(name))
        return (
            not lines
            and not query.commits
            and any(asked.text == branch.value or asked.fits(branch) for asked in query.names)
        )


def _refuse_ambiguous(query: VersionQuery, views: Iterable[View]) -> None:
    """Raise AmbiguousCommit if a short commit matches different commits of several repositories."""
    commits = sorted({view.commit for view in views if view.fixed})
    for asked in query.all:
        short = asked.commit
        fits = [commit for commit in commits if short and commit.startswith(short)]
        if len(fits) > 1 and short not in fits:
            raise AmbiguousCommit(asked.text, fits)


def _layers(moment: Moment, views: Sequence[View]) -> Iterator[Layer]:
    """Yield the layers of a search, of which no two have a timeline in common.

    Current versions share a layer. A timeline on which other versions lie has its own layer, with a state for each base
    and each commit, and its own state if it is in the search itself.
    """
    bases = {view.base[0] for view in views if view.base}
    standing = [(view.timeline, view.allowed) for view in views if not view.fixed and view.timeline not in bases]
    apart: dict[Layer, None] = {}
    for view in views:
        if view.fixed or view.timeline in bases:
            apart |= dict.fromkeys(view.layers(moment.hidden))
        elif view.base:
            apart |= dict.fromkeys(view.base_layers(moment.hidden))
    shared = _standing_layers(standing, moment.at, moment.hidden) if standing or not views else ()
    yield from disjoint((*shared, *apart))


def _standing_layers(
    standing: Iterable[tuple[int, tuple[PathGlobs, ...]]], at: int, hidden: frozenset[int]
) -> Iterator[Layer]:
    """Yield one layer for each set of allowed paths; timelines without such a limit share one layer."""
    together: dict[tuple[PathGlobs, ...], set[int]] = {}
    for timeline, allowed in standing:
        together.setdefault(allowed, set()).add(timeline)
    for allowed, timelines in (together or {(): set()}).items():
        yield Layer(tuple(sorted(timelines)), at, hidden, allowed=allowed)


def _searched(views: Iterable[View], of_commits: bool) -> tuple[View, ...]:
    return tuple(view.log for view in views) if of_commits else tuple(views)


def _siblings(views: Mapping[str, Sequence[View]]) -> tuple[tuple[int, ...], ...]:
    """Return the timelines of each repository of which a search covers several versions."""
    several = (of_repo for of_repo in views.values() if len(of_repo) > 1)
    return tuple(
        tuple(sorted({view.timeline for view in of_repo} | {view.base[0] for view in of_repo if view.base}))
        for of_repo in several
    )


def _bounded(layers: Iterable[Layer]) -> tuple[Layer, ...]:
    """Return the layers; raise UsageError if a grant has more path globs than an engine accepts in a query."""
    found = tuple(layers)
    for layer in found:
        globs = sum(len(paths.include) + len(paths.exclude) for paths in layer.allowed)
        if globs > MAX_GLOBS:
            raise UsageError(
                f"the key's grants limit one repository by {globs} path globs, and a search can apply {MAX_GLOBS}; "
                "search with a key that has fewer globs"
            )
    return found
