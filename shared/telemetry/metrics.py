"""Counts events for Prometheus; ``instruments.py`` lists the metrics.

Nothing is counted before ``start_counting``, because short commands are never scraped. Several processes write files
below ``PROMETHEUS_MULTIPROC_DIR``, and the scraped process adds them up. The library reads that variable on import, so
it is imported at the first count, by which time the parent process has set the variable.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache
from time import perf_counter
from typing import TYPE_CHECKING, Literal

from codequarry.shared.telemetry import instruments
from codequarry.shared.telemetry.instruments import COUNTED, Metric

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
    from prometheus_client.registry import Collector

MULTIPROCESS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

SearchOutcome = Literal["found", "empty", "refused", "not_indexed", "unavailable", "failed"]
OUTCOMES: tuple[SearchOutcome, ...] = ("found", "empty", "refused", "not_indexed", "unavailable", "failed")
TransactionResult = Literal["published", "aborted"]
RESULTS: tuple[TransactionResult, ...] = ("published", "aborted")
Embedded = Literal["chunks", "query"]
# These series exist before the first event, so that a rate includes that event.
_KNOWN_VALUES: Mapping[Metric, tuple[str, ...]] = {
    instruments.SEARCHES: OUTCOMES,
    instruments.TRANSACTIONS: RESULTS,
}


@dataclass(slots=True)
class _Switch:
    on: bool = False


@dataclass(frozen=True, slots=True)
class _Instruments:
    registry: "CollectorRegistry"
    counters: "dict[str, Counter]" = field(default_factory=dict)
    histograms: "dict[str, Histogram]" = field(default_factory=dict)
    gauges: "dict[str, Gauge]" = field(default_factory=dict)


_switch = _Switch()


def start_counting() -> None:
    """Count from now on; called by processes that serve metrics."""
    _switch.on = True


@contextmanager
def counted_together() -> Iterator[None]:
    """Let this process and those started in the block count together, in a folder that is deleted afterwards."""
    with tempfile.TemporaryDirectory(prefix="codequarry-metrics-") as folder:
        os.environ[MULTIPROCESS_FOLDER] = folder
        try:
            yield
        finally:
            os.environ.pop(MULTIPROCESS_FOLDER, None)


@lru_cache(maxsize=1)
def _instruments() -> _Instruments:
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

    registry = CollectorRegistry()
    if MULTIPROCESS_FOLDER not in os.environ:
        ProcessCollector(registry=registry)
    made = _Instruments(registry)
    for metric in COUNTED:
        if metric.kind == "counter":
            counter = Counter(metric.name, metric.meaning, metric.labels, registry=registry)
            made.counters[metric.name] = counter
            for value in _KNOWN_VALUES.get(metric, ()):
                counter.labels(value)
        elif metric.kind == "gauge":
            # Only living processes count.
            gauge = Gauge(metric.name, metric.meaning, metric.labels, registry=registry, multiprocess_mode="livesum")
            made.gauges[metric.name] = gauge
        else:
            made.histograms[metric.name] = Histogram(
                metric.name, metric.meaning, metric.labels, buckets=metric.buckets, registry=registry
            )
    return made


def _add(metric: Metric, amount: float, *labels: str) -> None:
    if _switch.on:
        counter = _instruments().counters[metric.name]
        (counter.labels(*labels) if labels else counter).inc(amount)


def _observe(metric: Metric, value: float, *labels: str) -> None:
    if _switch.on:
        histogram = _instruments().histograms[metric.name]
        (histogram.labels(*labels) if labels else histogram).observe(value)


def _move(metric: Metric, amount: float) -> None:
    if _switch.on:
        _instruments().gauges[metric.name].inc(amount)


def count_search(outcome: SearchOutcome) -> None:
    """Count a search by its outcome."""
    _add(instruments.SEARCHES, 1, outcome)


def observe_stages(milliseconds: Mapping[str, float]) -> None:
    """Record how long each stage of a search took."""
    for stage, duration in milliseconds.items():
        _observe(instruments.STAGE_SECONDS, duration / 1000, stage)


def count_degraded(stage: str) -> None:
    """Count a search that was answered without ``stage``."""
    _add(instruments.DEGRADED, 1, stage)


# The route for paths that match no rule, and for requests that were refused before routing.
UNMATCHED_ROUTE = "unmatched"


def count_request(route: str, method: str, status: int, seconds: float) -> None:
    """Count an HTTP request; ``route`` is the rule that matched, never the path itself."""
    _add(instruments.REQUESTS, 1, route, method, str(status))
    _observe(instruments.REQUEST_SECONDS, seconds, route)


@contextmanager
def request_running() -> Iterator[None]:
    """Count a request as running during the block."""
    _move(instruments.REQUESTS_RUNNING, 1)
    try:
        yield
    finally:
        _move(instruments.REQUESTS_RUNNING, -1)


def count_waiting(more: int) -> None:
    """Add ``more``, which may be negative, to the number of requests waiting for a thread."""
    _move(instruments.REQUESTS_WAITING, more)


def count_written(chunks: int, verdicts: Mapping[str, int]) -> None:
    """Count the files of a written batch by verdict, and its chunks."""
    _add(instruments.CHUNKS, chunks)
    for verdict, files in verdicts.items():
        _add(instruments.FILES, files, verdict)


def count_masked(by_rule: Mapping[str, int]) -> None:
    """Count masked secrets by rule."""
    for rule, secrets in by_rule.items():
        _add(instruments.MASKED, secrets, rule)


def count_embeddings(embedded: int, reused: int, tokens: int) -> None:
    """Count the chunk texts that were embedded or found in the cache, and the tokens that the model read."""
    _add(instruments.EMBEDDINGS, embedded)
    _add(instruments.CACHE_HITS, reused)
    _add(instruments.TOKENS, tokens)


@contextmanager
def embedding_timed(of: Embedded) -> Iterator[None]:
    """Record the duration of a call to the model, even if it fails."""
    started = perf_counter()
    try:
        yield
    finally:
        _observe(instruments.EMBED_SECONDS, perf_counter() - started, of)


def count_transaction(result: TransactionResult) -> None:
    """Count a transaction that was published or aborted."""
    _add(instruments.TRANSACTIONS, 1, result)


def observe_lag(seconds: float, *, first: bool) -> None:
    """Record the seconds from first seeing a commit to publishing it; ``first`` marks a first import."""
    _observe(instruments.LAG_SECONDS, max(0.0, seconds), "import" if first else "change")


def count_job(kind: str, trigger: str, state: str, seconds: float) -> None:
    """Count a job attempt and its duration; ``state`` is the job's state after it."""
    _add(instruments.JOBS_ENDED, 1, kind, trigger, state)
    _observe(instruments.JOB_SECONDS, seconds, kind, trigger)


