"""Errors as problem+json (RFC 9457): what went wrong, in a sentence that says what to do."""

import json
import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from flask import Response

from codequarry.search_api.problem_body import MEDIA_TYPE, problem_body
from codequarry.shared.errors import (
    AmbiguousCommit,
    CodequarryError,
    Forbidden,
    IndexingOff,
    IndexMoved,
    NotIndexed,
    NotReached,
    StoreFull,
    StoreUnavailable,
    TooManyRequests,
    Unauthorized,
    UnknownName,
    UsageError,
    WrongState,
)
from codequarry.shared.public import public
from codequarry.shared.telemetry.metrics import Outcome

# An engine that does not answer is asked again by itself on the next request; sooner than this is no use.
RETRY_AFTER_SECONDS = 5
# Somebody has to make room first.
FULL_RETRY_AFTER_SECONDS = 60

_STATUSES: tuple[tuple[type[CodequarryError], HTTPStatus, Outcome], ...] = (
    (WrongState, HTTPStatus.CONFLICT, "refused"),
    (UsageError, HTTPStatus.BAD_REQUEST, "refused"),
    (NotIndexed, HTTPStatus.NOT_FOUND, "not_indexed"),
    (NotReached, HTTPStatus.GATEWAY_TIMEOUT, "not_indexed"),
    (Unauthorized, HTTPStatus.UNAUTHORIZED, "refused"),
    (Forbidden, HTTPStatus.FORBIDDEN, "refused"),
    (TooManyRequests, HTTPStatus.TOO_MANY_REQUESTS, "refused"),
    (IndexingOff, HTTPStatus.NOT_IMPLEMENTED, "refused"),
    (StoreUnavailable, HTTPStatus.SERVICE_UNAVAILABLE, "unavailable"),
    (StoreFull, HTTPStatus.SERVICE_UNAVAILABLE, "unavailable"),
    (IndexMoved, HTTPStatus.SERVICE_UNAVAILABLE, "unavailable"),
)


def classify(error: CodequarryError) -> tuple[HTTPStatus, Outcome]:
    """Return the status and outcome of an error; what is no fault of the caller is a 500."""
    for kind, status, outcome in _STATUSES:
        if isinstance(error, kind):
            return status, outcome
    return HTTPStatus.INTERNAL_SERVER_ERROR, "failed"


def problem(
    status: HTTPStatus, detail: str, request_id: str | None, extra: Mapping[str, Any] | None = None
) -> Response:
    """Return a problem+json response."""
    body = json.dumps(problem_body(status, detail, request_id, extra))
    response = Response(body, status.value, mimetype=MEDIA_TYPE)
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        response.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return response


def problem_of(error: CodequarryError, request_id: str | None) -> Response:
    """Return the response for one of our own errors."""
    status, _ = classify(error)
    response = problem(status, public(error), request_id, _details(error))
    if isinstance(error, StoreFull):
        response.headers["Retry-After"] = str(FULL_RETRY_AFTER_SECONDS)
    if isinstance(error, TooManyRequests):
        response.headers["Retry-After"] = str(math.ceil(error.retry_after))
    if isinstance(error, Unauthorized):
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def _details(error: CodequarryError) -> dict[str, Any]:
    if isinstance(error, UnknownName):
        return {"name": error.name, "known": list(error.known)}
    if isinstance(error, AmbiguousCommit):
        return {"candidates": list(error.candidates)}
    if isinstance(error, NotReached):
        return {"freshness": list(error.freshness)}
    return {}
