"""Requests with ``?index=true``, which first index the versions that they name and the index lacks or has outdated."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from time import monotonic

from codequarry.search_api.answers.comparison import ComparisonAnswer
from codequarry.search_api.answers.freshness import NOT_REFRESHED
from codequarry.search_api.answers.hits import SearchAnswer
from codequarry.search_api.answers.jobs import JobStatus, PendingSearch, job_status
from codequarry.search_api.jobs.needed_versions import NeededVersion, NeededVersions, needed_versions
from codequarry.search_api.jobs.queue import Indexer
from codequarry.search_api.query.diff_request import DiffRequest
from codequarry.search_api.query.plan import make_plan
from codequarry.search_api.query.request import SearchRequest
from codequarry.search_api.search.compared_versions import locate_both, locate_named
from codequarry.search_api.search.comparison import compare
from codequarry.search_api.search.engine import SearchEngine
from codequarry.search_api.versions.catalog import Catalog
from codequarry.search_api.versions.commit_wait import LateCommit, Pause, late_commit
from codequarry.search_api.versions.resolution import Located
from codequarry.shared.errors import IndexingOff, NotIndexed, TooManyRequests
from codequarry.shared.jobs.job import Job

# A waiting request reads its job's document from the store at this interval.
POLL_SECONDS = 0.1
# Retry-After for a job that takes longer than a request waits.
RETRY_AFTER_SECONDS = 2


def search_or_index(
    engine: SearchEngine, indexer: Indexer | None, request: SearchRequest, rest: Pause | None = None
) -> SearchAnswer | PendingSearch:
    """Answer a search after indexing what it needs, within ``wait_ms``.

    In addition to the errors of ``SearchEngine.search``, raise those of ``index_first``. The answer's ``degraded``
    names the outdated versions that could not be brought up to date.
    """
    plan = make_plan(request)
    named = bool(plan.selection.repos or request.repos)
    wanted = NeededVersions(lambda engine: (engine.locate(plan),), named, request.min_commit)
    done = index_first(engine, indexer, wanted, request.wait_ms, rest)
    if isinstance(done, PendingSearch):
        return done
    answer = engine.search(request)
    return replace(answer, degraded=(*answer.degraded, *done.warnings))


def compare_or_index(
    engine: SearchEngine, indexer: Indexer | None, request: DiffRequest
) -> ComparisonAnswer | PendingSearch:
    """Answer a comparison after indexing what its two versions need; raise as ``search_or_index`` does."""
    plan = make_plan(request.search)
    named = bool(plan.selection.repos)

    def located(engine: SearchEngine) -> tuple[Located, ...]:
        versions = locate_named(engine, plan, request)
        # A default branch that is still to be imported has no merge base yet.
        if named and any(found.scope.pending for found in versions):
            return versions
        return (*versions, locate_both(engine, plan, request).before)

    wanted = NeededVersions(located, named)
    done = index_first(engine, indexer, wanted, request.search.wait_ms)
    if isinstance(done, PendingSearch):
        return done
    answer = compare(engine, request)
    return replace(answer, degraded=(*answer.degraded, *done.warnings))


@dataclass(frozen=True, slots=True)
class Ready:
    """The versions can be searched; ``warnings`` name those that could not be brought up to date."""

    warnings: tuple[str, ...] = ()


def index_first(
    engine: SearchEngine, indexer: Indexer | None, wanted: NeededVersions, wait_ms: int, rest: Pause | None = None
) -> Ready | PendingSearch:
    """Index what a request needs; return Ready, or the jobs that still run after ``wait_ms``.

    Raise the errors of ``needed_versions``, IndexingOff or NotIndexed for a missing version that can't be indexed, and
    LateCommit if the version does not have ``min_commit`` after it was indexed.
    """
    engine.catalog.forget_local_tips()  # a client that has just committed must get its commit
    return _IndexingFirst(engine, indexer, wanted, monotonic() + wait_ms / 1000, rest or engine.rest).run()


@dataclass(slots=True)
class _IndexingFirst:
    engine: SearchEngine
    indexer: Indexer | None
    wanted: NeededVersions
    deadline: float
    rest: Pause
    jobs: dict[tuple[str, str], Job] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def run(self) -> Ready | PendingSearch:
        while (needed := self._next()) is not None:
            with self.engine.waiting_places.taken(self.rest) as pause:
                job = _await(self.engine.catalog, self._submit(needed), self.deadline, pause)
            self.jobs[needed.key] = job
            if not job.is_finished:
                return _pending(self.jobs.values())
            if job.state != "done":
                self._fail(needed, job.error or job.state)
        return Ready(tuple(self.warnings))

    def _next(self) -> NeededVersion | None:
        """Return the next version that needs a job; raise an error for a version that its job did not help."""
        for is_fresh in (False, True):
            needed = next(self._open_needs(), None)
            if needed is None or needed.is_missing or is_fresh:
                return needed
            # The records of the newest commits may be older than the head document. Only a version that seems outdated
            # pays for reading them again.
            self.engine.catalog.expire()
        return None

    def _open_needs(self) -> Iterator[NeededVersion]:
        for needed in needed_versions(self.engine, self.wanted):
            if needed.key in self.jobs:
                self._check(needed)
            elif needed.is_missing or self.indexer is not None:
                yield needed

    def _check(self, needed: NeededVersion) -> None:
        """Raise an error if a version is still missing, or still lacks ``min_commit``, after its job."""
        if needed.is_missing:
            raise NotIndexed(f"{needed} was indexed but can't be found; it may have been removed meanwhile")
        if needed.commit == self.wanted.min_commit:
            problem = f"commit {needed.commit} is not in the history of {needed}, which was indexed again just now"
            raise self._late(f"{problem}; was it pushed to this version?")

    def _fail(self, needed: NeededVersion, why: str) -> None:
        if needed.is_missing:
            raise NotIndexed(f"{needed.failure}: {why}")
        if needed.commit == self.wanted.min_commit:
            raise self._late(f"commit {needed.commit} is not in {needed}, and indexing it failed: {why}")
        self.warnings.append(f"{NOT_REFRESHED}{needed} could not be brought up to date: {why}")

    def _late(self, problem: str) -> LateCommit:
        [found] = self.wanted.locate(self.engine)
        return late_commit(self.engine.catalog, found, problem)

    def _submit(self, needed: NeededVersion) -> Job:
        engine = self.engine
        if self.indexer is None:
            raise IndexingOff(
                f"{needed} is not indexed, and this service does not index; its operator can run codequarry index"
            )
        repository = engine.catalog.repositories(engine.head(), (needed.repo,)).get(needed.repo)
        if repository is None:
            raise NotIndexed(f"repository '{needed.repo}' is not in the catalog any more; add it again")
        request = needed.request(repository, engine.catalog.principal.name)
        return engine.catalog.shown(self.indexer.submit(request, engine.deadline))


def _pending(jobs: Iterable[Job]) -> PendingSearch:
    statuses = tuple(map(job_status, jobs))
    return PendingSearch(**{item.name: getattr(statuses[-1], item.name) for item in fields(JobStatus)}, jobs=statuses)


def _await(catalog: Catalog, job: Job, deadline: float, pause: Pause) -> Job:
    """Return a job once it has ended or the deadline has passed, or at once if too many requests already wait."""
    with suppress(TooManyRequests):
        while not job.is_finished and monotonic() < deadline:
            pause(POLL_SECONDS)
            job = catalog.job(job.id) or job
    return job
