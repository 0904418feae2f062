"""The state of each repository (ready, importing or not indexed) and the freshness of answers about it."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from codequarry.search_api.answers.freshness import IMPORTING, NOT_INDEXED, READY, Freshness, IndexState
from codequarry.search_api.versions.catalog import Catalog
from codequarry.search_api.versions.local_heads import AskedVersion, SeenTip
from codequarry.search_api.versions.scope import VersionScope
from codequarry.search_api.versions.views import View
from codequarry.shared.catalog.repositories import Repository, Summary
from codequarry.shared.versions.head import Head, Timeline
from codequarry.shared.versions.refs import NAMED_KINDS, RefKind

# Maximum number of versions in an answer's freshness; those that hits are from are always included.
MAX_FRESHNESS = 50


@dataclass(frozen=True, slots=True)
class RepositoryState:
    """One repository at one version.

    ``commits_behind`` is how many commits the indexed commit is behind ``head_commit``, the newest commit that was seen
    at the origin, at ``head_seen_at``; each is None if unknown.
    Counts of files and chunks are None if the principal sees only some paths, because they cover all paths.
    """

    name: str
    ref: str
    kind: RefKind
    state: IndexState
    origin: str = ""
    indexed_commit: str | None = None
    indexed_at: str | None = None
    head_commit: str | None = None
    commits_behind: int | None = None
    head_seen_at: str | None = None
    files: int | None = 0
    chunks: int | None = 0
    skipped: Mapping[str, int] | None = field(default_factory=dict)
    percent: int | None = None

    def freshness(self) -> Freshness:
        """Return the entry for an answer's ``freshness``."""
        return Freshness(
            repo=self.name,
            ref=self.ref,
            kind=self.kind,
            indexed_commit=self.indexed_commit,
            head_commit=self.head_commit,
            commits_behind=self.commits_behind,
            head_seen_at=self.head_seen_at,
            indexed_at=self.indexed_at,
            skipped_files=None if self.skipped is None else sum(self.skipped.values()),
            state=self.state,
            percent=self.percent,
        )


def ready_state(catalog: Catalog, head: Head, view: View, repository: Repository | None) -> RepositoryState:
    """Return the state of a published version."""
    publication = catalog.publication(view.timeline, view.number)
    summary, record = publication.summary or Summary(view.timeline, view.number, 0, 0), publication.record
    distance = _distance(catalog, head, view, repository)
    return RepositoryState(
        name=view.repo,
        ref=view.ref.name,
        kind=view.ref.kind,
        state=READY,
        origin=repository.origin if repository else "",
        indexed_commit=view.commit or None,
        indexed_at=record.indexed_at if record else None,
        head_commit=distance.head_commit,
        commits_behind=distance.behind,
        head_seen_at=distance.seen_at,
        files=None if view.allowed else summary.files,
        chunks=None if view.allowed else summary.chunks,
        skipped=None if view.allowed else summary.skipped,
    )


def pending_state(catalog: Catalog, name: str, repository: Repository | None) -> RepositoryState:
    """Return the state of a repository without any publication: importing or not indexed."""
    progress = catalog.progress(name, repository.id if repository else "")
    return RepositoryState(
        name=name,
        ref=repository.branch if repository else "",
        kind="branch",
        state=IMPORTING if progress else NOT_INDEXED,
        origin=repository.origin if repository else "",
        head_commit=(repository.head_commit or None) if repository else None,
        head_seen_at=(repository.fetched_at or None) if repository else None,
        percent=progress.percent if progress else None,
    )


