"""Spans of requests, stages and jobs; nothing where nobody asked for them."""

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


def test_nothing_is_traced_where_no_endpoint_is_set(monkeypatch):
    for name in ENDPOINTS:
        monkeypatch.delenv(name, raising=False)
    start_tracing("test")
    with span("request"):
        describe_span("GET /repos", id="1")
    phases = Phases("job.")
    phases.enter("fetching")
    assert phases._span is None
    assert os.environ.get("OTEL_SERVICE_NAME") is None


def test_a_span_lies_in_the_one_around_it_and_in_the_trace_of_the_caller(spans):
    with span("request", f"00-{TRACE}-{PARENT}-01"), span("search.recall"):
        pass
    inner, outer = spans()
    assert (inner.name, outer.name) == ("search.recall", "request")
    assert inner.parent.span_id == outer.context.span_id
    assert (f"{outer.context.trace_id:032x}", f"{outer.parent.span_id:016x}") == (TRACE, PARENT)
    assert outer.resource.attributes["service.name"] == "test"


def test_what_a_caller_sends_instead_of_a_trace_is_ignored(spans):
    with span("request", "not a trace"):
        pass
    assert spans()[0].parent is None


def test_others_are_told_of_the_span_that_they_work_for(spans):
    assert traceparent() == ""
    with span("request", f"00-{TRACE}-{PARENT}-01"):
        handed_on = traceparent()
    with span("job", handed_on):
        pass
    request, job = spans()
    assert handed_on == f"00-{TRACE}-{request.context.span_id:016x}-01"
    assert (job.context.trace_id, job.parent.span_id) == (request.context.trace_id, request.context.span_id)


def test_a_process_that_records_nothing_hands_on_what_it_was_sent():
    with span("request", f"00-{TRACE}-{PARENT}-01"):
        with span("search.recall"):
            assert traceparent() == f"00-{TRACE}-{PARENT}-01"
        with span("job", ""):
            assert traceparent() == f"00-{TRACE}-{PARENT}-01"
    assert traceparent() == ""


@pytest.mark.parametrize("sent", ["secret", f"00-{TRACE}-{PARENT}-01-more", f"00-{'0' * 32}-{PARENT}-01", "x" * 10_000])
def test_only_what_names_a_trace_is_handed_on(sent):
    with span("request", sent):
        assert traceparent() == ""


def test_an_error_is_told_by_its_kind_alone(spans):
    with pytest.raises(ValueError, match="secret"), span("request"):
        raise ValueError("secret")
    [failed] = spans()
    assert (failed.status.is_ok, failed.status.description, failed.events) == (False, "ValueError", ())


def test_a_span_is_described_when_it_is_known_what_it_is_of(spans):
    with span("request"):
        describe_span("GET /repos", http__route="/repos", http__response__status_code=200)
    assert spans()[0].name == "GET /repos"
    assert dict(spans()[0].attributes) == {"http.route": "/repos", "http.response.status_code": 200}


def test_phases_follow_one_another_within_the_span_around_them(spans):
    phases = Phases("job.")
    with span("job"):
        for phase in ("fetching", "fetching", "indexing", "indexing", "publishing"):
            phases.enter(phase)
        phases.end()
        phases.end()
    assert [one.name for one in spans()] == ["job.fetching", "job.indexing", "job.publishing", "job"]
    *inner, outer = spans()
    assert {one.parent.span_id for one in inner} == {outer.context.span_id}
