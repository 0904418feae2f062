"""SQLite's trees of records, read page by page (https://www.sqlite.org/fileformat2.html#b_tree_pages).

A tree is found from its root downwards as far as its inner pages can be read, and beyond them from every page upwards,
by the map of pages: so a damaged page loses what it holds itself and nothing else. A page that is free is in no tree:
what was deleted does not come back.
"""

import struct
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from codequarry.shared.store.embedded.pages import USABLE_BYTES, PageFile

Value = int | float | str | bytes | None
Record = tuple[Value, ...]

_INDEX_INNER, _TABLE_INNER, _INDEX_LEAF, _TABLE_LEAF = 2, 5, 10, 13
_INNER = frozenset({_INDEX_INNER, _TABLE_INNER})
_FIRST_OF_MAP = 2
_MAP_ENTRY = 5
_IN_MAP = USABLE_BYTES // _MAP_ENTRY
_ROOT, _FREE, _OF_TREE = 1, 2, 5
_OVERFLOW = frozenset({3, 4})
# The first page begins with the head of the file.
_FILE_HEADER = 100
_INT_SIZES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


@dataclass(frozen=True, slots=True)
class TreeRecord:
    """A record of a tree; ``row`` is the row's number in a table's tree, 0 in an index."""

    row: int
    values: Record


class RecordUnreadable(Exception):
    """A record lies partly on a damaged page."""


