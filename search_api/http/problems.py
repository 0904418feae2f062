"""Error responses as problem+json (RFC 9457)."""

import json
import math
from dataclasses import replace
from http import HTTPStatus

from flask import Response

from codequarry.search_api.answers.json import to_json
from codequarry.search_api.answers.problem import PROBLEM_MEDIA_TYPE, Problem, problem_of_status
from codequarry.search_api.versions.commit_wait import LateCommit
from codequarry.search_api.versions.merge_base import MergeBaseUnknown
from codequarry.search_api.versions.missing_version import VersionMissing
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
    public,
)
from codequarry.shared.telemetry.metrics import SearchOutcome

# A store that does not answer is not called again for a few seconds, so an earlier retry is useless.
RETRY_AFTER_SECONDS = 5
# The operator must free disk space first.
FULL_RETRY_AFTER_SECONDS = 60

_STATUSES: tuple[tuple[type[CodequarryError], HTTPStatus, SearchOutcome], ...] = (
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


def classify(error: CodequarryError) -> tuple[HTTPStatus, SearchOutcome]:
    """Return the HTTP status and search outcome for an error; unlisted kinds get 500."""
    for kind, status, outcome in _STATUSES:
        if isinstance(error, kind):
            return status, outcome
    return HTTPStatus.INTERNAL_SERVER_ERROR, "failed"


def problem(status: HTTPStatus, detail: str, request_id: str | None) -> Response:
    """Return the response for an error that is not a CodequarryError."""
    return _response(problem_of_status(status, detail, request_id))


def problem_of(error: CodequarryError, request_id: str | None, *, indexes: bool, may_index: bool) -> Response:
    """Return the response for a CodequarryError, with its headers and details.

    The advice for a missing version depends on whether the service ``indexes`` and whether the caller may ask for that.
    """
    status, _ = classify(error)
    if isinstance(error, VersionMissing):
        detail = _advised(error, indexes, may_index)
    elif isinstance(error, MergeBaseUnknown):
        detail = _merge_base_advised(error, indexes, may_index)
    else:
        detail = public(error)
    response = _response(_with_details(problem_of_status(status, detail, request_id), error))
    if isinstance(error, StoreFull):
        response.headers["Retry-After"] = str(FULL_RETRY_AFTER_SECONDS)
    if isinstance(error, TooManyRequests):
        response.headers["Retry-After"] = str(math.ceil(error.retry_after))
    if isinstance(error, Unauthorized):
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def _merge_base_advised(error: MergeBaseUnknown, indexes: bool, may_index: bool) -> str:
    if not indexes:
        return f"{error.problem}; this service does not index: ask its operator, which can run: {error.command}"
    key = "" if may_index else " and a key that has the scope 'index'"
    return f"{error.problem}; to find it, repeat the request with ?index=true{key}"


def _advised(error: VersionMissing, indexes: bool, may_index: bool) -> str:
    """Return the problem with what an HTTP client can do about it, instead of a command."""
    if error.is_workspace:
        return f"{error.problem}; working trees can't be indexed over HTTP; on its machine, run: {error.command}"
    if not indexes:
        how = f", which can run: {error.command}" if error.command else ""
        return f"{error.problem}; this service does not index: ask its operator{how}"
    key = "" if may_index else " and a key that has the scope 'index'"
    if not error.missing:
        return f"{error.problem}; add a repository with POST /repos{key}"
    if not error.command:
        return f"{error.problem}; to index it, name one repository in filters.repo, and use ?index=true{key}"
    return f"{error.problem}; to index it, repeat the request with ?index=true{key}"


def _response(body: Problem) -> Response:
    response = Response(json.dumps(to_json(body)), body.status, mimetype=PROBLEM_MEDIA_TYPE)
    if body.status == HTTPStatus.SERVICE_UNAVAILABLE:
        response.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return response


def _with_details(body: Problem, error: CodequarryError) -> Problem:
    if isinstance(error, UnknownName):
        return replace(body, name=error.name, known=error.known)
    if isinstance(error, AmbiguousCommit):
        return replace(body, candidates=error.candidates)
    if isinstance(error, LateCommit):
        return replace(body, freshness=error.freshness)
    return body
