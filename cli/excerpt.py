"""Which lines of a hit are shown: the few that speak of the query. Pure."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from codequarry.shared.identifiers import iter_tokens

# Words shorter than this are in every line of code and say nothing about where to look.
MIN_WORD = 3
# The beginning of a hit has its name and signature: only a place with so many words more is better to see.
WORTH_LEAVING = 2


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Consecutive lines of a file; ``start`` counts from 1."""

    start: int
    lines: tuple[str, ...]


def excerpt(hit: Mapping[str, Any], query: str, height: int) -> Excerpt:
    """Return ``height`` lines of a hit: those with the most of the query's words, the first ones where equal."""
    # Only a line feed ends a line, as git counts them; not a form feed or what Unicode adds.
    # The carriage return of a Windows line end is no part of what is read.
    lines = [line.removesuffix("\r") for line in hit["text"].removesuffix("\n").split("\n")]
    start = _best_start(lines, {word for word in iter_tokens(query) if len(word) >= MIN_WORD}, height)
    shown = lines[start : start + height]
    while shown and not shown[-1].strip():
        shown.pop()
    return Excerpt(hit["start_line"] + start, tuple(shown))


def _best_start(lines: list[str], words: AbstractSet[str], height: int) -> int:
    if len(lines) <= height or not words:
        return _first_filled(lines)
    found = [words & set(iter_tokens(line)) for line in lines]
    # A window begins with a line that names something, so that it is read from there on.
    starts = [_first_filled(lines), *(index for index, names in enumerate(found) if names)]
    scores = {start: len(set().union(*found[start : start + height])) for start in starts}
    best = max(starts, key=lambda start: (scores[start], -start))
    if scores[best] < scores[starts[0]] + WORTH_LEAVING:
        return starts[0]
    return max(0, min(best, len(lines) - height))


def _first_filled(lines: list[str]) -> int:
    return next((index for index, line in enumerate(lines) if line.strip()), 0)
