"""How long to go on asking a server: number of attempts, growing waits, and what the server itself asks for."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


@dataclass(frozen=True, slots=True)
class Patience:
    """``retries`` after the first attempt; waits in seconds double from ``first_wait``, with up to ``jitter`` more.

    A server's Retry-After is followed instead, but not beyond ``longest_wait``.
    """

    retries: int
    timeout: float
    first_wait: float = 0.5
    longest_wait: float = 60
    # Spreads the requests of many workers that were refused at the same moment.
    jitter: float = 1.0


# A person waits for a query: better a lexical answer at once than a full one after a minute.
QUERY_TIMEOUT_SECONDS = 10.0
QUERY_LONGEST_WAIT_SECONDS = 2.0
QUERY_RETRIES = 1


def for_queries(patience: Patience) -> Patience:
    """Return the patience that is left for a query where documents get ``patience``."""
    return Patience(
        retries=min(patience.retries, QUERY_RETRIES),
        timeout=min(patience.timeout, QUERY_TIMEOUT_SECONDS),
        first_wait=patience.first_wait,
        longest_wait=min(patience.longest_wait, QUERY_LONGEST_WAIT_SECONDS),
        jitter=patience.jitter,
    )


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds that a server asks to wait, or None: ``retry-after-ms``, or seconds or a date (RFC 9110)."""
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    if (seconds := _number(value)) is not None:
        return seconds
    if not value:
        return None
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    # A date without a zone is in UTC, like every date of HTTP.
    aware = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (aware - now).total_seconds())


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value else None
    except ValueError:
        return None
    return max(0.0, number) if number is not None and math.isfinite(number) else None
