"""What every route works with: who asks, the engine as it answers them, and typed answers as responses."""

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


def json_response(answer: object, status: HTTPStatus = HTTPStatus.OK) -> Response:
    """Return a typed answer as a response."""
    response = jsonify(to_json(answer))
    response.status_code = status
    return response


def caller() -> Principal:
    """Return who asks."""
    principal: Principal = g.principal
    return principal


def deadline() -> Deadline:
    """Return when the request must be answered: a thread that waits for a store is missing to other requests."""
    if "deadline" not in g:
        g.deadline = Deadline()
    found: Deadline = g.deadline
    return found


def backend() -> Backend:
    """Return what the process has open; what it says of the index is for its owner alone."""
    opened: Backend = current_app.extensions[EXTENSION]
    return opened


def engine() -> SearchEngine:
    """Return the engine as it answers the one who asks: the only way from a route to the index."""
    return backend().seen_by(caller(), deadline())


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
