"""From a ranked list to pages: at most so many hits a file, nothing twice, as far as the page can be filled so."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from codequarry.search_api.rank import Ranked
from codequarry.shared.model import Chunk

# Two chunks that share this much of the shorter one say the same thing twice; parts of a split symbol share only a
# few lines, and are named as parts instead.
REDUNDANT_SHARE = 0.5
# What says nothing new comes after everything that does, however many hits of a file are allowed.
LAST = 1_000_000


@dataclass(frozen=True, slots=True)
class Page:
    """One page of hits, best first; ``has_more`` where another page would not be empty."""

    hits: tuple[Ranked, ...]
    has_more: bool


def cut_page(ranked: Sequence[Ranked], top_k: int, max_per_file: int, number: int) -> Page:
    """Return page ``number`` (from 0) of ``top_k`` hits.

    Each page takes the best that are left with at most ``max_per_file`` of a file; where these don't fill it, the
    limit is lifted just as far as needed. Every candidate is on exactly one page, and a page is sorted by score.
    """
    left = list(zip(ranked, _crowding(ranked), strict=True))
    for _ in range(number):
        taken = {item.id for item in _take(left, top_k, max_per_file)}
        left = [(item, crowd) for item, crowd in left if item.id not in taken]
    hits = _take(left, top_k, max_per_file)
    return Page(tuple(hits), len(left) > len(hits))


def _take(left: Sequence[tuple[Ranked, int]], top_k: int, max_per_file: int) -> list[Ranked]:
    crowds = sorted(crowd for _, crowd in left)
    needed = crowds[min(top_k, len(crowds)) - 1] if crowds else 0
    limit = max(max_per_file, needed)
    return [item for item, crowd in left if crowd <= limit][:top_k]


def _crowding(ranked: Sequence[Ranked]) -> list[int]:
    """Say of each candidate which one of its file it is, from 1; what repeats a better one is LAST."""
    seen: dict[tuple[str, str], list[Chunk]] = defaultdict(list)
    texts: set[tuple[str, str]] = set()
    crowding = []
    for item in ranked:
        chunk = item.candidate.chunk
        others, text = seen[chunk.repo, chunk.path], (chunk.repo, chunk.content_hash)
        is_copy = text in texts and not item.signals.definition
        if is_copy or any(is_redundant(chunk, other) for other in others):
            crowding.append(LAST)
            continue
        texts.add(text)
        others.append(chunk)
        crowding.append(len(others))
    return crowding


def is_redundant(chunk: Chunk, better: Chunk) -> bool:
    """Tell whether a chunk of the same file says again what a better one says: a part of its symbol, or its lines.

    Of two versions of a file lines say nothing: there it is the same declaration that says it again.
    """
    if chunk.blob != better.blob:
        return chunk.qualified_name is not None and chunk.qualified_name == better.qualified_name
    if chunk.symbol_part and better.symbol_part and chunk.qualified_name == better.qualified_name is not None:
        return _touches(chunk, better)
    shared = min(chunk.end_line, better.end_line) - max(chunk.start_line, better.start_line) + 1
    shorter = min(chunk.end_line - chunk.start_line, better.end_line - better.start_line) + 1
    return shared >= REDUNDANT_SHARE * shorter


def _touches(chunk: Chunk, other: Chunk) -> bool:
    """Tell whether two chunks share a line."""
    return chunk.start_line <= other.end_line and other.start_line <= chunk.end_line
