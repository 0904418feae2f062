"""Resolution of a selection against one read of the head document."""

from collections.abc import Mapping
from dataclasses import dataclass

from codequarry.search_api.query.selection import Selection
from codequarry.search_api.query.version_query import VersionQuery
from codequarry.search_api.versions.catalog import Catalog, CatalogHistory
from codequarry.search_api.versions.freshness import RepositoryState, ready_state
from codequarry.search_api.versions.missing_version import listed
from codequarry.search_api.versions.scope import VersionScope, resolve
from codequarry.search_api.versions.views import AsOf, View
from codequarry.shared.catalog.repositories import Repository
from codequarry.shared.errors import NotIndexed, UsageError
from codequarry.shared.model import Snapshot
from codequarry.shared.versions.head import Head


@dataclass(frozen=True, slots=True)
class Located:
    """The scope of a selection as of one head document."""

    head: Head
    repositories: Mapping[str, Repository]
    scope: VersionScope


@dataclass(frozen=True, slots=True)
class OneVersion:
    """One version of one repository, and how fresh it is."""

    view: View
    snapshot: Snapshot
    state: RepositoryState


def locate(catalog: Catalog, selection: Selection, as_of: AsOf | None = None) -> Located:
    """Read the head document and return the scope of a selection (rule 10); raise the errors of ``resolve``."""
    head = catalog.head()
    named = (*selection.repos, *(name for name, _ in selection.versions))
    repositories = catalog.repositories(head, named)
    scope = resolve(head, repositories, selection, CatalogHistory(catalog, head), as_of)
    return Located(head, repositories, scope)


def one_version(catalog: Catalog, repo: str, version: VersionQuery = VersionQuery()) -> OneVersion:  # noqa: B008 -- frozen
    """Return a version of a repository; raise NotIndexed if it is missing, UsageError if several are named."""
    found = locate(catalog, Selection(repos=(repo,), version=version))
    views = found.scope.views.get(repo, ())
    if not views:
        raise NotIndexed(f"repository '{repo}' has nothing published yet; repeat this when its first import is done")
    if len(views) > 1:
        names = listed([view.ref.name for view in views])
        raise UsageError(f"this needs one version of {repo}, but the request names several; name one of {names}")
    state = ready_state(catalog, found.head, views[0], found.repositories.get(repo))
    return OneVersion(views[0], views[0].snapshot(found.scope.hidden), state)
