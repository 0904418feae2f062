"""The list of indexed repositories: `GET /repos`, `codequarry repos list`."""

from collections.abc import Iterator, Sequence

from codequarry.search_api.answers.repositories import FailedCommit, IndexedRepository, IndexedVersion
from codequarry.search_api.query.selection import Selection
from codequarry.search_api.versions.catalog import Catalog, CatalogHistory
from codequarry.search_api.versions.freshness import RepositoryState, pending_state, ready_state
from codequarry.search_api.versions.local_heads import AskedVersion
from codequarry.search_api.versions.lookup import lines_of, timelines_by_repo
from codequarry.search_api.versions.resolution import Located, locate
from codequarry.search_api.versions.views import Moment, View, view_of
from codequarry.shared.catalog.failures import FailedIndexing
from codequarry.shared.catalog.repositories import Repository, default_branch
from codequarry.shared.index.identity import read_identity
from codequarry.shared.versions.refs import Ref


def describe(catalog: Catalog) -> tuple[IndexedRepository, ...]:
    """Return every repository of a catalog with its state and versions, sorted by name."""
    catalog.expire()
    found = locate(catalog, Selection())
    identity = read_identity(catalog.store)
    model = identity.model if identity else None
    names = sorted({*found.scope.views, *found.scope.pending})
    timelines = timelines_by_repo(found.head)
    return tuple(_described(found, catalog, name, timelines.get(name, []), model) for name in names)


def _described(
    found: Located, catalog: Catalog, name: str, timelines: Sequence[int], model: str | None
) -> IndexedRepository:
    repository = found.repositories.get(name) or Repository(name, "", "")
    versions = list(_versions(found, catalog, timelines, repository))
    catalog.look(AskedVersion(repository, view.ref, found.head.timelines[view.timeline].commit) for view in versions)
    views = found.scope.views.get(name)
    if views:
        state = ready_state(catalog, found.head, views[0], repository)
    else:
        state = pending_state(catalog, name, repository)
    return IndexedRepository(
        name=state.name,
        origin=state.origin,
        branch=state.ref,
        indexed_commit=state.indexed_commit,
        indexed_at=state.indexed_at,
        head_commit=state.head_commit,
        commits_behind=state.commits_behind,
        head_seen_at=state.head_seen_at,
        files=state.files,
        chunks=state.chunks,
        skipped=None if state.skipped is None else dict(sorted(state.skipped.items())),
        state=state.state,
        percent=state.percent,
        model=model,
        versions=tuple(_version(ready_state(catalog, found.head, view, repository)) for view in versions),
        failures=tuple(_failed(failure, repository) for failure in catalog.failures(repository)),
    )


def _failed(failure: FailedIndexing, repository: Repository) -> FailedCommit:
    ref = Ref.of_key(failure.ref).name if failure.ref else repository.branch
    return FailedCommit(ref, failure.commit, failure.reason, failure.failed_at)


def _versions(found: Located, catalog: Catalog, timelines: Sequence[int], repository: Repository) -> Iterator[View]:
    """Yield every version of a repository, the default branch first."""
    head = found.head
    moment = Moment(head, CatalogHistory(catalog, head), head.counter, tuple(sorted(head.open)))
    lines = lines_of(moment, repository.name, default_branch(head, repository), timelines)
    default = head.defaults.get(repository.name)
    for line in sorted(lines, key=lambda line: (line.timeline != default, line.ref.key)):
        point = None if line.former else moment.newest(line.timeline)
        if point:
            yield view_of(moment, line.timeline, line.ref, point)


def _version(state: RepositoryState) -> IndexedVersion:
    return IndexedVersion(
        ref=state.ref,
        kind=state.kind,
        indexed_commit=state.indexed_commit,
        indexed_at=state.indexed_at,
        head_commit=state.head_commit,
        commits_behind=state.commits_behind,
        head_seen_at=state.head_seen_at,
        files=state.files,
        chunks=state.chunks,
    )
