"""Moments as documents record them: ISO 8601 in UTC, which sort as text."""

from datetime import UTC, datetime, timedelta


def now() -> str:
    """Return this moment, to the microsecond."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def from_now(seconds: float) -> str:
    """Return the moment so many seconds from now; negative seconds give one that is over."""
    return later(now(), seconds)


def later(moment: str, seconds: float) -> str:
    """Return the moment so many seconds after another one."""
    return (datetime.fromisoformat(moment) + timedelta(seconds=seconds)).isoformat(timespec="microseconds")


def seconds_since(moment: str) -> float:
    """Return how long ago a moment was, in seconds; less than 0 for one still to come."""
    return (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()
