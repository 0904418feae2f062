"""Counters, gauges read from the catalog, and the port that serves both."""

import re
import urllib.request
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from urllib.error import HTTPError

import pytest

from codequarry.search_api.http.catalog_metrics import (
    ENDED_KEPT_SECONDS,
    KEPT_SECONDS,
    CatalogMetrics,
    behind,
    behind_samples,
)
from codequarry.shared.catalog.repositories import RefHead, read_ref_head, save_ref_head
from codequarry.shared.errors import EmbedderUnavailable, StoreUnavailable, UsageError
from codequarry.shared.jobs.job import PRIORITIES, JobRequest
from codequarry.shared.jobs.job_list import change_job, claim, submit
from codequarry.shared.jobs.lifecycle import cancelled, ended
from codequarry.shared.telemetry import metrics
from codequarry.shared.telemetry.instruments import METRICS
from codequarry.shared.telemetry.metrics_server import MetricsServer
from codequarry.shared.versions.head import Head, Timeline

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def ago(seconds):
    return (NOW - timedelta(seconds=seconds)).isoformat()


def samples(*collectors):
    """Return the exported values by series."""
    lines = metrics.render(*collectors).decode().splitlines()
    return {series: float(value) for series, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}


@pytest.fixture
def counted():
    """Start counting and return a function that returns the growth of a series since then."""
    metrics.start_counting()
    before = samples()
    return lambda series: samples().get(series, 0.0) - before.get(series, 0.0)


def test_names_follow_the_conventions():
    for metric in METRICS:
        assert re.fullmatch(r"codequarry_[a-z_]+", metric.name)
        assert not metric.name.endswith(("_total", "_count", "_sum", "_bucket"))
        assert (metric.kind == "histogram") == bool(metric.buckets)
        assert not {"query", "path", "commit", "person", "key"} & set(metric.labels)
    assert [metric.name for metric in METRICS if "repo" in metric.labels] == ["codequarry_repository_behind_seconds"]
    assert len({metric.name for metric in METRICS}) == len(METRICS)


def test_failures_of_jobs_are_counted_by_our_error_classes(counted):
    class Odd(StoreUnavailable):
        pass

    for error in (EmbedderUnavailable("down"), Odd("down"), ValueError("planted detail")):
        metrics.count_job_failure(error)
    for reason in ("EmbedderUnavailable", "StoreUnavailable", "unexpected"):
        assert counted(f'codequarry_job_failures_total{{reason="{reason}"}}') == 1
    assert "planted detail" not in metrics.render().decode()


def test_running_and_waiting_requests_are_counted_up_and_down(counted):
    with pytest.raises(ValueError, match="failed"), metrics.request_running():
        assert counted("codequarry_http_requests_running") == 1
        metrics.count_waiting(2)
        assert counted("codequarry_http_requests_waiting") == 2
        metrics.count_waiting(-2)
        raise ValueError("failed")
    assert counted("codequarry_http_requests_running") == 0
    assert counted("codequarry_http_requests_waiting") == 0


def test_a_slow_clock_causes_no_negative_lag(counted):
    metrics.observe_lag(-5.0, first=False)
    assert counted('codequarry_index_lag_seconds_count{run="change"}') == 1
    assert counted('codequarry_index_lag_seconds_sum{run="change"}') == 0


def test_jobs_are_counted_by_state_and_queued_jobs_by_priority(versioned_index):
    store = versioned_index.store
    for repo, priority in (("a", "change"), ("b", "change"), ("c", "import")):
        submit(store, JobRequest(repo, "https://example.org/x", priority=PRIORITIES[priority]))
    done, _ = submit(store, JobRequest("d", "https://example.org/d"))
    assert claim(store, done.id, "me")
    change_job(store, done.id, lambda job: ended(job, "me", "done"))
    change_job(store, done.id, lambda job: replace(job, created_at=ago(0)))
    seen = samples(CatalogMetrics(lambda: store))
    assert seen["codequarry_catalog_up"] == 1
    assert (seen['codequarry_jobs{state="queued"}'], seen['codequarry_jobs{state="done"}']) == (3, 1)
    assert seen['codequarry_jobs{state="failed"}'] == 0
    waiting = {name: seen[f'codequarry_queue_jobs{{priority="{name}"}}'] for name in PRIORITIES}
    assert waiting == {"urgent": 0, "change": 2, "import": 1, "background": 0}
    assert seen['codequarry_queue_oldest_seconds{priority="change"}'] > 0
    assert seen['codequarry_queue_oldest_seconds{priority="urgent"}'] == 0


