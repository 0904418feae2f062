"""A principal's view of the index: every request reads the head document, catalog and jobs through it.

Reads are cached across searches and principals; each result omits what the principal may not see.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from sys import intern
from threading import Lock
from time import monotonic
from typing import TypeVar

from codequarry.search_api.versions.local_heads import AskedVersion, LocalHeads, SeenTip
from codequarry.search_api.versions.views import Point
from codequarry.shared.access.grants import OWNER, Principal, permitted_catalog, permitted_head
from codequarry.shared.catalog.deliveries import Delivery, list_deliveries
from codequarry.shared.catalog.failures import FailedIndexing, list_failures
from codequarry.shared.catalog.ledger import published_transactions, read_head, read_transaction
from codequarry.shared.catalog.repositories import (
    Progress,
    RefHead,
    Repository,
    Summary,
    list_repositories,
    read_progress,
    read_ref_head,
    read_summary,
)
from codequarry.shared.jobs.job import Job, JobState
from codequarry.shared.jobs.job_list import read_job, shown_jobs, unknown_job
from codequarry.shared.store.port import DocumentStore, Store
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.refs import Ref
from codequarry.shared.versions.transactions import TransactionRecord

# Maximum age of the cached list of repositories. The list gives branch, origin and newest fetched commit; the
# scope of a search comes from the head document, which is never cached.
MAX_AGE_SECONDS = 2.0
# Summaries and records of published transactions never change, so only this weight bounds their cache. A publication
# weighs 1, plus 1 for every hundred paths and commits in its record. Two hundred branches that each change ten thousand
# paths weigh 20,200; a search of all of them reads all their records.
MAX_WEIGHT = 32_768
NAMES_A_UNIT = 100
# Maximum number of cached commits that fetches have seen.
MAX_KEPT = 4096
# Maximum number of cached histories; each has at most the few hundred transactions that retention keeps.
MAX_HISTORIES = 1024
# Maximum number of principals whose view of the head document and catalog is cached.
MAX_READERS = 64
# Shown instead of the real error, which may name any path, to principals who see only parts of the repository.
HIDDEN_ERROR = "it failed; only callers who may see the whole repository are shown the reason"


RepositoriesByName = Mapping[str, Repository]
Whole = TypeVar("Whole")


@dataclass(frozen=True, slots=True)
class Publication:
    """The record and summary of a published transaction; either may be missing from an incomplete index."""

    record: TransactionRecord | None
    summary: Summary | None

    @property
    def weight(self) -> int:
        """The weight of this publication in the cache."""
        record = self.record
        names = len(record.mask) + len(record.commits) + len(record.lost or ()) if record else 0
        return 1 + names // NAMES_A_UNIT


@dataclass(slots=True)
class _Cache:
    """The cache shared by all principals of one store; every access holds ``lock``."""

    lock: Lock = field(default_factory=Lock)
    repositories: Mapping[str, Repository] = field(default_factory=dict)
    read_at: float = float("-inf")
    publications: dict[tuple[int, int], Publication] = field(default_factory=dict)
    weight: int = 0
    histories: dict[int, tuple[tuple[int, int], Sequence[Point]]] = field(default_factory=dict)
    ref_heads: dict[tuple[str, str, str, int], tuple[float, RefHead | None]] = field(default_factory=dict)
    heads: dict[Principal, tuple[Head, Head]] = field(default_factory=dict)
    catalogs: dict[Principal, tuple[RepositoriesByName, RepositoriesByName]] = field(default_factory=dict)


class Catalog:
    """Reads the part of a store's catalog that ``principal`` may see, through a cache that all principals share."""

    def __init__(
        self,
        store: Store,
        on_read: Callable[[DocumentStore], None] = lambda _: None,
        clock: Callable[[], float] = monotonic,
        principal: Principal = OWNER,
        local_heads: LocalHeads | None = None,
    ) -> None:
        """Read from ``store``; ``on_read`` is called before each read of the repository list and may raise.

        Without ``local_heads``, newer commits of repositories on this machine are unknown until a run or a poll sees
        them.
        """
        self.store = store
        self._local_heads = local_heads
        self.principal = principal
        self._on_read = on_read
        self._clock = clock
        self._cache = _Cache()

    def seen_by(self, principal: Principal) -> "Catalog":
        """Return the catalog limited to what ``principal`` may see; the cache is shared."""
        seen = copy(self)
        seen.principal = principal
        return seen

    def over(self, store: Store) -> "Catalog":
        """Return the catalog over the same store with a different deadline; the cache is shared."""
        bound = copy(self)
        bound.store = store
        return bound

    def head(self) -> Head:
        """Return the current head document, limited to what the principal may see."""
        head = read_head(self.store)
        return self._permitted(head, permitted_head, self._cache.heads)

    def _permitted(
        self, whole: Whole, permit: Callable[[Whole, Principal], Whole], kept: dict[Principal, tuple[Whole, Whole]]
    ) -> Whole:
        """Return the permitted part of ``whole``, cached: filtering thousands of repositories takes milliseconds."""
        with self._cache.lock:
            known = kept.get(self.principal)
        if known is not None and known[0] is whole:
            return known[1]
        permitted = permit(whole, self.principal)
        with self._cache.lock:
            if len(kept) >= MAX_READERS:
                kept.clear()
            kept[self.principal] = (whole, permitted)
        return permitted

    def repositories(self, head: Head, asked: Iterable[str] = ()) -> Mapping[str, Repository]:
        """Return the repositories by name, rereading the list if it is old or lacks a name in ``head`` or ``asked``."""
        now = self._clock()
        cache = self._cache
        with cache.lock:
            known, age = cache.repositories, now - cache.read_at
        # A hidden repository's name must behave like an unknown name, even in response time.
        wanted = (*head.defaults, *filter(self.principal.may_know, asked))
        if age > MAX_AGE_SECONDS or any(name not in known for name in wanted) or _is_replaced(known, head):
            self._on_read(self.store)
            known = {repository.name: repository for repository in list_repositories(self.store)}
            with cache.lock:
                cache.repositories, cache.read_at = known, now
                cache.ref_heads.clear()
        return self._permitted(known, permitted_catalog, self._cache.catalogs)

    def expire(self) -> None:
        """Make the next call reread the list of repositories, for callers that need its current state."""
        with self._cache.lock:
            self._cache.read_at = float("-inf")

    def forget_local_tips(self) -> None:
        """Make the next call look into the repositories on this machine, for callers that need their current state."""
        if self._local_heads:
            self._local_heads.forget()

    def publication(self, timeline: int, number: int) -> Publication:
        """Return the record and summary of a published transaction."""
        key = (timeline, number)
        with self._cache.lock:
            kept = self._cache.publications.get(key)
        if kept is not None:
            return kept
        read = Publication(self._record(timeline, number), read_summary(self.store, timeline, number))
        with self._cache.lock:
            if self._cache.weight >= MAX_WEIGHT:
                self._cache.publications.clear()
                self._cache.weight = 0
            if read.record and read.summary:
                self._cache.publications[key] = read
                self._cache.weight += read.weight
        return read

    def _record(self, timeline: int, number: int) -> TransactionRecord | None:
        """Read a record; branches that replace the same paths share the texts of these paths in memory."""
        record = read_transaction(self.store, timeline, number)
        return replace(record, mask=tuple(map(intern, record.mask))) if record else None

    def points(self, head: Head, timeline: int) -> Sequence[Point]:
        """Return the transactions of a timeline that readers of ``head`` may request, oldest first."""
        state = head.timelines[timeline]
        version = (state.published, state.floor)
        with self._cache.lock:
            kept = self._cache.histories.get(timeline)
        if kept is not None and kept[0] == version:
            return kept[1]
        records = published_transactions(self.store, head, timeline)
        points = tuple(
            Point(record.number, record.commit, record.commit_count, record.ref, record.lost != (), record.rules)
            for record in records
        )
        with self._cache.lock:
            if len(self._cache.histories) >= MAX_HISTORIES:
                self._cache.histories.clear()
            self._cache.histories[timeline] = (version, points)
        return points

    def ref_head(self, repo: str, key: str, repo_id: str, published: int) -> RefHead | None:
        """Return a version's head as recorded by a run or a poll.

        The answer is at most ``MAX_AGE_SECONDS`` old, and no older than the transaction ``published``, whose run
        recorded the head before it published.
        """
        now = self._clock()
        asked = (repo, repo_id, key, published)
        with self._cache.lock:
            kept = self._cache.ref_heads.get(asked)
        if kept is not None and now - kept[0] <= MAX_AGE_SECONDS:
            return kept[1]
        read = read_ref_head(self.store, repo, key, repo_id)
        with self._cache.lock:
            if len(self._cache.ref_heads) >= MAX_KEPT:
                self._cache.ref_heads.clear()
            self._cache.ref_heads[asked] = (now, read)
        return read

    def local_tip(self, repository: Repository, ref: Ref, indexed: str) -> SeenTip | None:
        """Return the newest commit of a version in its repository's folder on this machine, or None if unknown."""
        return self._local_heads.tip(repository, ref, indexed) if self._local_heads else None

    def look(self, versions: Iterable[AskedVersion]) -> None:
        """Look for the newest commits of several versions at once, so that ``local_tip`` then knows them."""
        if self._local_heads:
            self._local_heads.look(versions)

    def progress(self, name: str, repo_id: str) -> Progress | None:
        """Return the current progress of a running import."""
        return read_progress(self.store, name, repo_id=repo_id)

    def failures(self, repository: Repository) -> list[FailedIndexing]:
        """Return the commits that can't be indexed, or none unless the principal sees the whole repository."""
        is_whole = self.principal.allowed_paths(repository.name, repository.id) == ()
        return list_failures(self.store, repository.id) if is_whole else []

    def job(self, job_id: str) -> Job | None:
        """Return a job, or None if it does not exist or its repository is hidden from the principal."""
        job = read_job(self.store, job_id)
        return self.shown(job) if job and self.principal.sees(job.repo, job.repo_id) else None

    def known_job(self, job_id: str) -> Job:
        """Return a job; raise the same NotIndexed for a hidden job as for an unknown job."""
        if (job := self.job(job_id)) is None:
            raise unknown_job(job_id)
        return job

    def jobs(self, states: Collection[JobState] | None = None, repo: str | None = None) -> list[Job]:
        """Return the visible jobs: running jobs, queued jobs in order, then ended jobs, latest first."""
        jobs = shown_jobs(self.store, states, repo)
        return [self.shown(job) for job in jobs if self.principal.sees(job.repo, job.repo_id)]

    def deliveries(self) -> list[Delivery]:
        """Return the deliveries for repositories that the principal sees in full, or all if it sees everything."""
        known = list_deliveries(self.store)
        if self.principal.sees_everything:
            return known
        return [item for item in known if item.repo and self.principal.allowed_paths(item.repo, item.repo_id) == ()]

    def shown(self, job: Job) -> Job:
        """Return a job, without its counts and errors if the principal sees only parts of the repository."""
        if not self.principal.allowed_paths(job.repo, job.repo_id):
            return job
        error = HIDDEN_ERROR if job.error else ""
        return replace(job, files_done=0, files_total=0, chunks_done=0, error=error, failures=())


def _is_replaced(known: RepositoriesByName, head: Head) -> bool:
    """Return whether a name in the head document now belongs to a different repository from the one in the list."""
    return any(known[name].id != head.timelines[key].repo_id for name, key in head.defaults.items() if name in known)


@dataclass(frozen=True, slots=True)
class CatalogHistory:
    """The transactions published up to ``head``, read from the catalog."""

    catalog: Catalog
    head: Head

    def points(self, timeline: int) -> Sequence[Point]:
        """Return the transactions of a timeline that readers may request, oldest first."""
        return self.catalog.points(self.head, timeline)

    def record(self, timeline: int, number: int) -> TransactionRecord | None:
        """Return the record of a published transaction."""
        return self.catalog.publication(timeline, number).record
