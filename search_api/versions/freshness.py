"""The state of each repository (ready, importing or not indexed) and the freshness of answers about it."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from codequarry.search_api.answers.freshness import IMPORTING, NOT_INDEXED, READY, Freshness, IndexState
from codequarry.search_api.versions.catalog import Catalog
from codequarry.search_api.versions.scope import VersionScope
from codequarry.search_api.versions.views import View
from codequarry.shared.catalog.repositories import RefHead, Repository, Summary
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.refs import RefKind

# Maximum number of versions in an answer's freshness; those that hits are from are always included.
MAX_FRESHNESS = 50


@dataclass(frozen=True, slots=True)
class RepositoryState:
    """One repository at one version.

    ``commits_behind`` is how many commits the indexed commit is behind the newest known commit; None if unknown.
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
            indexed_at=self.indexed_at,
            skipped_files=None if self.skipped is None else sum(self.skipped.values()),
            state=self.state,
            percent=self.percent,
        )


def ready_state(catalog: Catalog, head: Head, view: View, repository: Repository | None) -> RepositoryState:
    """Return the state of a published version."""
    publication = catalog.publication(view.timeline, view.number)
    summary, record = publication.summary or Summary(view.timeline, view.number, 0, 0), publication.record
    head_commit, behind = _distance(catalog, head, view, repository)
    return RepositoryState(
        name=view.repo,
        ref=view.ref.name,
        kind=view.ref.kind,
        state=READY,
        origin=repository.origin if repository else "",
        indexed_commit=view.commit or None,
        indexed_at=record.indexed_at if record else None,
        head_commit=head_commit,
        commits_behind=behind,
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
    for view in (*first, *islice(others, left)):
        yield ready_state(catalog, head, view, repositories.get(view.repo))


def _key(view: View) -> tuple[str, str]:
    return view.repo, view.ref.name


def _distance(catalog: Catalog, head: Head, view: View, repository: Repository | None) -> tuple[str | None, int | None]:
    """Return the newest known commit of a view's version, and how many commits the view is behind it."""
    if view.ref.kind == "commit":
        return view.commit, 0
    newest = head.timelines[view.timeline]
    is_former = not view.key and head.defaults.get(view.repo) != view.timeline
    if not view.key and repository and repository.branch != (head.default_branch(view.repo) or repository.branch):
        return None, _later_commits(catalog, head, view) or None  # the catalog has another branch
    seen = None
    head_commit = (repository.head_commit if repository else "") if not view.key else ""
    if not head_commit or head_commit != newest.commit:
        seen = catalog.ref_head(view.repo, view.key, newest.repo_id)
        head_commit = head_commit or (seen.commit if seen else "")
    if view.commit == head_commit:
        return head_commit, 0
    later = _later_commits(catalog, head, view)
    if not head_commit:
        return None, later or None
    ahead = None if is_former else _behind_of_newest(newest.commit, head_commit, seen)
    return head_commit, None if ahead is None or later is None else ahead + later


def _behind_of_newest(indexed: str, head_commit: str, seen: RefHead | None) -> int | None:
    """Return how many commits the newest indexed commit of a version is behind its head, or None if unknown."""
    if head_commit == indexed:
        return 0
    return seen.behind if seen and (seen.commit, seen.behind_of) == (head_commit, indexed) else None


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
