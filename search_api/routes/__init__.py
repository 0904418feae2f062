"""The routes of the service, a blueprint a subject; what each needs is declared in ``admission.py``."""

from collections.abc import Callable
from functools import wraps
from time import monotonic, sleep
from typing import Any, ParamSpec

from flask import Response, current_app, g
from pydantic import BaseModel

from codequarry.search_api.backend import Backend
from codequarry.search_api.bodies import Problem
from codequarry.search_api.engine import SearchEngine
from codequarry.search_api.problem_body import MEDIA_TYPE
from codequarry.search_api.schemas import reference
from codequarry.shared.access.grants import Principal
from codequarry.shared.errors import IndexMoved

EXTENSION = "codequarry"
"""Where the application keeps its backend."""
CATALOG_METRICS = "codequarry.catalog_metrics"
"""Where it keeps what reads metrics from the catalog."""
INDEXER = "codequarry.indexer"
"""Where it keeps what indexes for it; None where nothing does."""
RECEIVER = "codequarry.receiver"
"""Where it keeps what deals with the deliveries of code hosts."""

# At the end of a migration the pointer to the other edition follows within milliseconds.
FOLLOW_SECONDS = 2.0
_LOOK_SECONDS = 0.05

Arguments = ParamSpec("Arguments")

_PROBLEMS = {
    400: "The request is wrong: what and why stands in detail",
    401: "No key, or one that is not valid; for webhooks, no signature, or one that fits no secret",
    403: "The key lacks a scope, or it is switched off or not allowed",
    404: "A repository or version that the index does not have",
    409: "It does not go together with how far things are",
    413: "The body is too large",
    415: "The body is not JSON",
    429: "A limit is reached; Retry-After says when to ask again",
    500: "An error of the service",
    501: "Something is to be indexed where nothing indexes",
    503: "The store does not answer; Retry-After says when to ask again",
    504: "min_commit did not come in wait_ms; freshness says where the index stands",
}


Responses = dict[int | str, dict[str, str | dict[str, dict[str, Any]]]]
"""What the OpenAPI extension takes as the answers of an operation."""


def problem_responses(*statuses: int) -> Responses:
    """Return what the OpenAPI document says of error answers."""
    content = {MEDIA_TYPE: {"schema": reference(Problem)}}
    return {status: {"description": _PROBLEMS[status], "content": dict(content)} for status in statuses}


def answer_response(model: type[BaseModel], description: str, status: int = 200) -> Responses:
    """Return what the OpenAPI document says of a good answer."""
    return {status: {"description": description, "content": {"application/json": {"schema": reference(model)}}}}


def caller() -> Principal:
    """Return who asks."""
    principal: Principal = g.principal
    return principal


def backend() -> Backend:
    """Return what the process has open; what it says of the index is for its owner alone."""
    opened: Backend = current_app.extensions[EXTENSION]
    return opened


def engine() -> SearchEngine:
    """Return the engine as it answers the one who asks: the only way from a route to the index."""
    return backend().seen_by(caller())


def followed(view: Callable[Arguments, Response]) -> Callable[Arguments, Response]:
    """Run a view that writes to the catalog again where the index moved meanwhile: what it wrote was left behind."""

    @wraps(view)
    def run(*arguments: Arguments.args, **named: Arguments.kwargs) -> Response:
        deadline = monotonic() + FOLLOW_SECONDS
        while True:
            try:
                return view(*arguments, **named)
            except IndexMoved:
                if monotonic() >= deadline:
                    raise
                sleep(_LOOK_SECONDS)

    return run
