"""OpenTelemetry spans for requests, search stages and jobs; needs the extra ``otel`` and OTEL_EXPORTER_OTLP_ENDPOINT.

A span has ids, names of versions and the kind of an error, but never a query, path or code.
"""

import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span, Tracer

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")

# The traceparent header of W3C Trace Context: version, trace, span, and whether it is recorded.
_TRACEPARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")

Attribute = str | int | bool


@dataclass(slots=True)
class _Tracing:
    provider: "TracerProvider | None" = None
    tracer: "Tracer | None" = None


_tracing = _Tracing()
# The caller's traceparent, for a process that passes it on but records nothing.
_sent: ContextVar[str] = ContextVar("traceparent", default="")


def start_tracing(service: str, exporter: "SpanExporter | None" = None) -> None:
    """Start sending this process's spans if an endpoint or exporter is given; call this after a fork."""
    if exporter is None and not any(os.environ.get(name) for name in ENDPOINTS):
        return
    try:
        from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

        provider = TracerProvider(resource=Resource({SERVICE_NAME: service}).merge(OTELResourceDetector().detect()))
        if exporter is None:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

            provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        else:
            provider.add_span_processor(SimpleSpanProcessor(exporter))
    except ImportError as error:
        # Not our own logger: logs.py imports this module for the trace id.
        logging.getLogger("codequarry.traces").warning("no traces: pip install 'codequarry[otel]' (%s)", error)
        return
    _tracing.provider, _tracing.tracer = provider, provider.get_tracer("codequarry")


def stop_tracing() -> None:
    """Send the remaining spans and stop tracing."""
    if _tracing.provider is not None:
        _tracing.provider.shutdown()
    _tracing.provider = _tracing.tracer = None


@contextmanager
def span(name: str, parent: str = "", **attributes: Attribute) -> Iterator[None]:
    """Record the block as a span; ``parent`` is the caller's ``traceparent``."""
    if _tracing.tracer is None:
        token = _sent.set(parent if _TRACEPARENT.fullmatch(parent) else _sent.get())
        try:
            yield
        finally:
            _sent.reset(token)
        return
    from opentelemetry.propagate import extract
    from opentelemetry.trace import Status, StatusCode

    context = extract({"traceparent": parent}) if parent else None
    with _tracing.tracer.start_as_current_span(
        name, context, attributes=_named(attributes), record_exception=False, set_status_on_exception=False
    ) as current:
        try:
            yield
        except BaseException as error:
            current.set_status(Status(StatusCode.ERROR, type(error).__name__))
            raise


def traceparent() -> str:
    """Return the ``traceparent`` to send to other processes in the same trace, or "" if there is none."""
    if _tracing.tracer is None:
        return _sent.get()
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get("traceparent", "")


def describe_span(name: str = "", **attributes: Attribute) -> None:
    """Set the name, if given, and attributes of the current span."""
    if _tracing.tracer is None:
        return
    from opentelemetry.trace import get_current_span

    current = get_current_span()
    if name:
        current.update_name(name)
    current.set_attributes(_named(attributes))


class Phases:
    """Consecutive spans; each ends when the next begins."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._name = ""
        self._span: Span | None = None

    def enter(self, name: str) -> None:
        """Begin the span of a phase, unless it is the current phase."""
        if name == self._name or _tracing.tracer is None:
            return
        self.end()
        self._name = name
        self._span = _tracing.tracer.start_span(f"{self._prefix}{name}")

    def end(self) -> None:
        """End the current span."""
        if self._span is not None:
            self._span.end()
        self._name, self._span = "", None


def _named(attributes: dict[str, Attribute]) -> dict[str, Attribute]:
    """Return the attributes with dots in their names, as OpenTelemetry writes them."""
    return {name.replace("__", "."): value for name, value in attributes.items()}
