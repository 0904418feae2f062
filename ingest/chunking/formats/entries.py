"""What a format says about the structure of a file: its entries, flat and in file order."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from codequarry.ingest.chunking.text import SourceText

# Longer names are data.
MAX_NAME_CHARACTERS = 200
# A row with more entries is minified; its further names are dropped.
MAX_ENTRIES_IN_ROW = 200


class Entry(NamedTuple):
    """A key, table, element, statement or item: it begins at ``row`` and goes on until one that is not deeper.

    ``name`` is empty for an item without a name, ``qualified`` is the name with those around it. ``label`` describes
    the entry as the context of those inside it. A ``leading`` entry begins a chunk if the one before is not small.
    """

    row: int
    depth: int
    name: str = ""
    qualified: str = ""
    kind: str = ""
    label: str = ""
    leading: bool = False


def qualify(outer: str, name: str) -> str:
    """Return a name below another one, or an empty name if it gets too long."""
    joined = f"{outer}.{name}" if outer else name
    return joined if len(joined) <= MAX_NAME_CHARACTERS else ""


@dataclass(slots=True)
class CommentRows:
    """Notes which rows of a text have nothing but a comment."""

    text: SourceText
    rows: list[bool]
    _noted: int = -1

    @classmethod
    def of(cls, text: SourceText) -> "CommentRows":
        """Begin with no comments."""
        return cls(text, [False] * text.rows)

    def note(self, start: int, end: int, row: int) -> None:
        """Take the next comment: the characters ``start`` to ``end``, which begin in a row."""
        if row == self._noted:
            return  # there is a comment before it; looking once more takes quadratic time in a row with many
        self._noted = row
        starts, source = self.text.char_starts, self.text.text
        if source[starts[row] : start].strip():
            return
        while row < self.text.rows and starts[row] < end:
            self.rows[row] = not source[max(end, starts[row]) : starts[row + 1]].strip()
            row += 1


@dataclass(frozen=True, slots=True)
class EntryTree:
    """Entries with what their depths say: where each one ends, and which one holds it.

    ``ends[i]`` is the index of the first entry after ``i`` that is not inside it, ``parents[i]`` the one around it or
    -1, and ``starts[i]`` its first row, comments above included.
    """

    entries: Sequence[Entry]
    ends: Sequence[int]
    parents: Sequence[int]
    starts: Sequence[int]
    rows: int

    @classmethod
    def of(cls, entries: Sequence[Entry], comments: Sequence[bool], text: SourceText) -> "EntryTree":
        """Arrange entries that are in file order; ``comments`` says which rows have nothing but a comment."""
        ends, parents = [len(entries)] * len(entries), [-1] * len(entries)
        starts: list[int] = []
        above: list[int] = []
        for index, entry in enumerate(entries):
            while above and entries[above[-1]].depth >= entry.depth:
                ends[above.pop()] = index
            parents[index] = above[-1] if above else -1
            above.append(index)
            same_row = index > 0 and entries[index - 1].row == entry.row
            starts.append(starts[-1] if same_row else _with_comments(entry.row, comments))
        return cls(entries, ends, parents, starts, text.rows)

    def start(self, index: int) -> int:
        """Return the first row of an entry, or the end of the file for the index after the last one."""
        return self.starts[index] if index < len(self.starts) else self.rows

    def children(self, index: int) -> list[int]:
        """Return the entries right inside another one; -1 stands for the file."""
        children = []
        at, end = index + 1, self.ends[index] if index >= 0 else len(self.entries)
        while at < end:
            children.append(at)
            at = self.ends[at]
        return children

    def between(self, start: int, end: int) -> Sequence[Entry]:
        """Return the entries that begin in a range of rows."""
        first = bisect_left(self.entries, start, key=_row)
        return self.entries[first : bisect_left(self.entries, end, lo=first, key=_row)]


def _with_comments(row: int, comments: Sequence[bool]) -> int:
    """Return the first row of the comments right above a row."""
    while row > 0 and comments[row - 1]:
        row -= 1
    return row


def _row(entry: Entry) -> int:
    return entry.row
