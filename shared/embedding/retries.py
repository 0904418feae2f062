"""How long to keep trying a server: the number of attempts, growing waits, and the wait that the server asks for."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


@dataclass(frozen=True, slots=True)
class Patience:
    """Retries and their waits in seconds, which double from ``first_wait`` unless the server asks for another wait."""

    retries: int
    timeout: float
    first_wait: float = 0.5
    longest_wait: float = 60
    # Spreads the requests of many workers that were refused at the same moment.
    jitter: float = 1.0


# A user is waiting for a query's answer: a lexical answer now is better than a full answer after a minute.
QUERY_TIMEOUT_SECONDS = 10.0
QUERY_LONGEST_WAIT_SECONDS = 2.0
QUERY_RETRIES = 1


def for_queries(patience: Patience) -> Patience:
    """Return the patience for a query, given the patience for documents."""
    return Patience(
        retries=min(patience.retries, QUERY_RETRIES),
        timeout=min(patience.timeout, QUERY_TIMEOUT_SECONDS),
        first_wait=patience.first_wait,
        longest_wait=min(patience.longest_wait, QUERY_LONGEST_WAIT_SECONDS),
        jitter=patience.jitter,
    )


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the wait in seconds from ``retry-after-ms`` or ``retry-after`` (RFC 9110: seconds or a date), or None."""
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
    # A date without a zone is in UTC, like every HTTP date.
    aware = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (aware - now).total_seconds())


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value else None
    except ValueError:
        return None
    return max(0.0, number) if number is not None and math.isfinite(number) else None
