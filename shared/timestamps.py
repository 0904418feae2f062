"""Timestamps as stored in documents: ISO 8601 in UTC, which sorts as text."""

from datetime import UTC, datetime, timedelta


def now() -> str:
    """Return the current time, to the microsecond."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def this_second() -> str:
    """Return the current time, to the second, for people to read."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def from_now(seconds: float) -> str:
    """Return the time ``seconds`` from now; negative seconds give a past time."""
    return later(now(), seconds)


def later(moment: str, seconds: float) -> str:
    """Return the time ``seconds`` after ``moment``."""
    return (datetime.fromisoformat(moment) + timedelta(seconds=seconds)).isoformat(timespec="microseconds")


def seconds_since(moment: str) -> float:
    """Return the seconds since ``moment``, negative if that is in the future."""
    return (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()
