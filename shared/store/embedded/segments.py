"""Writes and merges segments of the inverted lists, and removes deleted rows from them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import groupby, takewhile
from typing import NamedTuple

import apsw
import numpy as np

from codequarry.shared.store.embedded.columns import Bools
from codequarry.shared.store.embedded.postings import StoredList
from codequarry.shared.store.embedded.sql import fetch, fetch_first

# Neighbouring segments are merged like digits that carry: when a tier's segments hold as many rows as a segment of the
# next tier. So a tier has at most 7 segments, and a row is rewritten at most once per tier.
_TIER_BITS = 3
# Larger segments are not merged, because that would delay other writers for seconds.
FULL_ROWS = 32_768


class Segment(NamedTuple):
    """The lists of rows ``first`` to ``last``, of which ``rows`` existed when the segment was written."""

    id: int
    first: int
    last: int
    rows: int


def write_segment(connection: apsw.Connection, rows: Sequence[int], lists: Iterator[StoredList]) -> None:
    """Write the lists of ``rows`` (ascending), sorted by key, and merge the segments that are due."""
    _insert(connection, rows[0], rows[-1], len(rows), lists)
    segments = all_segments(connection)
    if due := merge_due([segment.rows for segment in segments]):
        rewrite(connection, segments[-due:])


def all_segments(connection: apsw.Connection) -> list[Segment]:
    """Return the segments, oldest rows first."""
    return [Segment(*row) for row in fetch(connection, "SELECT id, first, last, rows FROM segment ORDER BY first")]


def merge_due(sizes: Sequence[int]) -> int:
    """Return how many of the newest segments to merge, or 0; ``sizes`` are row counts, oldest first."""
    newest = list(takewhile(lambda size: size < FULL_ROWS, reversed(sizes)))
    due = 0
    for tier in sorted({_tier(size) for size in newest}):
        run = next((place for place, size in enumerate(newest) if _tier(size) > tier), len(newest))
        if run > 1 and _tier(sum(newest[:run])) > tier:
            due = run
    return due


def _tier(rows: int) -> int:
    return max(0, rows.bit_length() - 1) // _TIER_BITS


def rewrite(connection: apsw.Connection, segments: Sequence[Segment]) -> None:
    """Merge neighbouring segments into one, without deleted rows."""
    first, last = segments[0].first, segments[-1].last
    places = ", ".join(str(segment.id) for segment in segments)
    exists = _existing(connection, first, last)
    if rows := int(np.count_nonzero(exists)):
        query = f"SELECT key, rows, weights FROM posting WHERE segment IN ({places}) ORDER BY key, segment"
        merged = _merged(connection.execute(query))
        complete = rows == sum(segment.rows for segment in segments)
        _insert(connection, first, last, rows, merged if complete else _without_deleted(merged, exists, first))
    connection.execute(f"DELETE FROM posting WHERE segment IN ({places})")
    connection.execute(f"DELETE FROM segment WHERE id IN ({places})")


def with_deleted(connection: apsw.Connection, share: float) -> list[Segment]:
    """Return the segments in which more than ``share`` of the rows were deleted."""
    counted = "(SELECT count(*) FROM chunk WHERE row BETWEEN first AND last)"
    query = f"SELECT id, first, last, rows FROM segment WHERE rows - {counted} > ? * rows"
    return [Segment(*row) for row in fetch(connection, query, (share,))]


def clean_lists(writing: Callable[[], AbstractContextManager[apsw.Connection]], share: float) -> None:
    """Rewrite the segments in which more than ``share`` of the rows were deleted, each in a separate transaction."""
    while True:
        with writing() as connection:
            found = with_deleted(connection, share)
            if not found:
                return
            rewrite(connection, found[:1])


def _insert(connection: apsw.Connection, first: int, last: int, rows: int, lists: Iterator[StoredList]) -> None:
    query = "INSERT INTO segment (first, last, rows) VALUES (?, ?, ?) RETURNING id"
    segment = connection.execute(query, (first, last, rows)).get
    connection.executemany("INSERT INTO posting VALUES (?, ?, ?, ?)", ((segment, *stored) for stored in lists))


def _existing(connection: apsw.Connection, first: int, last: int) -> Bools:
    rows = fetch_first(connection, "SELECT row FROM chunk WHERE row BETWEEN ? AND ?", (first, last))
    exists = np.zeros(last - first + 1, np.bool_)
    exists[np.array(rows, np.int64) - first] = True
    return exists


def _merged(lists: Iterator[StoredList]) -> Iterator[StoredList]:
    for key, group in groupby(lists, key=lambda stored: stored[0]):
        parts = list(group)
        weights = None if parts[0][2] is None else b"".join(part[2] or b"" for part in parts)
        yield key, b"".join(part[1] for part in parts), weights


def _without_deleted(lists: Iterator[StoredList], exists: Bools, first: int) -> Iterator[StoredList]:
    for key, rows, weights in lists:
        numbers = np.frombuffer(rows, "<i4")
        kept = exists[numbers - first]
        if kept.any():
            yield key, numbers[kept].tobytes(), weights and np.frombuffer(weights, np.uint8)[kept].tobytes()
