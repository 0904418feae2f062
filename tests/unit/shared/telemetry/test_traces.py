"""Spans of requests, stages and jobs, recorded only if tracing is configured."""

import os

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from codequarry.shared.telemetry.traces import (
    ENDPOINTS,
    Phases,
    describe_span,
    span,
    start_tracing,
    stop_tracing,
    traceparent,
)

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture
def spans():
    exporter = InMemorySpanExporter()
    start_tracing("test", exporter)
    yield lambda: exporter.get_finished_spans()
    stop_tracing()


def test_nothing_is_traced_without_an_endpoint(monkeypatch):
    for name in ENDPOINTS:
        monkeypatch.delenv(name, raising=False)
    start_tracing("test")
    with span("request"):
        describe_span("GET /repos", id="1")
    phases = Phases("job.")
    phases.enter("fetching")
    assert phases._span is None
    assert os.environ.get("OTEL_SERVICE_NAME") is None


def test_a_span_belongs_to_its_parent_and_to_the_callers_trace(spans):
    with span("request", f"00-{TRACE}-{PARENT}-01"), span("search.recall"):
        pass
    inner, outer = spans()
    assert (inner.name, outer.name) == ("search.recall", "request")
    assert inner.parent.span_id == outer.context.span_id
    assert (f"{outer.context.trace_id:032x}", f"{outer.parent.span_id:016x}") == (TRACE, PARENT)
    assert outer.resource.attributes["service.name"] == "test"


def test_an_invalid_traceparent_is_ignored(spans):
    with span("request", "not a trace"):
        pass
    assert spans()[0].parent is None


def test_traceparent_names_the_current_span_for_other_processes(spans):
    assert traceparent() == ""
    with span("request", f"00-{TRACE}-{PARENT}-01"):
        handed_on = traceparent()
    with span("job", handed_on):
        pass
    request, job = spans()
    assert handed_on == f"00-{TRACE}-{request.context.span_id:016x}-01"
    assert (job.context.trace_id, job.parent.span_id) == (request.context.trace_id, request.context.span_id)


def test_without_tracing_the_received_traceparent_is_passed_on():
    with span("request", f"00-{TRACE}-{PARENT}-01"):
        with span("search.recall"):
            assert traceparent() == f"00-{TRACE}-{PARENT}-01"
        with span("job", ""):
            assert traceparent() == f"00-{TRACE}-{PARENT}-01"
    assert traceparent() == ""


@pytest.mark.parametrize("sent", ["secret", f"00-{TRACE}-{PARENT}-01-more", f"00-{'0' * 32}-{PARENT}-01", "x" * 10_000])
def test_only_a_valid_traceparent_is_passed_on(sent):
    with span("request", sent):
        assert traceparent() == ""


def test_an_error_is_recorded_only_by_its_class(spans):
    with pytest.raises(ValueError, match="secret"), span("request"):
        raise ValueError("secret")
    [failed] = spans()
    assert (failed.status.is_ok, failed.status.description, failed.events) == (False, "ValueError", ())


def test_a_span_can_be_described_after_it_started(spans):
    with span("request"):
        describe_span("GET /repos", http__route="/repos", http__response__status_code=200)
    assert spans()[0].name == "GET /repos"
    assert dict(spans()[0].attributes) == {"http.route": "/repos", "http.response.status_code": 200}


def test_phases_are_consecutive_children_of_the_current_span(spans):
    phases = Phases("job.")
    with span("job"):
        for phase in ("fetching", "fetching", "indexing", "indexing", "publishing"):
            phases.enter(phase)
        phases.end()
        phases.end()
    assert [finished.name for finished in spans()] == ["job.fetching", "job.indexing", "job.publishing", "job"]
    *inner, outer = spans()
    assert {phase.parent.span_id for phase in inner} == {outer.context.span_id}