def test_scrapes_share_a_read_of_the_catalog(versioned_index):
    opened = []
    now = [0.0]
    catalog = CatalogMetrics(lambda: opened.append(1) or versioned_index.store, clock=lambda: now[0])
    for _ in range(3):
        samples(catalog)
    assert len(opened) == 1
    now[0] = KEPT_SECONDS
    samples(catalog)
    assert len(opened) == 2


def test_ended_jobs_are_counted_less_often_than_queued_jobs(versioned_index):
    store = versioned_index.store
    now = [0.0]
    catalog = CatalogMetrics(lambda: store, clock=lambda: now[0])
    job, _ = submit(store, JobRequest("a", "https://example.org/a"))
    assert samples(catalog)['codequarry_jobs{state="queued"}'] == 1
    change_job(store, job.id, cancelled)
    now[0] = KEPT_SECONDS
    seen = samples(catalog)
    assert (seen['codequarry_jobs{state="queued"}'], seen['codequarry_jobs{state="cancelled"}']) == (0, 0)
    now[0] = ENDED_KEPT_SECONDS
    assert samples(catalog)['codequarry_jobs{state="cancelled"}'] == 1


def test_without_a_store_catalog_up_is_0_and_counters_are_exported():
    def down():
        raise StoreUnavailable("down")

    metrics.start_counting()
    seen = samples(CatalogMetrics(down))
    assert seen["codequarry_catalog_up"] == 0
    assert 'codequarry_searches_total{outcome="found"}' in seen
    assert not any(series.startswith("codequarry_jobs{") for series in seen)


def test_a_version_is_behind_from_seeing_a_commit_until_publishing_it():
    head = Head(
        timelines={
            1: Timeline("a", 5, "a1"),
            2: Timeline("b", 6, "b2"),
            3: Timeline("b", 7, "x1", ref="refs/heads/dev"),
            4: Timeline("b", 9, "x2", ref="refs/heads/dev"),
            5: Timeline("a", 0, "", ref="refs/heads/new"),
        },
        defaults={"a": 1, "b": 2},
    )
    seen = [
        RefHead("a", "", "a2", ago(5), seen_at=ago(100)),
        RefHead("b", "", "b2", ago(5), seen_at=ago(50)),
        RefHead("b", "refs/heads/dev", "x3", ago(30)),
        RefHead("a", "refs/heads/new", "n1", ago(1), seen_at=ago(9)),
        RefHead("gone", "", "g1", ago(1), seen_at=ago(999)),
    ]
    assert behind(head, seen, NOW) == [("a", 100.0), ("b", 30.0)]


@pytest.mark.parametrize(("worst", "named"), [(0, []), (1, ["b"]), (5, ["b", "a"])])
def test_the_settings_limit_how_many_repositories_are_named(worst, named):
    seen = list(behind_samples([("a", 3.0), ("b", 9.0), ("a", 4.0)], worst))
    assert [labels for _, labels, _ in seen if labels] == [(name,) for name in named]
    assert {metric.name: value for metric, labels, value in seen if not labels} == {
        "codequarry_versions_behind": 3,
        "codequarry_behind_seconds": 9.0,
    }


def test_the_time_a_commit_was_first_seen_does_not_change(versioned_index):
    store = versioned_index.store

    def save(commit, **fields):
        save_ref_head(store, RefHead("core", "", commit, "2026-01-01T00:00:00+00:00", **fields))
        return read_ref_head(store, "core", "").seen_at

    first = save("a" * 40)
    assert datetime.fromisoformat(first) <= datetime.now(UTC)
    assert datetime.fromisoformat(first).isoformat(timespec="milliseconds") == first, "the lag is measured from it"
    assert save("a" * 40, behind=3) == first
    assert save("b" * 40, seen_at=ago(7)) == ago(7)


@pytest.fixture
def server(versioned_index):
    opened = MetricsServer("127.0.0.1", 0, CatalogMetrics(lambda: versioned_index.store))
    yield opened
    opened.close()


def fetch(server, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}", timeout=30) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def test_the_port_serves_counters_and_catalog_metrics(server):
    metrics.start_counting()
    kind, text = fetch(server, "/metrics?name[]=x")
    assert kind == metrics.CONTENT_TYPE
    assert "codequarry_searches_total" in text and "codequarry_catalog_up 1.0" in text
    assert fetch(server, "/healthz")[1] == "ok\n"
    with pytest.raises(HTTPError, match="404"):
        fetch(server, "/search-code")


def test_a_port_in_use_is_a_clear_error(server):
    with pytest.raises(UsageError, match=f"port {server.port}: Address already in use"):
        MetricsServer("127.0.0.1", server.port)


def test_processes_of_one_service_can_share_a_port():
    first = MetricsServer("127.0.0.1", 0, shared=True)
    second = MetricsServer("127.0.0.1", first.port, shared=True)
    for server in (first, second):
        server.close()
