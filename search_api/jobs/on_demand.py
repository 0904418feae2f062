"""A search that may have what it names indexed first: ``?index=true``."""

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

# A job is a document in the store; who waits for it is told within this time of its end.
POLL_SECONDS = 0.1
# How soon it is worth while to ask again for a job that takes longer than a request waits.
RETRY_AFTER_SECONDS = 2


def search_or_index(
    engine: SearchEngine, indexer: Indexer | None, request: SearchRequest, rest: Pause | None = None
) -> SearchAnswer | PendingSearch:
    """Answer a search, and have indexed what it names and the index lacks, as far as ``wait_ms`` allows.

    Raise what ``SearchEngine.search`` raises, NotIndexed where the indexing failed, IndexingOff where nothing can do
    it, UsageError where it is not said in which repository the version is.
    """
    deadline = monotonic() + request.wait_ms / 1000
    jobs: dict[tuple[str, VersionSpecifier | None], Job] = {}
    while True:
        lacking = _lacking(engine, request)
        if lacking is None:
            return engine.search(request)
        key = (lacking.repo, lacking.asked)
        if key in jobs:
            raise NotIndexed(f"{_said(lacking)} was indexed, and yet it is not there; codequarry repos list")
        with engine.waiting_places.taken(rest or engine.rest) as pause:
            jobs[key] = _awaited(engine.catalog, _submitted(engine, indexer, lacking), deadline, pause)
        job = jobs[key]
        if job.state in ("failed", "cancelled"):
            why = job.error or job.state
            raise NotIndexed(f"{_said(lacking)} is not indexed, and indexing it failed: {why}")
        if not job.is_finished:
            return _pending(jobs.values())


def _pending(jobs: Iterable[Job]) -> PendingSearch:
    """Return what the 202 says: the job that is waited for, and all of them."""
    told = tuple(map(job_status, jobs))
    return PendingSearch(**{one.name: getattr(told[-1], one.name) for one in fields(JobStatus)}, jobs=told)


@dataclass(frozen=True, slots=True)
class _Lacking:
    """A version that is not there; ``asked`` None is the default branch of a repository."""

    repo: str
    asked: VersionSpecifier | None
    candidates: tuple[Ref, ...] = ()


def _lacking(engine: SearchEngine, request: SearchRequest) -> _Lacking | None:
    """Return the first version that a search names and the index lacks."""
    plan = make_plan(request)
    try:
        scope = engine.locate(plan).scope
    except VersionMissing as error:
        return _indexable(error, error.missing)
    # Only what is named is indexed: a search over everything does not begin every import that is still to come.
    named = bool(plan.selection.repos or request.repos)
    return next((_Lacking(name, None) for name in scope.pending if named), None)


def _indexable(error: VersionMissing, missing: tuple[Missing, ...]) -> _Lacking:
    candidates = missing[0].asked.candidates() if missing else ()
    if any(ref.kind == "workspace" for ref in candidates):
        # A request must not make the service read folders of its machine.
        raise error
    if len(missing) != 1:
        raise UsageError(f"name the repository in which it is to be indexed: {error}") from error
    return _Lacking(missing[0].repo, missing[0].asked, candidates)


def _submitted(engine: SearchEngine, indexer: Indexer | None, lacking: _Lacking) -> Job:
    if indexer is None:
        raise IndexingOff(f"{_said(lacking)} is not indexed, and this service does not index: run codequarry index")
    repository = engine.catalog.repositories(engine.head(), (lacking.repo,)).get(lacking.repo)
    if repository is None:
        raise NotIndexed(f"repository '{lacking.repo}' is not in the catalog; index it once: codequarry index ORIGIN")
    wanted = JobRequest(
        repository.name,
        repository.origin,
        lacking.asked.text if lacking.asked else "",
        lacking.candidates,
        trigger="search",
        requested_by=engine.catalog.principal.name,
        priority=PRIORITIES["urgent"],
        joins_running=True,
        guarded=repository.guarded,
        repo_id=repository.id,
    )
    return engine.catalog.shown(indexer.submit(wanted, engine.deadline))


def _awaited(catalog: Catalog, job: Job, deadline: float, pause: Pause) -> Job:
    """Return a job as it is when it ends, or when the time is over; at once where too many wait already."""
    with suppress(TooManyRequests):
        while not job.is_finished and monotonic() < deadline:
            pause(POLL_SECONDS)
            job = catalog.job(job.id) or job
    return job


def _said(lacking: _Lacking) -> str:
    return f"{lacking.asked} of {lacking.repo}" if lacking.asked else f"repository '{lacking.repo}'"
