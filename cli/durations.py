"""Lengths of time as people write them at the command line."""

import re
from datetime import timedelta

from codequarry.shared.errors import UsageError

_DURATION = re.compile(r"([0-9]{1,6})\s*(s|m|h|d|w)")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
# Longer than any key should live, and short enough for a calendar.
MAX_DAYS = 36_500


def read_duration(text: str) -> timedelta:
    """Return the length of time that ``90d``, ``12h``, ``30m``, ``45s`` or ``2w`` stands for."""
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"'{text}' is no length of time; write it as 90d, 12h, 30m or 45s")
    length = timedelta(**{_UNITS[found[2]]: int(found[1])})
    if length > timedelta(days=MAX_DAYS):
        raise UsageError(f"'{text}' is longer than {MAX_DAYS} days")
    return length
