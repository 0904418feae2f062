"""Timestamps as stored in documents: ISO 8601 in UTC, which sorts as text."""

from datetime import UTC, datetime, timedelta
from typing import Literal

Precision = Literal["seconds", "milliseconds", "microseconds"]


def now(precision: Precision = "microseconds") -> str:
    """Return the current time."""
    return datetime.now(UTC).isoformat(timespec=precision)


def from_now(seconds: float) -> str:
    """Return the time ``seconds`` from now; negative seconds give a past time."""
    return later(now(), seconds)


def later(moment: str, seconds: float) -> str:
    """Return the time ``seconds`` after ``moment``."""
    return (datetime.fromisoformat(moment) + timedelta(seconds=seconds)).isoformat(timespec="microseconds")


def seconds_since(moment: str) -> float:
    """Return the seconds since ``moment``, negative if that is in the future."""
    return (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()
