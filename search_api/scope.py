"""Which repositories, at which versions, one search sees: the snapshot filter and what answers say of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from codequarry.search_api.cursor import Cursor, digest
from codequarry.search_api.missing import Missing, VersionMissing, listed
from codequarry.search_api.selection import Selection
from codequarry.search_api.versions import Asked, Line, VersionQuery, find, lines_of, timelines_by_repo
from codequarry.search_api.views import Moment, Past, View
from codequarry.shared.errors import AmbiguousCommit, NotIndexed, UsageError
from codequarry.shared.head import Head
from codequarry.shared.model import Layer, Snapshot
from codequarry.shared.repositories import Repository

# An engine takes about a thousand clauses in one query, and a layer is up to seven of them.
MAX_LAYERS = 100


@dataclass(frozen=True, slots=True)
class Scope:
    """What a search sees: the views of each repository, by its name.

    ``pending`` are repositories asked for that have nothing published yet.
    """

    snapshot: Snapshot
    views: Mapping[str, tuple[View, ...]]
    pending: tuple[str, ...] = ()
    at: int = 0
    open: tuple[int, ...] = field(default=())
    hidden: frozenset[int] = frozenset()

    @property
    def timelines(self) -> str:
        """A hash of the versions in view, for cursors: while it is the same, pages go on."""
        views = [view for name in sorted(self.views) for view in self.views[name]]
        return digest([[view.repo, view.timeline, view.number if view.fixed else 0] for view in views])


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Some repositories, and the versions of which each must be in at least one of them."""

    repos: tuple[str, ...]
    query: VersionQuery


def resolve(
    head: Head,
    catalog: Mapping[str, Repository],
    selection: Selection,
    past: Past,
    cursor: Cursor | None = None,
) -> Scope:
    """Return the scope of a search.

    VersionMissing or NotIndexed for what the index does not have, with what there is; AmbiguousCommit and UsageError
    for a version that can't be told from another.
    """
    at, still_open = (head.counter, tuple(sorted(head.open))) if cursor is None else (cursor.at, cursor.open)
    moment = Moment(head, past, at, still_open)
    resolver = _Resolver(moment, catalog)
    for wanted in _wanted(head, catalog, selection):
        resolver.add(wanted)
    views = {name: tuple(dict.fromkeys(found)) for name, found in resolver.views.items()}
    snapshot = Snapshot(tuple(_layers(moment, [view for found in views.values() for view in found])))
    if len(snapshot.layers) > MAX_LAYERS:
        raise UsageError(f"this search sees {len(snapshot.layers)} versions at once; name fewer repositories")
    return Scope(snapshot, views, tuple(resolver.pending), at, still_open, moment.hidden)


def _wanted(head: Head, catalog: Mapping[str, Repository], selection: Selection) -> list[_Wanted]:
    known = sorted({*head.defaults, *catalog})
    named = [name for name, _ in selection.versions]
    for name in (*selection.repos, *selection.excluded_repos, *named):
        if name not in known:
            raise NotIndexed(f"repository '{name}' is not indexed; indexed: {listed(known) or 'none'}")
    if selection.versions:
        pairs = [pair for pair in selection.versions if pair[0] not in selection.excluded_repos]
        return [_Wanted((name,), query) for name, query in pairs]
    names = (name for name in selection.repos or known if name not in selection.excluded_repos)
    return [_Wanted(tuple(names), selection.version)]


class _Resolver:
    """Collects the views of one search after another of its wishes."""

    def __init__(self, moment: Moment, catalog: Mapping[str, Repository]) -> None:
        self._moment = moment
        self._catalog = catalog
        self.views: dict[str, list[View]] = {}
        self.pending: dict[str, None] = {}

    def add(self, wanted: _Wanted) -> None:
        """Find the versions of a wish; raise for those that no repository of it has."""
        lines = {name: self._lines(name, wanted.query) for name in wanted.repos}
        answered: set[Asked] = set()
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
        if missing:
            what = tuple(Missing(name, missing[0]) for name in wanted.repos)
            raise VersionMissing(what, self._moment, lines, self._catalog)
        for view in views:
            self.views.setdefault(view.repo, []).append(view)

    def _lines(self, name: str, query: VersionQuery) -> list[Line]:
        """Return the lines in which a query is looked up: the default one alone where it names no version."""
        if query:
            timelines = self._timelines.get(name, [])
        else:
            # A search over every repository takes this way, and must not look at each of their timelines.
            default = self._moment.head.defaults.get(name)
            timelines = [] if default is None else [default]
        return lines_of(self._moment, name, self._branch(name), timelines)

    @cached_property
    def _timelines(self) -> dict[str, list[int]]:
        return timelines_by_repo(self._moment.head)

    def _branch(self, name: str) -> str:
        return self._catalog[name].branch if name in self._catalog else ""

    def _is_pending(self, name: str, lines: Sequence[Line], query: VersionQuery) -> bool:
        """Tell whether a repository has nothing published, and what it will publish first is asked for."""
        if lines:
            return False
        return not query or (not query.commits and any(self._branch(name) == asked.text for asked in query.names))


def _refuse_ambiguous(query: VersionQuery, views: Iterable[View]) -> None:
    """Raise AmbiguousCommit where a short commit fits different commits of several repositories."""
    commits = sorted({view.commit for view in views if view.fixed})
    for asked in query.all:
        short = asked.commit
        fits = [commit for commit in commits if short and commit.startswith(short)]
        if len(fits) > 1 and short not in fits:
            raise AmbiguousCommit(asked.text, fits)


def _layers(moment: Moment, views: Sequence[View]) -> Iterator[Layer]:
    """Yield the layers of a search: one for all that is seen as it stands, one for each base and each commit."""
    standing = tuple(sorted({view.timeline for view in views if not view.fixed}))
    if standing or not views:
        yield Layer(standing, moment.at, moment.hidden)
    apart: dict[Layer, None] = {}
    for view in views:
        layers = view.layers(moment.hidden) if view.fixed else view.base_layers(moment.hidden)
        apart |= dict.fromkeys(layers)
    yield from apart
