"""How far each repository is: ready, importing, or not indexed; and how fresh an answer about it is."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from codequarry.search_api.catalog import Catalog
from codequarry.search_api.scope import Scope, View
from codequarry.shared.repositories import Repository

State = Literal["ready", "importing", "not indexed"]
READY: State = "ready"
IMPORTING: State = "importing"
NOT_INDEXED: State = "not indexed"

# An answer says how fresh the repositories of its hits are; beyond these it names no more of those without hits.
MAX_FRESHNESS = 50


@dataclass(frozen=True, slots=True)
class RepositoryState:
    """One repository at one version, with what is known of that version."""

    name: str
    branch: str
    state: State
    origin: str = ""
    indexed_commit: str | None = None
    indexed_at: str | None = None
    head_commit: str | None = None
    files: int = 0
    chunks: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    percent: int | None = None

    @property
    def commits_behind(self) -> int | None:
        """How many commits the index is behind: 0 where it stands at the newest one, None where that is unknown."""
        return 0 if self.head_commit and self.head_commit == self.indexed_commit else None

    def freshness(self) -> dict[str, Any]:
        """Return the entry of an answer's ``freshness``."""
        return {
            "repo": self.name,
            "ref": self.branch,
            "indexed_commit": self.indexed_commit,
            "head_commit": self.head_commit,
            "commits_behind": self.commits_behind,
            "indexed_at": self.indexed_at,
            "skipped_files": sum(self.skipped.values()),
            "state": self.state,
            "percent": self.percent,
        }


def ready_state(catalog: Catalog, view: View, repository: Repository | None) -> RepositoryState:
    """Return the state of a published repository."""
    publication = catalog.publication(view.timeline, view.number)
    summary, record = publication.summary, publication.record
    return RepositoryState(
        name=view.repo,
        branch=view.branch,
        state=READY,
        origin=repository.origin if repository else "",
        indexed_commit=view.commit or None,
        indexed_at=record.indexed_at if record else None,
        head_commit=(repository.head_commit or None) if repository else None,
        files=summary.files if summary else 0,
        chunks=summary.chunks if summary else 0,
        skipped=summary.skipped if summary else {},
    )


def pending_state(catalog: Catalog, name: str, repository: Repository | None) -> RepositoryState:
    """Return the state of a repository that has nothing published yet: importing, or not indexed."""
    progress = catalog.progress(name)
    return RepositoryState(
        name=name,
        branch=repository.branch if repository else "",
        state=IMPORTING if progress else NOT_INDEXED,
        origin=repository.origin if repository else "",
        head_commit=(repository.head_commit or None) if repository else None,
        percent=progress.percent if progress else None,
    )


def scope_states(
    catalog: Catalog, scope: Scope, repositories: Mapping[str, Repository], shown: set[str]
) -> Iterator[RepositoryState]:
    """Yield the states that an answer names: those of its hits, then what is pending, then others up to a limit."""
    names = sorted(scope.views, key=lambda name: (name not in shown, name))
    left = max(MAX_FRESHNESS, len(shown))
    for name in scope.pending[:left]:
        yield pending_state(catalog, name, repositories.get(name))
    for name in names[: max(left - len(scope.pending), len(shown))]:
        yield ready_state(catalog, scope.views[name], repositories.get(name))
