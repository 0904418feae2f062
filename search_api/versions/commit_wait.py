"""Waits for ``min_commit`` until the index has the commit, or raises an error that shows the progress."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore
from time import monotonic, sleep

from codequarry.search_api.answers.freshness import Freshness
from codequarry.search_api.versions.catalog import Catalog
from codequarry.search_api.versions.freshness import RepositoryState, pending_state, ready_state
from codequarry.search_api.versions.resolution import Located
from codequarry.search_api.versions.views import View
from codequarry.shared.catalog.ledger import published_transactions
from codequarry.shared.errors import AmbiguousCommit, NotReached, TooManyRequests, UsageError
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.versions.refs import commit_digits
from codequarry.shared.versions.transactions import TransactionRecord, check_here

# Interval between checks; a waiting request learns of a publication within this time.
POLL_SECONDS = 0.1

Locate = Callable[[], Located]
Pause = Callable[[float], None]


class LateCommit(NotReached):
    """The commit was not indexed in time; ``freshness`` says what is indexed."""

    def __init__(self, message: str, freshness: tuple[Freshness, ...]) -> None:
        super().__init__(message)
        self.freshness = freshness


class WaitingPlaces:
    """Limits the requests that wait for the index; the other threads serve requests that need not wait."""

    def __init__(self, threads: int) -> None:
        """Allow half of a process's ``threads`` to wait."""
        self._free = BoundedSemaphore(max(1, threads // 2))

    @contextmanager
    def taken(self, rest: Pause = sleep) -> Iterator[Pause]:
        """Yield a pause function; its first call takes a place, or raises TooManyRequests if none is free."""
        held = False

        def pause(seconds: float) -> None:
            nonlocal held
            if not held and not self._free.acquire(blocking=False):
                raise TooManyRequests("too many requests are waiting for the index; retry later")
            held = True
            rest(seconds)

        try:
            yield pause
        finally:
            if held:
                self._free.release()


def await_commit(
    store: DocumentStore, catalog: Catalog, find: Locate, wanted: str, wait_ms: int, pause: Pause = sleep
) -> Located:
    """Return the scope as soon as its version has the commit; raise NotReached after ``wait_ms``.

    Raise IndexMoved if the commit will be in another edition, UsageError if the scope has several versions, because it
    would not be clear which version must have the commit.
    """
    short = commit_digits(wanted)
    deadline = monotonic() + wait_ms / 1000
    lacking: View | None = None
    while True:
        found = find()
        view = _one_view(found)
        # Records are long and change only with a publication, so they are not reread until the next publication.
        if view is not None and view != lacking and _holds(store, found, view, short):
            return found
        lacking = view
        check_here(found.head)
        if view is not None and view.fixed:
            raise late_commit(catalog, found, f"commit {wanted} is not in the history of the requested commit")
        if monotonic() >= deadline:
            problem = f"commit {wanted} was not indexed within {wait_ms} ms; use a longer wait_ms"
            raise late_commit(catalog, found, problem)
        pause(min(POLL_SECONDS, max(0.0, deadline - monotonic())))


def lacking_view(store: DocumentStore, found: Located, wanted: str) -> View | None:
    """Return the version that must have a commit and lacks it; None if it has it, or if nothing is published.

    Raise UsageError if the scope has several versions.
    """
    view = _one_view(found)
    return None if view is None or _holds(store, found, view, commit_digits(wanted)) else view


def _one_view(found: Located) -> View | None:
    """Return the version that must have the commit, or None while its repository has published nothing."""
    scope = found.scope
    views = [view for several in scope.views.values() for view in several]
    if len(views) + len(scope.pending) != 1:
        raise UsageError("min_commit applies to one version of one repository; name the repository in filters.repo")
    return views[0] if views else None


def _holds(store: DocumentStore, found: Located, view: View, short: str) -> bool:
    """Return whether the published transactions of a version show a commit in its history."""
    if view.commit.startswith(short):
        return True
    records = published_transactions(store, found.head, view.timeline)
    history = _history(record for record in records if record.number <= view.number)
    commits = sorted(commit for commit in history if commit.startswith(short))
    if len(commits) > 1 and short not in commits:
        raise AmbiguousCommit(short, commits)
    return bool(commits)


def _history(records: Iterable[TransactionRecord]) -> set[str]:
    """Return the commits known to be in the history of the last of ``records`` (oldest first).

    Commits that a force-push removed are left out; if it is unknown which, all earlier commits are. An answer without
    the commit would be wrong, whereas a 504 for a version that has it is only late.
    """
    commits: set[str] = set()
    for record in records:
        commits = set() if record.lost is None else commits.difference(record.lost)
        commits.update((record.commit, *record.commits))
    return commits


def late_commit(catalog: Catalog, found: Located, problem: str) -> LateCommit:
    """Return the error for a commit that the index does not have, with the state of the version that must have it."""
    states = list(_states(catalog, found))
    there = ", ".join(f"{state.name} {state.ref} at {(state.indexed_commit or 'nothing')[:12]}" for state in states)
    return LateCommit(f"{problem} ({there})", tuple(state.freshness() for state in states))


def _states(catalog: Catalog, found: Located) -> list[RepositoryState]:
    scope, repositories = found.scope, found.repositories
    ready = [
        ready_state(catalog, found.head, view, repositories.get(name))
        for name, views in scope.views.items()
        for view in views
    ]
    return ready + [pending_state(catalog, name, repositories.get(name)) for name in scope.pending]
