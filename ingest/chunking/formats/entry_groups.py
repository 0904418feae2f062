"""Groups neighbouring entries into the rows of a chunk, and opens large ones."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from codequarry.ingest.chunking.formats.entries import EntryTree
from codequarry.ingest.chunking.pieces import Sizes
from codequarry.ingest.chunking.text import SourceText

# Too few tokens for a chunk, whatever they are: `</dependencies>`, a last key.
_TINY_TOKENS = 25


@dataclass(frozen=True, slots=True)
class EntryGroup:
    """Consecutive rows that are to be one chunk.

    ``opening`` says that they have only the openings of entries that follow. ``entry`` is the index of the only entry
    that is in them as a whole, or of the leading one; -1 if there is none.
    """

    start: int
    end: int
    parent: int
    entry: int = -1
    members: int = 0
    opening: bool = False
    leading: bool = False


def grouped_rows(tree: EntryTree, text: SourceText, sizes: Sizes, small: int) -> list[EntryGroup]:
    """Return groups that cover all rows in order; an entry with fewer than ``small`` tokens may share a chunk."""
    groups: list[EntryGroup] = []
    for group in _separate(tree, text, sizes):
        merged = _merged(groups[-1], group, text, sizes, small) if groups else None
        if merged is None:
            groups.append(group)
        else:
            groups[-1] = merged
    return groups


def _separate(tree: EntryTree, text: SourceText, sizes: Sizes) -> Iterator[EntryGroup]:
    """Yield every entry that fits a chunk, and the openings of those that do not."""
    first = tree.start(0)
    if first > 0:
        yield EntryGroup(0, first, -1, opening=True)
    # An own stack, because a hostile file nests deeper than Python can call.
    waiting = tree.children(-1)[::-1]
    shared = -1
    while waiting:
        index = waiting.pop()
        start, end = tree.start(index), tree.start(tree.ends[index])
        if start == end:  # another entry of its row is the one that counts
            shared = start
            continue
        if text.tokens(start, end) > sizes.target and tree.start(tree.ends[index] - 1) > start:
            inside = tree.children(index)
            until = tree.start(inside[0])
            if until > start:
                yield EntryGroup(start, until, tree.parents[index], index, 0, opening=True)
            waiting += reversed(inside)
        else:
            entry = -1 if shared == start else index
            leading = tree.entries[index].leading
            yield EntryGroup(start, end, tree.parents[index], entry, 1, leading=leading)


def _merged(last: EntryGroup, group: EntryGroup, text: SourceText, sizes: Sizes, small: int) -> EntryGroup | None:
    """Return two neighbours as one group, or None if they are to be apart."""
    total = text.tokens(last.start, group.end)
    if last.opening:
        return replace(group, start=last.start) if total <= sizes.maximum else None
    if total > sizes.target:
        return None
    before, after = text.tokens(last.start, last.end), text.tokens(group.start, group.end)
    if group.opening:
        return replace(group, start=last.start) if before < _TINY_TOKENS else None
    if min(before, after) >= _TINY_TOKENS and not _may_share(last, group, before, after, small):
        return None
    kept = last.entry if last.leading else -1
    return replace(last, end=group.end, entry=kept, members=last.members + group.members)


def _may_share(last: EntryGroup, group: EntryGroup, before: int, after: int, small: int) -> bool:
    return last.parent == group.parent and min(before, after) < small and not group.leading
