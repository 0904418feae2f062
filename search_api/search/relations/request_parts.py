"""Divides what is asked for into requests of a size that an engine allows."""

from collections.abc import Collection, Iterator

# An engine allows a few hundred globs in a request.
GLOBS_PER_REQUEST = 100


def in_parts(wanted: Collection[str], size: int) -> Iterator[tuple[str, ...]]:
    """Yield the distinct strings in order, at most ``size`` at a time."""
    unique = list(dict.fromkeys(wanted))
    for start in range(0, len(unique), size):
        yield tuple(unique[start : start + size])
