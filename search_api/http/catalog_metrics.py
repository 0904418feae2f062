"""Metrics read from the catalog at each scrape: jobs by state, waiting jobs, and versions that are behind."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, get_args

from apiflask import APIFlask

from codequarry.search_api.http.request_context import CATALOG_METRICS
from codequarry.search_api.search.backend import Backend
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.catalog.repositories import RefHead, list_ref_heads
from codequarry.shared.errors import CodequarryError
from codequarry.shared.jobs.job import PRIORITIES, UNFINISHED, Job, JobState
from codequarry.shared.jobs.job_list import list_jobs
from codequarry.shared.liveness.deadline import Deadline
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.telemetry import instruments
from codequarry.shared.telemetry.instruments import Metric
from codequarry.shared.telemetry.metrics_server import MetricsServer
from codequarry.shared.versions.head import Head

if TYPE_CHECKING:
    from prometheus_client.core import Metric as Family

# The catalog is read at most this often, no matter how often metrics are scraped.
KEPT_SECONDS = 5.0
# There may be many ended jobs, and they are only counted, so they are read less often.
ENDED_KEPT_SECONDS = 60.0

MetricSample = tuple[Metric, tuple[str, ...], float]


class CatalogMetrics:
    """A Prometheus collector that reads the catalog of an index."""

    def __init__(
        self, open_store: Callable[[], DocumentStore], worst: int = 0, clock: Callable[[], float] = monotonic
    ) -> None:
        """Read the store that ``open_store`` returns; ``worst`` is how many repositories furthest behind are named."""
        self._open_store, self._worst, self._clock = open_store, worst, clock
        self._lock = Lock()
        self._samples: Sequence[MetricSample] = ()
        self._due = self._ended_due = float("-inf")
        self._ended: Mapping[str, int] = {}

    def describe(self) -> Iterable["Family"]:
        """Return nothing; without this method, the library would read the catalog to learn the metric names."""
        return ()

    def collect(self) -> Iterator["Family"]:
        """Yield the gauges, or only ``codequarry_catalog_up`` if the catalog can't be read."""
        from prometheus_client.core import GaugeMetricFamily

        families: dict[str, GaugeMetricFamily] = {}
        for metric, labels, value in self._read():
            family = families.get(metric.name)
            if family is None:
                family = GaugeMetricFamily(metric.name, metric.meaning, labels=metric.labels)
                families[metric.name] = family
            family.add_metric(labels, value)
        yield from families.values()

    def _read(self) -> Sequence[MetricSample]:
        with self._lock:
            if self._clock() >= self._due:
                try:
                    self._samples = [(instruments.CATALOG_UP, (), 1.0), *self._look()]
                except CodequarryError:
                    self._samples = [(instruments.CATALOG_UP, (), 0.0)]
                self._due = self._clock() + KEPT_SECONDS
            return self._samples

    def _look(self) -> Iterator[MetricSample]:
        store = self._open_store()
        moment = datetime.now(UTC)
        if self._clock() >= self._ended_due:
            self._ended = Counter(job.state for job in list_jobs(store) if job.is_finished)
            self._ended_due = self._clock() + ENDED_KEPT_SECONDS
        yield from job_samples(list_jobs(store, UNFINISHED), self._ended, moment)
        yield from behind_samples(behind(read_head(store), list_ref_heads(store), moment), self._worst)


def job_samples(jobs: Iterable[Job], ended: Mapping[str, int], moment: datetime) -> Iterator[MetricSample]:
    """Yield jobs by state, and the number and age of queued jobs by priority; ``ended`` counts ended jobs by state."""
    states: Counter[str] = Counter(ended)
    waiting: Counter[str] = Counter()
    oldest: dict[str, float] = {}
    for job in jobs:
        states[job.state] += 1
        if job.state == "queued":
            name = _priority_name(job.priority)
            waiting[name] += 1
            oldest[name] = max(oldest.get(name, 0.0), _age(job.created_at, moment))
    for state in get_args(JobState):
        yield instruments.JOBS, (state,), states[state]
    for name in PRIORITIES:
        yield instruments.QUEUE_JOBS, (name,), waiting[name]
        yield instruments.QUEUE_OLDEST_SECONDS, (name,), oldest.get(name, 0.0)


def _priority_name(priority: int) -> str:
    """Return the name of a priority; a number between two named priorities gets the more urgent name."""
    return max((number, name) for name, number in PRIORITIES.items() if number <= max(priority, 0))[1]


def behind(head: Head, seen: Iterable[RefHead], moment: datetime) -> list[tuple[str, float]]:
    """Return the repository and the seconds behind of each indexed version whose newest known commit is unpublished."""
    published = _published_commits(head)
    return [
        (version.repo, _age(version.seen_at or version.fetched_at, moment))
        for version in seen
        if published.get((version.repo, version.ref), version.commit) != version.commit
    ]


def _published_commits(head: Head) -> Mapping[tuple[str, str], str]:
    commits = {(repo, ""): head.timelines[timeline].commit for repo, timeline in head.defaults.items()}
    # If a version has two timelines, the timeline with the newer transaction counts.
    for state in sorted(head.timelines.values(), key=lambda state: state.published):
        if state.ref and state.published and not state.gone:
            commits[state.repo, state.ref] = state.commit
    return commits


def behind_samples(versions: Sequence[tuple[str, float]], worst: int) -> Iterator[MetricSample]:
    """Yield the number of versions that are behind, the longest time behind, and the ``worst`` repositories."""
    yield instruments.VERSIONS_BEHIND, (), len(versions)
    yield instruments.BEHIND_SECONDS, (), max((seconds for _, seconds in versions), default=0.0)
    by_repo: dict[str, float] = {}
    for repo, seconds in versions:
        by_repo[repo] = max(by_repo.get(repo, 0.0), seconds)
    for repo, seconds in sorted(by_repo.items(), key=lambda item: (-item[1], item[0]))[:worst]:
        yield instruments.REPOSITORY_BEHIND_SECONDS, (repo,), seconds


def _age(moment: str, now: datetime) -> float:
    """Return the seconds since an ISO 8601 time, or 0 if another machine's clock puts it in the future."""
    if not moment:
        return 0.0
    return max(0.0, (now - datetime.fromisoformat(moment)).total_seconds())


def catalog_metrics(backend: Backend) -> CatalogMetrics:
    """Return the catalog metrics collector for an application."""
    return CatalogMetrics(lambda: backend.engine(Deadline()).store, backend.settings.metrics.worst_repositories)


def serve_metrics(app: APIFlask, settings: SettingsModel) -> MetricsServer | None:
    """Serve metrics on ``metrics.port`` if it is set; the worker processes of a service share the port."""
    if settings.metrics.port is None:
        return None
    several = settings.api.workers > 1
    return MetricsServer(settings.metrics.host, settings.metrics.port, app.extensions[CATALOG_METRICS], shared=several)