def count_job_failure(error: BaseException) -> None:
    """Count a failed job attempt by kind of error."""
    _add(instruments.JOB_FAILURES, 1, _kind(error))


def count_job_lost() -> None:
    """Count a job attempt whose process disappeared without an error."""
    _add(instruments.JOB_FAILURES, 1, "lost")


def count_store_error(error: BaseException) -> None:
    """Count an error of the store by kind."""
    _add(instruments.STORE_ERRORS, 1, type(error).__name__)


@cache
def _own_errors() -> frozenset[str]:
    from codequarry.shared import errors

    return frozenset(vars(errors))


def _kind(error: BaseException) -> str:
    """Return an error's nearest class that ``errors.py`` defines, so that label values stay bounded."""
    names = (kind.__name__ for kind in type(error).__mro__)
    return next((name for name in names if name in _own_errors() and name != "Exception"), "unexpected")


def render(*collectors: "Collector") -> bytes:
    """Return the metrics of all worker processes and of ``collectors`` in the Prometheus text format."""
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.multiprocess import MultiProcessCollector

    collected = CollectorRegistry()
    for collector in collectors:
        collected.register(collector)
    if MULTIPROCESS_FOLDER not in os.environ:
        return generate_latest(_instruments().registry) + generate_latest(collected)
    MultiProcessCollector(collected)  # type: ignore[no-untyped-call]  # the library has no types here
    return generate_latest(collected)


def forget_process(pid: int) -> None:
    """Drop the gauges of a worker process that ended; its counters stay."""
    if MULTIPROCESS_FOLDER in os.environ:
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(pid)  # type: ignore[no-untyped-call]  # the library has no types here
