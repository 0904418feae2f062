"""What the service counts, for Prometheus. Labels are bounded: never a query, path, commit or person.

With several worker processes each writes its own files below ``PROMETHEUS_MULTIPROC_DIR``, and whichever is asked adds
them up. The library looks at that variable when it is first imported; so it is imported at the first count, which lets
whoever starts the processes set it.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Counter, Histogram

MULTIPROCESS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Outcome = Literal["found", "empty", "refused", "not_indexed", "unavailable", "failed"]
OUTCOMES: tuple[Outcome, ...] = ("found", "empty", "refused", "not_indexed", "unavailable", "failed")

# A search is meant to take 10 to 60 ms; the lower edges show a stage that slows down, the upper ones an outage.
STAGE_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.06, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class _Instruments:
    registry: "CollectorRegistry"
    searches: "Counter"
    degraded: "Counter"
    stage_seconds: "Histogram"
    requests: "Counter"


@lru_cache(maxsize=1)
def _instruments() -> _Instruments:
    from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector

    registry = CollectorRegistry()
    if MULTIPROCESS_FOLDER not in os.environ:
        ProcessCollector(registry=registry)
    return _Instruments(
        registry,
        Counter("codequarry_searches", "Searches by how they ended.", ["outcome"], registry=registry),
        Counter("codequarry_degraded_searches", "Searches answered without a stage.", ["stage"], registry=registry),
        Histogram(
            "codequarry_search_stage_seconds", "Time of one stage of a search.", ["stage"], buckets=STAGE_BUCKETS,
            registry=registry,
        ),
        Counter(
            "codequarry_http_requests", "Requests by route, method and status.", ["route", "method", "status"],
            registry=registry,
        ),
    )  # fmt: skip


def count_search(outcome: Outcome) -> None:
    """Count a search that ended."""
    _instruments().searches.labels(outcome).inc()


def observe_stages(milliseconds: Mapping[str, float]) -> None:
    """Record how long each stage of a search took."""
    for stage, duration in milliseconds.items():
        _instruments().stage_seconds.labels(stage).observe(duration / 1000)


def count_degraded(stage: str) -> None:
    """Count a search that was answered without ``stage``."""
    _instruments().degraded.labels(stage).inc()


def count_request(route: str, method: str, status: int) -> None:
    """Count an HTTP request; ``route`` is the rule that matched, never the address itself."""
    _instruments().requests.labels(route, method, str(status)).inc()


def render() -> bytes:
    """Return all metrics in the Prometheus text format, of all worker processes together."""
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.multiprocess import MultiProcessCollector

    if MULTIPROCESS_FOLDER not in os.environ:
        return generate_latest(_instruments().registry)
    together = CollectorRegistry()
    MultiProcessCollector(together)  # type: ignore[no-untyped-call]  # the library has no types here
    return generate_latest(together)


def forget_process(pid: int) -> None:
    """Drop the gauges of a worker process that ended; its counts stay."""
    if MULTIPROCESS_FOLDER in os.environ:
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(pid)  # type: ignore[no-untyped-call]  # the library has no types here
