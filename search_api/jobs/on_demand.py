"""Searches with ``?index=true``, which first index missing versions."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, fields
from time import monotonic

from codequarry.search_api.answers.hits import SearchAnswer
from codequarry.search_api.answers.jobs import JobStatus, PendingSearch, job_status
from codequarry.search_api.jobs.queue import Indexer
from codequarry.search_api.query.plan import make_plan
from codequarry.search_api.query.request import SearchRequest
from codequarry.search_api.query.version_query import VersionSpecifier
from codequarry.search_api.search.engine import SearchEngine
from codequarry.search_api.versions.catalog import Catalog
from codequarry.search_api.versions.commit_wait import Pause
from codequarry.search_api.versions.missing_version import Missing, VersionMissing
from codequarry.shared.errors import IndexingOff, NotIndexed, TooManyRequests, UsageError
from codequarry.shared.jobs.job import PRIORITIES, Job, JobRequest
from codequarry.shared.versions.refs import Ref

# A waiting search reads its job's document from the store at this interval.
POLL_SECONDS = 0.1
# Retry-After for a job that takes longer than a request waits.
RETRY_AFTER_SECONDS = 2


def search_or_index(
    engine: SearchEngine, indexer: Indexer | None, request: SearchRequest, rest: Pause | None = None
) -> SearchAnswer | PendingSearch:
    """Answer a search after indexing the versions that it names and the index lacks, within ``wait_ms``.

    In addition to the errors of ``SearchEngine.search``, raise IndexingOff, NotIndexed if the indexing failed, or
    UsageError if it is unclear which repository a version belongs to.
    """
    deadline = monotonic() + request.wait_ms / 1000
    jobs: dict[tuple[str, VersionSpecifier | None], Job] = {}
    while True:
        absent = _first_absent(engine, request)
        if absent is None:
            return engine.search(request)
        key = (absent.repo, absent.asked)
        if key in jobs:
            raise NotIndexed(f"{_described(absent)} was indexed but can't be found; see codequarry repos list")
        with engine.waiting_places.taken(rest or engine.rest) as pause:
            jobs[key] = _await(engine.catalog, _submit(engine, indexer, absent), deadline, pause)
        job = jobs[key]
        if job.state in ("failed", "cancelled"):
            why = job.error or job.state
            raise NotIndexed(f"{_described(absent)} is not indexed, and indexing it failed: {why}")
        if not job.is_finished:
            return _pending(jobs.values())


def _pending(jobs: Iterable[Job]) -> PendingSearch:
    statuses = tuple(map(job_status, jobs))
    return PendingSearch(**{item.name: getattr(statuses[-1], item.name) for item in fields(JobStatus)}, jobs=statuses)


@dataclass(frozen=True, slots=True)
class _Absent:
    """A version that is not indexed; ``asked`` is None for the default branch."""

    repo: str
    asked: VersionSpecifier | None
    candidates: tuple[Ref, ...] = ()


def _first_absent(engine: SearchEngine, request: SearchRequest) -> _Absent | None:
    plan = make_plan(request)
    try:
        scope = engine.locate(plan).scope
    except VersionMissing as error:
        return _indexable(error, error.missing)
    # A search over everything must not start every pending import, so only named repositories are indexed.
    named = bool(plan.selection.repos or request.repos)
    return next((_Absent(name, None) for name in scope.pending if named), None)


def _indexable(error: VersionMissing, missing: tuple[Missing, ...]) -> _Absent:
    candidates = missing[0].asked.candidates() if missing else ()
    if any(ref.kind == "workspace" for ref in candidates):
        # A request must not make the service read folders on its machine.
        raise error
    if len(missing) != 1:
        raise UsageError(f"name the repository in which to index the version: {error}") from error
    return _Absent(missing[0].repo, missing[0].asked, candidates)


def _submit(engine: SearchEngine, indexer: Indexer | None, absent: _Absent) -> Job:
    if indexer is None:
        raise IndexingOff(f"{_described(absent)} is not indexed, and this service does not index; run codequarry index")
    repository = engine.catalog.repositories(engine.head(), (absent.repo,)).get(absent.repo)
    if repository is None:
        raise NotIndexed(f"repository '{absent.repo}' is not in the catalog; add it with codequarry index ORIGIN")
    wanted = JobRequest(
        repository.name,
        repository.origin,
        absent.asked.text if absent.asked else "",
        absent.candidates,
        trigger="search",
        requested_by=engine.catalog.principal.name,
        priority=PRIORITIES["urgent"],
        joins_running=True,
        guarded=repository.guarded,
        repo_id=repository.id,
    )
    return engine.catalog.shown(indexer.submit(wanted, engine.deadline))


def _await(catalog: Catalog, job: Job, deadline: float, pause: Pause) -> Job:
    """Return a job once it has ended or the deadline has passed, or at once if too many requests already wait."""
    with suppress(TooManyRequests):
        while not job.is_finished and monotonic() < deadline:
            pause(POLL_SECONDS)
            job = catalog.job(job.id) or job
    return job


def _described(absent: _Absent) -> str:
    return f"{absent.asked} of {absent.repo}" if absent.asked else f"repository '{absent.repo}'"
