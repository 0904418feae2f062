"""The versions that must be indexed before a request can be answered: missing, outdated, or without a commit."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from codequarry.search_api.query.version_query import VersionSpecifier
from codequarry.search_api.search.engine import SearchEngine
from codequarry.search_api.versions.commit_wait import lacking_view
from codequarry.search_api.versions.freshness import ready_state
from codequarry.search_api.versions.merge_base import Fork, MergeBaseUnknown
from codequarry.search_api.versions.missing_version import VersionMissing
from codequarry.search_api.versions.resolution import Located
from codequarry.search_api.versions.views import View
from codequarry.shared.catalog.repositories import Repository
from codequarry.shared.errors import UsageError
from codequarry.shared.jobs.job import PRIORITIES, JobKind, JobRequest
from codequarry.shared.versions.refs import NAMED_KINDS, Ref

# The name of a default branch of an origin whose HEAD is detached.
DETACHED = "HEAD"


@dataclass(frozen=True, slots=True)
class NeededVersions:
    """What a request asks for: ``locate`` resolves its versions in the current index.

    Only if the request has ``named`` its repositories are their default branches indexed: a search over everything must
    not start every pending import. ``min_commit`` is the commit that the only version must have.
    """

    locate: Callable[[SearchEngine], Sequence[Located]]
    named: bool
    min_commit: str | None = None


@dataclass(frozen=True, slots=True)
class NeededVersion:
    """A version to be indexed; ``ref`` is its name in the job, "" for the default branch of a new repository.

    An unknown merge base is found by a job of its own ``kind``; once known, it is a version like any other.
    ``is_missing`` if the index lacks the version; otherwise the index has it, but not its newest known ``commit`` (or
    the commit that the request demands).
    """

    repo: str
    ref: str
    shown: str
    candidates: tuple[Ref, ...] = ()
    is_missing: bool = True
    commit: str = ""
    kind: JobKind = "index"

    @property
    def key(self) -> tuple[str, str]:
        """The version, whatever the reason for indexing it."""
        return self.repo, self.ref

    @property
    def failure(self) -> str:
        """What to say if the job of a missing version failed."""
        if self.kind == "merge-base":
            return f"{self} is not known, and finding it failed"
        return f"{self} is not indexed, and indexing it failed"

    def __str__(self) -> str:
        return self.shown

    def request(self, repository: Repository, principal: str) -> JobRequest:
        """Return the request for the job that indexes the version."""
        return JobRequest(
            repository.name,
            repository.origin,
            self.ref,
            self.candidates,
            trigger="search",
            requested_by=principal,
            priority=PRIORITIES["urgent"],
            kind=self.kind,
            commit=self.commit,
            joins_running=self.is_missing,
            guarded=repository.guarded,
            repo_id=repository.id,
        )


def needed_versions(engine: SearchEngine, wanted: NeededVersions) -> Iterator[NeededVersion]:
    """Yield the versions to be indexed; those that are missing hide those that are outdated.

    Raise UsageError if it is unclear which repository a version belongs to or which version must have ``min_commit``,
    and VersionMissing for a working tree, which no request may make the service read.
    """
    try:
        located = wanted.locate(engine)
    except VersionMissing as error:
        yield _missing(error)
        return
    except MergeBaseUnknown as error:
        yield _merge_base(error.fork)
        return
    pending = [name for found in located for name in found.scope.pending if wanted.named]
    yield from (NeededVersion(name, "", f"repository '{name}'") for name in pending)
    for found in located:
        lacking = lacking_view(engine.store, found, wanted.min_commit) if wanted.min_commit else None
        if lacking is not None and _can_move(lacking):
            yield _newer(lacking, wanted.min_commit or "")
        elif wanted.named or len(found.scope.views) == 1:
            yield from _outdated(engine, found, named=wanted.named)


def _missing(error: VersionMissing) -> NeededVersion:
    candidates = error.missing[0].asked.candidates() if error.missing else ()
    if any(ref.kind == "workspace" for ref in candidates):
        # A request must not make the service read folders on its machine.
        raise error
    if len(error.missing) != 1:
        raise UsageError(f"name the repository in which to index the version: {error.problem}") from error
    repo, asked = error.missing[0].repo, error.missing[0].asked
    return NeededVersion(repo, asked.text, _shown(asked, repo), candidates)


def _merge_base(fork: Fork) -> NeededVersion:
    commits = (Ref("commit", commit) for commit in fork.commits)
    pull = (Ref("pull", fork.pull),) if fork.pull else ()
    name = "...".join(fork.commits)
    return NeededVersion(fork.repo, name, f"the merge base of {fork}", (*commits, *pull), kind="merge-base")


def _shown(asked: VersionSpecifier, repo: str) -> str:
    return f"{asked} of {repo}"


def _outdated(engine: SearchEngine, found: Located, *, named: bool) -> Iterator[NeededVersion]:
    """Yield the versions whose newest known commit is not indexed."""
    for name, views in found.scope.views.items():
        for view in views:
            # A request that names neither the repository nor the version asks for whatever is indexed.
            if not _can_move(view) or not (named or view.key):
                continue
            state = ready_state(engine.catalog, found.head, view, found.repositories.get(name))
            if state.head_commit not in (None, state.indexed_commit):
                yield _newer(view, state.head_commit or "")


def _can_move(view: View) -> bool:
    return not view.fixed and view.ref.kind in NAMED_KINDS


def _newer(view: View, commit: str) -> NeededVersion:
    # The branch is named even if it is the default branch: the origin's HEAD may name another branch by now, and a job
    # without a name would make that the default branch.
    is_detached = not view.key and view.ref.value == DETACHED
    ref = "" if is_detached else view.ref.key
    candidates = () if is_detached else (view.ref,)
    return NeededVersion(view.repo, ref, f"{view.ref.name} of {view.repo}", candidates, is_missing=False, commit=commit)
