"""Errors, as RFC 9457 has them, and what probes answer."""

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
    known: Annotated[tuple[str, ...] | None, LEFT_OUT_IF_NONE, Field(description="the names that exist")] = None
    candidates: Annotated[
        tuple[str, ...] | None, LEFT_OUT_IF_NONE, Field(description="what an ambiguous commit may mean")
    ] = None
    freshness: Annotated[
        tuple[Freshness, ...] | None,
        LEFT_OUT_IF_NONE,
        Field(description="where the index stands, if a commit did not come in time"),
    ] = None


def problem_of_status(status: HTTPStatus, detail: str, request_id: str | None) -> Problem:
    """Return a problem that a status says enough about."""
    return Problem("about:blank", status.phrase, status.value, detail, request_id)


@dataclass(frozen=True, slots=True)
class Health:
    """What the probes answer."""

    status: Literal["ok", "unavailable"]
    checks: Annotated[Mapping[str, str], Field(description="each part and what is wrong with it, or ok")] = field(
        default_factory=dict
    )
