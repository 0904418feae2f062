"""What somebody may see of the index: the one way from a request to head document, catalog and jobs.

What is read is kept for many searches and many readers; what a reader may not see is taken out on the way to them.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from threading import Lock
from time import monotonic
from typing import TypeVar

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
from codequarry.shared.errors import NotIndexed
from codequarry.shared.jobs.job import Job, JobState
from codequarry.shared.jobs.job_list import read_job, shown_jobs
from codequarry.shared.store.port import DocumentStore, Store
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.transactions import TransactionRecord

# How old the list of repositories may be: what a search sees comes from the head document, which is never cached;
# from the catalog come only branch, origin and the newest commit that a fetch has seen.
MAX_AGE_SECONDS = 2.0
# Summaries and records of published transactions never change; this bounds what a long life keeps of them. A record
# weighs as many as it has hundreds of paths and commits.
MAX_KEPT = 4096
NAMES_A_UNIT = 100
# Histories that are kept; a timeline has at most a few hundred transactions that may be asked for.
MAX_HISTORIES = 1024
# Readers for whom it is kept what they may see of head document and catalog.
MAX_READERS = 64
# What somebody reads of a failure who may not see all of the repository: the true one may name any path.
HIDDEN_ERROR = "it failed; whoever may see the whole repository is told why"


RepositoriesByName = Mapping[str, Repository]
Whole = TypeVar("Whole")


@dataclass(frozen=True, slots=True)
class Publication:
    """The record and summary of a published transaction; either may be missing in an index that was cut short."""

    record: TransactionRecord | None
    summary: Summary | None

    @property
    def weight(self) -> int:
        """What it costs to keep."""
        record = self.record
        names = len(record.mask) + len(record.commits) + len(record.lost or ()) if record else 0
        return 1 + names // NAMES_A_UNIT


@dataclass(slots=True)
class _Kept:
    """What the readers of one store share; ``lock`` is held for every look at it."""

    lock: Lock = field(default_factory=Lock)
    repositories: Mapping[str, Repository] = field(default_factory=dict)
    read_at: float = float("-inf")
    publications: dict[tuple[int, int], Publication] = field(default_factory=dict)
    weight: int = 0
    histories: dict[int, tuple[tuple[int, int], Sequence[Point]]] = field(default_factory=dict)
    ref_heads: dict[tuple[str, str, str], tuple[float, RefHead | None]] = field(default_factory=dict)
    heads: dict[Principal, tuple[Head, Head]] = field(default_factory=dict)
    catalogs: dict[Principal, tuple[RepositoriesByName, RepositoriesByName]] = field(default_factory=dict)


class Catalog:
    """Reads the catalog of one store as ``principal`` may see it, and keeps what can't have changed since."""

    def __init__(
        self,
        store: Store,
        on_read: Callable[[DocumentStore], None] = lambda _: None,
        clock: Callable[[], float] = monotonic,
        principal: Principal = OWNER,
    ) -> None:
        """Read from ``store``; ``on_read`` gets it whenever the list is read anew, and may refuse by raising."""
        self.store = store
        self.principal = principal
        self._on_read = on_read
        self._clock = clock
        self._kept = _Kept()

    def seen_by(self, principal: Principal) -> "Catalog":
        """Return the same catalog as somebody else may see it; what was read is shared."""
        seen = copy(self)
        seen.principal = principal
        return seen

    def over(self, store: Store) -> "Catalog":
        """Return the same catalog, read from the same store as another deadline has it; what was read is shared."""
        bound = copy(self)
        bound.store = store
        return bound

    def head(self) -> Head:
        """Return the head document as it is now, as far as the principal may see it."""
        head = read_head(self.store)
        return self._permitted(head, permitted_head, self._kept.heads)

    def _permitted(
        self, whole: Whole, permit: Callable[[Whole, Principal], Whole], kept: dict[Principal, tuple[Whole, Whole]]
    ) -> Whole:
        """Return what the principal may see of something; for thousands of repositories that takes milliseconds."""
        with self._kept.lock:
            known = kept.get(self.principal)
        if known is not None and known[0] is whole:
            return known[1]
        permitted = permit(whole, self.principal)
        with self._kept.lock:
            if len(kept) >= MAX_READERS:
                kept.clear()
            kept[self.principal] = (whole, permitted)
        return permitted

    def repositories(self, head: Head, asked: Iterable[str] = ()) -> Mapping[str, Repository]:
        """Return the repositories by name, read anew where they are old or lack one of ``head`` or one asked for."""
        now = self._clock()
        kept = self._kept
        with kept.lock:
            known, age = kept.repositories, now - kept.read_at
        # Neither the name of a hidden repository nor one of none at all makes a difference, not even in time.
        wanted = (*head.defaults, *filter(self.principal.may_know, asked))
        if age > MAX_AGE_SECONDS or any(name not in known for name in wanted) or _is_replaced(known, head):
            self._on_read(self.store)
            known = {repository.name: repository for repository in list_repositories(self.store)}
            with kept.lock:
                kept.repositories, kept.read_at = known, now
                kept.ref_heads.clear()
        return self._permitted(known, permitted_catalog, self._kept.catalogs)

    def expire(self) -> None:
        """Let the list of repositories be read anew: who asks what there is wants it as of now."""
        with self._kept.lock:
            self._kept.read_at = float("-inf")

    def publication(self, timeline: int, number: int) -> Publication:
        """Return what is known of a published transaction."""
        key = (timeline, number)
        with self._kept.lock:
            kept = self._kept.publications.get(key)
        if kept is not None:
            return kept
        read = Publication(read_transaction(self.store, timeline, number), read_summary(self.store, timeline, number))
        with self._kept.lock:
            if self._kept.weight >= MAX_KEPT:
                self._kept.publications.clear()
                self._kept.weight = 0
            if read.record and read.summary:
                self._kept.publications[key] = read
                self._kept.weight += read.weight
        return read

    def points(self, head: Head, timeline: int) -> Sequence[Point]:
        """Return the transactions of a timeline that readers of ``head`` may ask for, oldest first."""
        state = head.timelines[timeline]
        version = (state.published, state.floor)
        with self._kept.lock:
            kept = self._kept.histories.get(timeline)
        if kept is not None and kept[0] == version:
            return kept[1]
        records = published_transactions(self.store, head, timeline)
        points = tuple(
            Point(record.number, record.commit, record.commit_count, record.ref, record.lost != ())
            for record in records
        )
        with self._kept.lock:
            if len(self._kept.histories) >= MAX_HISTORIES:
                self._kept.histories.clear()
            self._kept.histories[timeline] = (version, points)
        return points

    def ref_head(self, repo: str, key: str, repo_id: str) -> RefHead | None:
        """Return what a fetch has seen of a version, at most ``MAX_AGE_SECONDS`` ago."""
        now = self._clock()
        with self._kept.lock:
            kept = self._kept.ref_heads.get((repo, repo_id, key))
        if kept is not None and now - kept[0] <= MAX_AGE_SECONDS:
            return kept[1]
        read = read_ref_head(self.store, repo, key, repo_id)
        with self._kept.lock:
            if len(self._kept.ref_heads) >= MAX_KEPT:
                self._kept.ref_heads.clear()
            self._kept.ref_heads[repo, repo_id, key] = (now, read)
        return read

    def progress(self, name: str, repo_id: str) -> Progress | None:
        """Return how far a running import is, as of now."""
        return read_progress(self.store, name, repo_id=repo_id)

    def failures(self, repository: Repository) -> list[FailedIndexing]:
        """Return the commits that can't be indexed, to a principal who sees the whole repository."""
        is_whole = self.principal.allowed_paths(repository.name, repository.id) == ()
        return list_failures(self.store, repository.id) if is_whole else []

    def job(self, job_id: str) -> Job | None:
        """Return a job; None if there is none, or it is of a repository that the principal may not see."""
        job = read_job(self.store, job_id)
        return self.shown(job) if job and self.principal.sees(job.repo, job.repo_id) else None

    def known_job(self, job_id: str) -> Job:
        """Return a job; NotIndexed, in the same words, where there is none that the principal may see."""
        if (job := self.job(job_id)) is None:
            raise NotIndexed(f"there is no job '{job_id}'; jobs that ended are kept for a day")
        return job

    def jobs(self, states: Collection[JobState] | None = None, repo: str | None = None) -> list[Job]:
        """Return the jobs that the principal may see: who runs or goes first, then those that ended, latest first."""
        jobs = shown_jobs(self.store, states, repo)
        return [self.shown(job) for job in jobs if self.principal.sees(job.repo, job.repo_id)]

    def deliveries(self) -> list[Delivery]:
        """Return what code hosts told of repositories that the principal sees whole, and all else to who sees all."""
        told = list_deliveries(self.store)
        if self.principal.sees_everything:
            return told
        return [one for one in told if one.repo and self.principal.allowed_paths(one.repo, one.repo_id) == ()]

    def shown(self, job: Job) -> Job:
        """Return a job without what it tells of paths that the principal may not see: counts, and names in errors."""
        if not self.principal.allowed_paths(job.repo, job.repo_id):
            return job
        error = HIDDEN_ERROR if job.error else ""
        return replace(job, files_done=0, files_total=0, chunks_done=0, error=error, failures=())


def _is_replaced(known: RepositoriesByName, head: Head) -> bool:
    """Return whether a name of the head document belongs to another repository than when the list was read."""
    return any(known[name].id != head.timelines[key].repo_id for name, key in head.defaults.items() if name in known)


@dataclass(frozen=True, slots=True)
class CatalogPast:
    """What was published before ``head``, from the catalog."""

    catalog: Catalog
    head: Head

    def points(self, timeline: int) -> Sequence[Point]:
        """Return the transactions of a timeline that readers may ask for, oldest first."""
        return self.catalog.points(self.head, timeline)

    def record(self, timeline: int, number: int) -> TransactionRecord | None:
        """Return the record of a published transaction."""
        return self.catalog.publication(timeline, number).record
