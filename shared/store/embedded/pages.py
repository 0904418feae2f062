"""Reads the intact pages of a database file without SQLite.

SQLite refuses a whole table if one of its inner pages is damaged, and the whole file if the first page is. But the file
has a map of its pages (``auto_vacuum``), so a page's tree can be found from above and from below.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from codequarry.shared.store.embedded.checksums import RESERVED_BYTES

PAGE_BYTES = 4096
USABLE_BYTES = PAGE_BYTES - RESERVED_BYTES
# The page that contains byte 0x40000000, which SQLite uses for locks.
_LOCK_PAGE = 0x40000000 // PAGE_BYTES + 1
_MAGIC = b"SQLite format 3\0"
_HEAD_BYTES = 100
_RESERVED_AT = 20
# Pages whose checksums are computed at a time.
_AT_ONCE = 4096

Words = NDArray[np.uint32]


class PageFile:
    """A database file with its log, neither of which is written to. Pages are numbered from 1."""

    def __init__(self, path: Path) -> None:
        size = path.exists() and path.stat().st_size
        self._content = np.memmap(path, np.uint8, "r") if size else np.empty(0, np.uint8)
        log = path.with_name(f"{path.name}-wal")
        places, pages = committed_pages(log, PAGE_BYTES)
        self._logged = dict(_logged(log, places))
        in_file = len(self._content) // PAGE_BYTES
        self._intact = self._checked(in_file)
        # Pages beyond the count were freed: they hold deleted content.
        self.count = max(pages or self._declared_count() or in_file, 1)
        self.damaged = [number for number in range(1, self.count + 1) if not self._is_intact(number)]

    def head(self) -> bytes:
        """Return the file's header, even if its pages have no checksums, or nothing if it is damaged."""
        if 1 in self._logged:
            return self._logged[1][:_HEAD_BYTES]
        head = self._content[:_HEAD_BYTES].tobytes()
        is_whole = head.startswith(_MAGIC) and (head[_RESERVED_AT] != RESERVED_BYTES or self._is_intact(1))
        return head if is_whole else b""

    def _declared_count(self) -> int:
        """Return the page count in the file's header, or 0 if that is damaged; the file may have been truncated."""
        first = self.read(1)
        return int.from_bytes(first[28:32]) if first else 0

    def read(self, number: int) -> bytes | None:
        """Return the content of a page, or None if it is damaged."""
        if not self._is_intact(number):
            return None
        if number in self._logged:
            return self._logged[number]
        start = (number - 1) * PAGE_BYTES
        return self._content[start : start + USABLE_BYTES].tobytes()

    def _is_intact(self, number: int) -> bool:
        if number in self._logged or number == _LOCK_PAGE:
            return True
        return 0 < number < len(self._intact) and bool(self._intact[number])

    def _checked(self, in_file: int) -> NDArray[np.bool_]:
        """Return which pages of the file are intact; a page of zeros is not, although its checksum is right."""
        intact = np.zeros(in_file + 1, np.bool_)
        words = self._content[: in_file * PAGE_BYTES].view("<u4").reshape(in_file, PAGE_BYTES // 4)
        for start in range(0, in_file, _AT_ONCE):
            part = words[start : start + _AT_ONCE]
            intact[start + 1 : start + 1 + len(part)] = _checksums_match(part) & part.any(axis=1)
        return intact


def _logged(log: Path, places: dict[int, int]) -> Iterator[tuple[int, bytes]]:
    if not places:
        return
    data = np.memmap(log, np.uint8, "r")
    for number, start in places.items():
        yield number, data[start : start + USABLE_BYTES].tobytes()


def _checksums_match(pages: Words) -> NDArray[np.bool_]:
    columns = np.ascontiguousarray(pages.T)
    first, second = np.zeros(len(pages), np.uint32), np.zeros(len(pages), np.uint32)
    for at in range(0, USABLE_BYTES // 4, 2):
        first += columns[at] + second
        second += columns[at + 1] + first
    right: NDArray[np.bool_] = (first == columns[-2]) & (second == columns[-1])
    return right


_LOG_MAGIC = 0x377F0682
_HEADER = 32
_FRAME_HEADER = 24


def committed_pages(path: Path, page_size: int) -> tuple[dict[int, int], int]:
    """Return the place of each page's newest content in the log, and the number of pages in the database.

    Only committed frames before the first damaged frame count; if there are none, the number of pages is 0.
    """
    data = path.read_bytes() if path.exists() else b""
    if len(data) < _HEADER:
        return {}, 0
    magic, _, size = struct.unpack_from(">3I", data)
    if magic & ~1 != _LOG_MAGIC or size != page_size:
        return {}, 0
    words = ">u4" if magic & 1 else "<u4"
    sums = _sums((0, 0), data[: _HEADER - 8], words)
    salts = data[16:24]
    committed: dict[int, int] = {}
    written: dict[int, int] = {}
    pages = 0
    for at in range(_HEADER, len(data) - _FRAME_HEADER - page_size + 1, _FRAME_HEADER + page_size):
        content = at + _FRAME_HEADER
        sums = _sums(sums, data[at : at + 8] + data[content : content + page_size], words)
        number, size_after, *salted = struct.unpack_from(">2I8s2I", data, at)
        if salted != [salts, *sums]:
            break
        written[number] = content
        if size_after:
            committed |= written
            written, pages = {}, size_after
    return committed, pages


def _sums(before: tuple[int, int], data: bytes, words: str) -> tuple[int, int]:
    """Continue the log's checksum, which runs from its first byte to its last."""
    first, second = before
    values = np.frombuffer(data, words).tolist()
    for even, odd in zip(values[::2], values[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second
