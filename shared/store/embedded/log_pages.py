"""The pages in SQLite's write-ahead log that take the place of those in the database file.

A database whose first page is damaged can't be opened by SQLite, and then nobody else reads its log. The format is
described at https://www.sqlite.org/fileformat2.html#walformat.
"""

import struct
from pathlib import Path

import numpy as np

_MAGIC = 0x377F0682
_HEADER = 32
_FRAME_HEADER = 24


def committed_pages(path: Path, page_size: int) -> tuple[dict[int, int], int]:
    """Return where in the log the newest content of each page lies, and the number of pages of the database then.

    Only what was committed counts, up to the first frame that is not what was written; 0 pages if there is no such.
    """
    data = path.read_bytes() if path.exists() else b""
    if len(data) < _HEADER:
        return {}, 0
    magic, _, size = struct.unpack_from(">3I", data)
    if magic & ~1 != _MAGIC or size != page_size:
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
    """Continue the checksum of the log, which runs from its first byte to its last."""
    first, second = before
    values = np.frombuffer(data, words).tolist()
    for even, odd in zip(values[::2], values[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second
