"""The two versions of a comparison, located in the index: as named, from their merge base, or of a pull request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from codequarry.search_api.answers.comparison import ComparedMergeBase
from codequarry.search_api.query.diff_request import DiffRequest
from codequarry.search_api.query.plan import QueryPlan
from codequarry.search_api.query.selection import Selection
from codequarry.search_api.query.version_query import VersionQuery, VersionSpecifier
from codequarry.search_api.search.engine import SearchEngine
from codequarry.search_api.versions.catalog import CatalogHistory
from codequarry.search_api.versions.merge_base import Fork, MergeBaseMissing, MergeBaseUnknown, merge_base
from codequarry.search_api.versions.missing_version import VersionMissing, listed
from codequarry.search_api.versions.resolution import Located
from codequarry.search_api.versions.scope import resolve
from codequarry.search_api.versions.views import View
from codequarry.shared.catalog.pull_requests import read_pull_request
from codequarry.shared.errors import NotIndexed, UsageError
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.refs import Ref

DEFAULT_BRANCH = VersionQuery()


@dataclass(frozen=True, slots=True)
class ComparedVersions:
    """Both versions as of one head document; ``merge_bases`` says of which versions ``before`` is the merge base."""

    before: Located
    after: Located
    merge_bases: tuple[ComparedMergeBase, ...] = ()


@dataclass(frozen=True, slots=True)
class _Branches:
    """A fork, and how its two versions were asked for."""

    fork: Fork
    before: VersionQuery
    after: VersionQuery

    def at(self, base: str) -> VersionQuery:
        """Return how to ask for the merge base; it is often one of the two versions."""
        for commit, asked in zip(self.fork.commits, (self.before, self.after), strict=True):
            # A working tree may differ from its commit.
            if commit == base and not any(name.text.startswith("workspace") for name in asked.names):
                return asked
        return VersionQuery((), (VersionSpecifier("commit", base),))


def locate_both(engine: SearchEngine, plan: QueryPlan, request: DiffRequest) -> ComparedVersions:
    """Return the two versions of a comparison, limited to the repositories that have both.

    Raise the errors of ``resolve``; MergeBaseUnknown or MergeBaseMissing for a merge base that git has not found yet or
    that is not indexed; NotIndexed if no repository has both versions; UsageError if they have no merge base.
    """
    locator = _Locator(engine, plan.selection)
    if request.pull:
        return locator.from_merge_bases([locator.pull_request(request.pull)])
    before, after = _query(request.before), _query(request.after)
    names = locator.with_both(before, after)
    older, newer = locator.at(before, names), locator.at(after, names)
    if not request.merge_base:
        return ComparedVersions(older, newer)
    views = ((older.scope.views[name][0], newer.scope.views[name][0]) for name in names)
    return locator.from_merge_bases([_Branches(Fork.of(older.head, *both), before, after) for both in views])


def locate_named(engine: SearchEngine, plan: QueryPlan, request: DiffRequest) -> tuple[Located, ...]:
    """Return the versions that a comparison names, which may have repositories still to be imported.

    Raise the errors of ``resolve``.
    """
    locator = _Locator(engine, plan.selection)
    if request.pull:
        branches = locator.pull_request(request.pull)
        asked = (branches.before, branches.after) if branches.fork.commits[0] else (branches.after,)
        return tuple(locator.at(query, [branches.fork.repo]) for query in asked)
    return tuple(locator.at(_query(text), plan.selection.repos) for text in (request.before, request.after))


def _query(text: str) -> VersionQuery:
    return VersionQuery((VersionSpecifier("ref", text),)) if text else DEFAULT_BRANCH


class _Locator:
    """Locates versions as of one head document."""

    def __init__(self, engine: SearchEngine, selection: Selection) -> None:
        self._engine, self._selection = engine, selection
        self._head: Head = engine.head()
        self._past = CatalogHistory(engine.catalog, self._head)

    def at(self, query: VersionQuery, names: Sequence[str]) -> Located:
        """Return one version of the named repositories, or of all that have it."""
        return self._located(replace(self._selection, repos=tuple(names), version=query))

    def _each(self, queries: Mapping[str, VersionQuery]) -> Located:
        """Return a version of its own for each repository."""
        versions = tuple(queries.items())
        return self._located(replace(self._selection, repos=tuple(queries), version=VersionQuery(), versions=versions))

    def _located(self, selection: Selection) -> Located:
        repositories = self._engine.catalog.repositories(self._head, selection.repos)
        scope = resolve(self._head, repositories, selection, self._past)
        for repo, views in scope.views.items():
            if len(views) > 1:
                several = listed([view.ref.name for view in views])
                asked = ", ".join(f"'{specifier.text}'" for specifier in selection.version.all) or "a name"
                raise UsageError(f"a comparison needs one version, but {asked} matches several of {repo}: {several}")
        return Located(self._head, repositories, scope)

    def with_both(self, before: VersionQuery, after: VersionQuery) -> list[str]:
        """Return the repositories that have both versions; raise NotIndexed if there are none."""
        old, new = (self.at(query, self._selection.repos).scope.views for query in (before, after))
        if both := sorted(old.keys() & new.keys()):
            return both
        first, second = (_described(query, views) for query, views in ((before, old), (after, new)))
        raise NotIndexed(f"no repository has both versions: {first}, {second}")

    def from_merge_bases(self, branches: Sequence[_Branches]) -> ComparedVersions:
        """Return the merge base in each repository, and the newer version."""
        bases = {each.fork.repo: merge_base(self._engine.store, each.fork) for each in branches}
        try:
            before = self._each({each.fork.repo: each.at(bases[each.fork.repo]) for each in branches})
        except VersionMissing as error:
            raise MergeBaseMissing(error, {each.fork.repo: each.fork for each in branches}) from error
        after = self._each({each.fork.repo: each.after for each in branches})
        points = (ComparedMergeBase(each.fork.repo, bases[each.fork.repo], *each.fork.names) for each in branches)
        return ComparedVersions(before, after, tuple(points))

    def pull_request(self, number: str) -> _Branches:
        """Return the target and the head of a pull request; raise UsageError if several repositories have one."""
        after, view = self._head_of_pull(number)
        repo_id = self._head.timelines[view.timeline].repo_id
        target = read_pull_request(self._engine.store, repo_id, number).target
        is_default = target in ("", self._head.default_branch(view.repo))
        before = DEFAULT_BRANCH if is_default else VersionQuery((VersionSpecifier("branch", target),))
        name = Ref("pull", number).name
        try:
            fork = Fork.of(self._head, self.at(before, [view.repo]).scope.views[view.repo][0], view)
            return _Branches(replace(fork, names=(fork.names[0], name), pull=number), before, after)
        except VersionMissing:
            fork = Fork(view.repo, repo_id, (target, name), ("", view.commit), number)
            try:
                merge_base(self._engine.store, fork)
            except MergeBaseUnknown:
                pass
            else:
                return _Branches(fork, before, after)
            raise

    def _head_of_pull(self, number: str) -> tuple[VersionQuery, View]:
        query = _query(Ref("pull", number).key)
        names = self._selection.repos
        try:
            views = self.at(query, names).scope.views
        except VersionMissing as error:
            query, views = self._last_head_of_pull(number, error)
        if len(views) > 1:
            raise UsageError(f"several repositories have a pull request {number}: {', '.join(sorted(views))}; name one")
        if not views:
            raise NotIndexed("no repository has published anything yet; `codequarry repos list` shows its progress")
        return query, next(iter(views.values()))[0]

    def _last_head_of_pull(
        self, number: str, error: VersionMissing
    ) -> tuple[VersionQuery, Mapping[str, tuple[View, ...]]]:
        """Return the last head of a pull request that was removed, if it is still searchable by its commit."""
        repo_ids = [self._head.id_of_repo(missing.repo) or "" for missing in error.missing]
        known = read_pull_request(self._engine.store, repo_ids[0], number) if len(repo_ids) == 1 else None
        if known is None or not known.head:
            raise error
        query = VersionQuery((), (VersionSpecifier("commit", known.head),))
        try:
            return query, self.at(query, self._selection.repos).scope.views
        except VersionMissing:
            raise error from None


def _described(query: VersionQuery, views: Mapping[str, tuple[View, ...]]) -> str:
    name = f"'{query.names[0].text}'" if query.names else "a default branch"
    return f"{name} is in {', '.join(sorted(views)) or 'none'}"
