"""A sealed cursor: which page of which query comes next, over which state of the index."""

import json
from dataclasses import dataclass
from hashlib import sha256

from codequarry.search_api.blend import SecondScores
from codequarry.search_api.sealing import Seal
from codequarry.shared.errors import UsageError

VERSION = 1
# No honest cursor is longer: it holds three numbers, two hashes, the transactions that were open, and a second stage's
# scores.
MAX_CHARACTERS = 20_000
_HASH_CHARACTERS = 16


@dataclass(frozen=True, slots=True)
class Cursor:
    """The next page of a search.

    ``at`` and ``open`` are what the first page saw of the head document, so that every later page sees the same rows
    whatever is published meanwhile; ``query`` and ``timelines`` are hashes that tell a cursor of another search, and
    of a repository that was rebuilt since. ``second`` is what a second stage said: it may say other things, or nothing,
    when it is asked again.
    """

    page: int
    at: int
    open: tuple[int, ...]
    query: str
    timelines: str
    second: SecondScores | None = None


def digest(*parts: object) -> str:
    """Return a short hash of values that have one way to be written as JSON."""
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:_HASH_CHARACTERS]


def encode_cursor(cursor: Cursor, seal: Seal) -> str:
    """Return the cursor as text that only its owner can use: its numbers tell how much goes on in the whole index."""
    body = [VERSION, cursor.page, cursor.at, list(cursor.open), cursor.query, cursor.timelines]
    if cursor.second is not None:
        body.append([cursor.second.weight, dict(cursor.second.scores), cursor.second.warning])
    return seal.close(json.dumps(body, separators=(",", ":")))


def decode_cursor(text: str, seal: Seal) -> Cursor:
    """Read what ``encode_cursor`` wrote for the same caller; UsageError for anything else."""
    try:
        if len(text) > MAX_CHARACTERS:
            raise ValueError
        version, page, at, still_open, query, timelines, *second = json.loads(seal.open(text))
        numbers = [page, at, *still_open]
        if version != VERSION or any(type(number) is not int or number < 0 for number in numbers):
            raise ValueError
        scores = SecondScores(*second[0]) if second else None
    except (ValueError, TypeError, RecursionError):
        raise UsageError("the cursor is not one that this service gave; leave it out to begin anew") from None
    return Cursor(page, at, tuple(still_open), str(query), str(timelines), scores)
