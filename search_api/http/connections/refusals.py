"""Responses to clients that never complete a request: problem+json, written without the application."""

import json
from dataclasses import dataclass
from http import HTTPStatus
from uuid import uuid4

from gunicorn.http import errors

from codequarry.search_api.answers.json import to_json
from codequarry.search_api.answers.problem import PROBLEM_MEDIA_TYPE, problem_of_status

# Retry-After for a client whose connection was closed for lack of capacity.
RETRY_AFTER_SECONDS = 5
_STATUSES: tuple[tuple[type[Exception], HTTPStatus], ...] = (
    (errors.LimitRequestLine, HTTPStatus.REQUEST_URI_TOO_LONG),
    (errors.LimitRequestHeaders, HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE),
    (errors.UnsupportedTransferCoding, HTTPStatus.NOT_IMPLEMENTED),
    (errors.ExpectationFailed, HTTPStatus.EXPECTATION_FAILED),
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason for closing a connection with an error, without involving the application."""

    status: HTTPStatus
    detail: str

    @property
    def is_full(self) -> bool:
        """Return whether the service lacked capacity for the client, which may retry later."""
        return self.status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)

    def answer(self, request_id: str) -> bytes:
        """Return the whole HTTP response as bytes."""
        body = json.dumps(to_json(problem_of_status(self.status, self.detail, request_id))).encode()
        lines = [
            f"HTTP/1.1 {self.status.value} {self.status.phrase}",
            f"Content-Type: {PROBLEM_MEDIA_TYPE}",
            f"Content-Length: {len(body)}",
            f"X-Request-ID: {request_id}",
            *([f"Retry-After: {RETRY_AFTER_SECONDS}"] if self.is_full else ()),
            "Connection: close",
        ]
        return "\r\n".join([*lines, "", ""]).encode() + body


class Refused(Exception):  # the client's error, not a CodequarryError
    """A request that is refused before the application sees it."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.detail)
        self.refusal = refusal


def new_request_id() -> str:
    """Return a new id for a response without a request."""
    return uuid4().hex


def refused(error: Exception) -> Refused:
    """Return the Refused exception to raise for an error from gunicorn's parser."""
    status = next((status for kind, status in _STATUSES if isinstance(error, kind)), HTTPStatus.BAD_REQUEST)
    if isinstance(error, errors.NoMoreData):
        return Refused(CUT_SHORT)
    reason = str(error) or type(error).__name__
    return Refused(Refusal(status, f"the request is not valid HTTP: {reason[:200]}"))


CRASHED = Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, "an unexpected error occurred; see the service's log")
LATE = Refusal(
    HTTPStatus.REQUEST_TIMEOUT, "the request was not complete within [api] read_seconds; send it faster or retry"
)
CUT_SHORT = Refusal(HTTPStatus.BAD_REQUEST, "the connection ended before the request was complete")
LARGE_HEAD = Refusal(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the request head is too long")
CROWDED_ADDRESS = Refusal(
    HTTPStatus.TOO_MANY_REQUESTS,
    "this address has more open connections than [limits] connections_per_address allows; this connection was closed",
)
NO_ROOM = Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "too many clients are sending or reading slowly; retry later")
