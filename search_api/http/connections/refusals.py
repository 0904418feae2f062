"""Answers to what never becomes a request: written without the application, as problem+json like all others."""

import json
from dataclasses import dataclass
from http import HTTPStatus
from uuid import uuid4

from gunicorn.http import errors

from codequarry.search_api.answers.json import to_json
from codequarry.search_api.answers.problem import PROBLEM_MEDIA_TYPE, problem_of_status

# So soon a client may come again that was sent away to make room.
RETRY_AFTER_SECONDS = 5
_STATUSES: tuple[tuple[type[Exception], HTTPStatus], ...] = (
    (errors.LimitRequestLine, HTTPStatus.REQUEST_URI_TOO_LONG),
    (errors.LimitRequestHeaders, HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE),
    (errors.UnsupportedTransferCoding, HTTPStatus.NOT_IMPLEMENTED),
    (errors.ExpectationFailed, HTTPStatus.EXPECTATION_FAILED),
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a connection is answered without the application, and closed."""

    status: HTTPStatus
    detail: str

    @property
    def is_full(self) -> bool:
        """Tell whether the client may come again later: there was no room for it."""
        return self.status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)

    def answer(self, request_id: str) -> bytes:
        """Return the whole answer as it goes over the connection."""
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


class Refused(Exception):  # the client's error, and none of ours
    """A request that is refused before the application sees it."""

    def __init__(self, refusal: Refusal) -> None:
        """Carry what the client is answered."""
        super().__init__(refusal.detail)
        self.refusal = refusal


def new_request_id() -> str:
    """Return an id for what has no request that could bring one."""
    return uuid4().hex


def refused(error: Exception) -> Refused:
    """Return what to raise where gunicorn's parser finds that a request is none."""
    status = next((status for kind, status in _STATUSES if isinstance(error, kind)), HTTPStatus.BAD_REQUEST)
    if isinstance(error, errors.NoMoreData):
        return Refused(CUT_SHORT)
    said = str(error) or type(error).__name__
    return Refused(Refusal(status, f"the request is not valid HTTP: {said[:200]}"))


CRASHED = Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, "an unexpected error; the log has it")
LATE = Refusal(
    HTTPStatus.REQUEST_TIMEOUT, "the request did not come in full within [api] read_seconds; send it faster, or again"
)
CUT_SHORT = Refusal(HTTPStatus.BAD_REQUEST, "the request ended before all of it was there")
LARGE_HEAD = Refusal(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the head of the request is too long")
CROWDED_ADDRESS = Refusal(
    HTTPStatus.TOO_MANY_REQUESTS,
    "this address has more connections open than [limits] connections_per_address allows, so the oldest was closed",
)
NO_ROOM = Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "too many clients send or read slowly; ask again later")
