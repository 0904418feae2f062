"""Logs to stderr: readable lines on a terminal, otherwise one JSON object per line."""

import logging
import sys
from typing import Literal

import structlog
from structlog.types import EventDict, Processor

from codequarry.shared.control_characters import visible
from codequarry.shared.telemetry.traces import traceparent

Level = Literal["debug", "info", "warning", "error"]


def configure_logs(level: Level = "info", as_json: bool | None = None) -> None:
    """Set up structlog and the standard library's logging; by default JSON if stderr is not a terminal."""
    json_lines = not sys.stderr.isatty() if as_json is None else as_json
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        _with_trace,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    renderer: Processor = structlog.processors.JSONRenderer() if json_lines else structlog.dev.ConsoleRenderer()
    # JSON already escapes control characters.
    last: list[Processor] = [renderer] if json_lines else [_visible, renderer]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last]
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())


def _with_trace(_: object, __: str, event: EventDict) -> EventDict:
    if name := traceparent():
        event["trace_id"] = name.split("-")[1]
    return event


def _visible(_: object, __: str, event: EventDict) -> EventDict:
    """Escape control characters for terminals: a line may contain text from a repository or a request."""
    return {name: visible(str(value)) if isinstance(value, str) else value for name, value in event.items()}


def logger(name: str) -> structlog.stdlib.BoundLogger:
    """Return a logger that takes an event and fields: ``log.info("searched", hits=3)``."""
    bound: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(name)
    return bound
