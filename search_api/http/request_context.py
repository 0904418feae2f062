"""The context of a request: its caller, deadline and engine, and responses made from typed answers."""

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from time import monotonic, sleep
from typing import ParamSpec

from flask import Response, current_app, g, jsonify

from codequarry.search_api.answers.json import to_json
from codequarry.search_api.search.backend import Backend
from codequarry.search_api.search.engine import SearchEngine
from codequarry.shared.access.grants import Principal
from codequarry.shared.errors import IndexMoved
from codequarry.shared.liveness.deadline import Deadline

# Keys of application extensions: a Backend, CatalogMetrics, Indexer (None if the service does not index), Receiver.
EXTENSION = "codequarry"
CATALOG_METRICS = "codequarry.catalog_metrics"
INDEXER = "codequarry.indexer"
RECEIVER = "codequarry.receiver"

# The time to wait for a new edition: the pointer to it is updated within milliseconds of a migration's end.
FOLLOW_SECONDS = 2.0
_LOOK_SECONDS = 0.05

Arguments = ParamSpec("Arguments")


def json_response(answer: object, status: HTTPStatus = HTTPStatus.OK) -> Response:
    """Return a typed answer as a response."""
    response = jsonify(to_json(answer))
    response.status_code = status
    return response


def caller() -> Principal:
    """Return the principal of the current request."""
    principal: Principal = g.principal
    return principal


def deadline() -> Deadline:
    """Return the deadline of the current request; a thread that waits for a store can't serve other requests."""
    if "deadline" not in g:
        g.deadline = Deadline()
    found: Deadline = g.deadline
    return found


def backend() -> Backend:
    """Return the backend of the process, which sees the whole index; only the owner may see its answers."""
    opened: Backend = current_app.extensions[EXTENSION]
    return opened


def engine() -> SearchEngine:
    """Return the engine, limited to what the caller may see; it is a route's only access to the index."""
    return backend().seen_by(caller(), deadline())


def followed(view: Callable[Arguments, Response]) -> Callable[Arguments, Response]:
    """Retry a view that writes to the catalog if the index moved, because its writes went to the old edition."""

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
