"""The body of an error answer (RFC 9457), for whatever answers: the application, or the server before it."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

MEDIA_TYPE = "application/problem+json"


def problem_body(
    status: HTTPStatus, detail: str, request_id: str | None, extra: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the fields of a problem."""
    return {
        "type": "about:blank",
        "title": status.phrase,
        "status": status.value,
        "detail": detail,
        "request_id": request_id,
        **(extra or {}),
    }