def scope_states(
    catalog: Catalog,
    head: Head,
    scope: VersionScope,
    repositories: Mapping[str, Repository],
    shown: Collection[tuple[str, str]],
) -> Iterator[RepositoryState]:
    """Yield the states for an answer: pending repositories, then versions up to ``MAX_FRESHNESS``.

    The versions in ``shown`` (repository and ref), which the hits are from, are always included and come first.
    """
    for name in scope.pending[:MAX_FRESHNESS]:
        yield pending_state(catalog, name, repositories.get(name))
    repos = {repo for repo, _ in shown}
    first = [view for name in sorted(repos & scope.views.keys()) for view in scope.views[name] if _key(view) in shown]
    names = sorted(scope.views, key=lambda name: (name not in repos, name))
    others = (view for name in names for view in scope.views[name] if _key(view) not in shown)
    left = max(0, MAX_FRESHNESS - len(scope.pending) - len(first))
    views = [*first, *islice(others, left)]
    known = [(repository, view) for view in views if (repository := repositories.get(view.repo))]
    catalog.look(AskedVersion(repository, view.ref, head.timelines[view.timeline].commit) for repository, view in known)
    for view in views:
        yield ready_state(catalog, head, view, repositories.get(view.repo))


def _key(view: View) -> tuple[str, str]:
    return view.repo, view.ref.name


@dataclass(frozen=True, slots=True)
class _Distance:
    """The newest known commit of a version, how many commits a view is behind it, and when that was seen."""

    head_commit: str | None
    behind: int | None
    seen_at: str | None


def _distance(catalog: Catalog, head: Head, view: View, repository: Repository | None) -> _Distance:
    if view.ref.kind == "commit":
        return _Distance(view.commit, 0, None)
    newest = head.timelines[view.timeline]
    seen = repository and catalog.local_tip(repository, view.ref, newest.commit)
    seen = seen or _recorded(catalog, head, view, repository) or SeenTip(None, "")
    at = seen.seen_at or None
    if view.commit == seen.commit:
        return _Distance(seen.commit, 0, at)
    later = _later_commits(catalog, head, view)
    if seen.commit is None:
        return _Distance(None, later or None, at)
    is_former = not view.key and head.defaults.get(view.repo) != view.timeline
    ahead = None if is_former else _ahead(catalog, view, newest, seen.commit)
    return _Distance(seen.commit, None if ahead is None or later is None else ahead + later, at)


def _recorded(catalog: Catalog, head: Head, view: View, repository: Repository | None) -> SeenTip | None:
    """Return the newest commit of a view's version that a run or a poll has recorded."""
    listed_at = repository.fetched_at if repository else ""
    newest = head.timelines[view.timeline]
    if view.key:
        seen = catalog.ref_head(view.repo, view.key, newest.repo_id, newest.published)
        # The origin's answers cover branches, tags and pull requests; a changed commit is recorded with each version.
        covered_at = listed_at if view.ref.kind in NAMED_KINDS else ""
        return SeenTip(seen.commit, max(seen.fetched_at, covered_at)) if seen else None
    if repository is None or repository.branch != (head.default_branch(view.repo) or repository.branch):
        return None  # the catalog has another branch
    if repository.head_commit == newest.commit:
        return SeenTip(newest.commit, listed_at)
    seen = catalog.ref_head(view.repo, "", newest.repo_id, newest.published)
    # The cached list of repositories may be older than the record of the branch.
    if seen and (seen.fetched_at >= listed_at or not repository.head_commit):
        return SeenTip(seen.commit, seen.fetched_at)
    return SeenTip(repository.head_commit, listed_at) if repository.head_commit else None


def _ahead(catalog: Catalog, view: View, newest: Timeline, head_commit: str) -> int | None:
    """Return how many commits the newest indexed commit of a version is behind its head, or None if unknown."""
    if head_commit == newest.commit:
        return 0
    seen = catalog.ref_head(view.repo, view.key, newest.repo_id, newest.published)
    return seen.behind if seen and (seen.commit, seen.behind_of) == (head_commit, newest.commit) else None


def _later_commits(catalog: Catalog, head: Head, view: View) -> int | None:
    """Return how many commits the timeline gained after a view, or None if unknown."""
    if view.number == head.timelines[view.timeline].published:
        return 0
    total, commit = 0, view.commit
    for point in catalog.points(head, view.timeline):
        if point.number <= view.number:
            continue
        if (not point.commit_count and point.commit != commit) or (point.rewrote and commit != view.commit):
            return None  # its commits were not recorded, or it may have removed commits that were counted already
        total, commit = total + point.commit_count, point.commit
    return total