class Trees:
    """All trees of a file by the number of their root, with the ``names`` that the first page gives them."""

    def __init__(self, pages: PageFile) -> None:
        self._pages = pages
        self._parents: dict[int, int] = {}
        self._further: dict[int, int] = {}
        self._free: set[int] = set()
        self._roots: set[int] = set()
        self.names: dict[int, str] = {}
        self._read_map()
        self._read_inner_pages()
        self.pages_of: dict[int, list[int]] = defaultdict(list)
        for number in range(2, pages.count + 1):
            if (number in self._parents or number in self._roots) and (root := self._root_of(number)):
                self.pages_of[root].append(number)

    def _read_map(self) -> None:
        for at in range(_FIRST_OF_MAP, self._pages.count + 1, _IN_MAP + 1):
            content = self._pages.read(at)
            if content is None:
                continue
            for place in range(min(_IN_MAP, self._pages.count - at)):
                kind, parent = struct.unpack_from(">BI", content, place * _MAP_ENTRY)
                if kind == _ROOT:
                    self._roots.add(at + 1 + place)
                elif kind == _OF_TREE:
                    self._parents[at + 1 + place] = parent
                elif kind in _OVERFLOW:
                    self._further[at + 1 + place] = parent
                elif kind == _FREE:
                    self._free.add(at + 1 + place)

    def _read_inner_pages(self) -> None:
        """Take the children of pages that the map leaves out: it may be damaged itself."""
        self.names = dict(self._named_roots())
        self._roots.update(self.names)
        waiting = [*self._roots, *self._parents]
        while waiting:
            number = waiting.pop()
            for child in self._children(number):
                if child not in self._parents:
                    self._parents[child] = number
                    waiting.append(child)

    def _named_roots(self) -> Iterator[tuple[int, str]]:
        """Yield the roots in the table of tables, which begins on the first page, with the names of their trees."""
        waiting, seen = [1], set()
        while waiting:
            number = waiting.pop()
            if number in seen:
                continue
            seen.add(number)
            waiting += self._children(number)
            for entry in self._records(number):
                _, name, _, root, _ = entry.values
                if root:
                    yield int(str(root)), str(name)

    def holds_nothing(self, number: int) -> bool:
        """Return whether a page is known to hold no records: it is free, or belongs to the map."""
        return number in self._free or (number >= _FIRST_OF_MAP and (number - _FIRST_OF_MAP) % (_IN_MAP + 1) == 0)

    def tree_of(self, number: int) -> int | None:
        """Return the root of the tree whose records lie on a page, wholly or in part; None if that can't be told."""
        seen = set()
        while number in self._further and number not in seen:
            seen.add(number)
            number = self._further[number]
        return self._root_of(number)

    def _root_of(self, number: int) -> int | None:
        """Return the root above a page; None if that can't be told, or it is the table of tables."""
        seen = set()
        while number not in self._roots:
            seen.add(number)
            parent = self._parents.get(number)
            if parent is None or parent in seen:
                return None
            number = parent
        return number

    def _children(self, number: int) -> list[int]:
        content = self._pages.read(number)
        start = _FILE_HEADER if number == 1 else 0
        if content is None or content[start] not in _INNER:
            return []
        (last,) = struct.unpack_from(">I", content, start + 8)
        return [last, *(struct.unpack_from(">I", content, cell)[0] for cell in _cells(content, start, 12))]

    def entries(self, root: int) -> Iterator[TreeRecord]:
        """Yield the records of a tree that can be read, in no order."""
        for number in self.pages_of[root]:
            yield from self._records(number)

    def _records(self, number: int) -> Iterator[TreeRecord]:
        content = self._pages.read(number)
        start = _FILE_HEADER if number == 1 else 0
        if content is None or content[start] not in (_INDEX_INNER, _INDEX_LEAF, _TABLE_LEAF):
            return
        kind = content[start]
        for cell in _cells(content, start, 12 if kind == _INDEX_INNER else 8):
            try:
                yield self._entry(content, cell + 4 * (kind == _INDEX_INNER), is_table=kind == _TABLE_LEAF)
            except RecordUnreadable:
                continue

    def _entry(self, content: bytes, at: int, *, is_table: bool) -> TreeRecord:
        size, at = _varint(content, at)
        row = 0
        if is_table:
            row, at = _varint(content, at)
        return TreeRecord(row, decoded(self._payload(content, at, size, is_table=is_table)))

    def _payload(self, content: bytes, at: int, size: int, *, is_table: bool) -> bytes:
        """Put a record together that may go on over further pages."""
        most = USABLE_BYTES - 35 if is_table else (USABLE_BYTES - 12) * 64 // 255 - 23
        if size <= most:
            return content[at : at + size]
        least = (USABLE_BYTES - 12) * 32 // 255 - 23
        here = least + (size - least) % (USABLE_BYTES - 4)
        here = here if here <= most else least
        parts, left = [content[at : at + here]], size - here
        (following,) = struct.unpack_from(">I", content, at + here)
        while left > 0:
            further = self._pages.read(following)
            if further is None:
                raise RecordUnreadable
            (following,) = struct.unpack_from(">I", further)
            parts.append(further[4 : 4 + left])
            left -= len(parts[-1])
        return b"".join(parts)


def _cells(content: bytes, start: int, header: int) -> tuple[int, ...]:
    (count,) = struct.unpack_from(">H", content, start + 3)
    cells: tuple[int, ...] = struct.unpack_from(f">{count}H", content, start + header)
    return cells


def decoded(payload: bytes) -> Record:
    """Return the values of a record."""
    header, at = _varint(payload, 0)
    values: list[Value] = []
    place = header
    while at < header:
        kind, at = _varint(payload, at)
        value, place = _value(payload, place, kind)
        values.append(value)
    return tuple(values)


def _value(payload: bytes, at: int, kind: int) -> tuple[Value, int]:
    if kind in _INT_SIZES:
        end = at + _INT_SIZES[kind]
        return int.from_bytes(payload[at:end], signed=True), end
    if kind >= 12:
        end = at + (kind - 12) // 2
        data = payload[at:end]
        return (data.decode("utf-8", "surrogatepass") if kind % 2 else data), end
    if kind == 7:
        return struct.unpack_from(">d", payload, at)[0], at + 8
    return (None if kind == 0 else kind - 8), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of up to nine bytes, the first seven bits of each, and where it ends."""
    number = 0
    for step in range(9):
        byte = data[at + step]
        if step == 8:
            return number << 8 | byte, at + 9
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            return number, at + step + 1
    raise AssertionError("a number has nine bytes at most")
