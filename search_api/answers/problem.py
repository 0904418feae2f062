"""Errors as problem+json (RFC 9457), and the answer to health probes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Annotated, Literal

from pydantic import Field

from codequarry.search_api.answers.absence import LEFT_OUT_IF_NONE
from codequarry.search_api.answers.freshness import Freshness

PROBLEM_MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Problem:
    """An error (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    request_id: str | None
    name: Annotated[str | None, LEFT_OUT_IF_NONE, Field(description="the unknown field, filter or value")] = None
    known: Annotated[tuple[str, ...] | None, LEFT_OUT_IF_NONE, Field(description="the known names")] = None
    candidates: Annotated[
        tuple[str, ...] | None, LEFT_OUT_IF_NONE, Field(description="the commits that an ambiguous prefix may mean")
    ] = None
    freshness: Annotated[
        tuple[Freshness, ...] | None,
        LEFT_OUT_IF_NONE,
        Field(description="the state of the index, if it did not reach min_commit in time"),
    ] = None


def problem_of_status(status: HTTPStatus, detail: str, request_id: str | None) -> Problem:
    """Return a problem of the generic type ``about:blank``."""
    return Problem("about:blank", status.phrase, status.value, detail, request_id)


@dataclass(frozen=True, slots=True)
class Health:
    """The answer to a health probe."""

    status: Literal["ok", "unavailable"]
    checks: Annotated[Mapping[str, str], Field(description="ok or an error message, by component")] = field(
        default_factory=dict
    )
