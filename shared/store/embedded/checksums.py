"""Checksums of SQLite's pages (by its checksum VFS), of the change log, and of the vector file (a sum per block).

Every page of the database ends with eight bytes that SQLite's `cksumvfs` writes, and verifies on every read of the
page. Reading rows, texts, posting lists and the catalog therefore checks them. The extension comes with `apsw`.

A page of zeros passes that check. Most values with such a page in them are impossible, but the end of an entry in the
change log may be zeros, so every entry has a CRC-32. Those of 100,000 rows take 0.005 s.

The checksum of a block of vectors is the sum of its 32-bit words as unsigned numbers. It changes with any flipped bit
or overwritten part, and appended slots simply add to it. 100,000 vectors of 256 numbers take 0.02 s (CRC-32: 0.10 s).
"""

import zlib
from collections.abc import Sequence
from functools import cache

import apsw
import apsw.sqlite_extra
import numpy as np
from numpy.typing import NDArray

from codequarry.shared.errors import StoreUnavailable
from codequarry.shared.store.embedded.sql import fetch

# Slots that share a checksum: 256 kB of the default model's vectors, summed in 0.05 ms.
BLOCK_SLOTS = 256
# Bytes at the end of each page for the checksum; with any other number the extension does nothing.
RESERVED_BYTES = 8
VFS = "cksmvfs"

FloatArray = NDArray[np.float32]


@cache
def checksum_vfs() -> str:
    """Register the VFS that verifies pages in this process, and return its name."""
    try:
        connection = apsw.Connection(":memory:")
        apsw.sqlite_extra.load(connection, "cksumvfs")
        connection.close()
    except (LookupError, apsw.Error, apsw.sqlite_extra.NotAvailable) as error:
        raise StoreUnavailable(
            f"the installed apsw has no checksum extension ({error}); install apsw from PyPI"
        ) from error
    return VFS


def entry_checksum(body: bytes) -> int:
    """Return the checksum of an entry in the change log."""
    return zlib.crc32(body)


def block_sums(vectors: FloatArray, first: int) -> list[tuple[int, int]]:
    """Return each block that ``vectors`` touch, and the sum of their words in it; ``first`` is the first slot."""
    words = np.ascontiguousarray(vectors, "<f4").view("<u4")
    found = []
    start = 0
    while start < len(words):
        block = (first + start) // BLOCK_SLOTS
        end = min(len(words), (block + 1) * BLOCK_SLOTS - first)
        found.append((block, int(words[start:end].sum(dtype=np.uint64))))
        start = end
    return found


def add_checksums(connection: apsw.Connection, first: int, vectors: FloatArray) -> None:
    """Add vectors that were appended at slot ``first`` to the checksums; part of a write transaction."""
    connection.executemany(
        "INSERT INTO vector_block VALUES (?, ?) ON CONFLICT (block) DO UPDATE SET words = words + excluded.words",
        block_sums(vectors, first),
    )


def drop_checksums(connection: apsw.Connection) -> None:
    """Delete the checksums of all vectors."""
    connection.execute("DELETE FROM vector_block")


def damaged_blocks(
    connection: apsw.Connection, matrix: FloatArray, blocks: Sequence[int], slots: int | None = None
) -> list[int]:
    """Return which ``blocks`` (ascending) are damaged, including a last block that is cut off before ``slots``."""
    if not blocks:
        return []
    query = "SELECT block, words FROM vector_block WHERE block BETWEEN ? AND ?"
    expected = dict(fetch(connection, query, (blocks[0], blocks[-1])))
    wrong = []
    for block in blocks:
        start, end = block * BLOCK_SLOTS, min((block + 1) * BLOCK_SLOTS, len(matrix))
        is_cut = slots is not None and end < min((block + 1) * BLOCK_SLOTS, slots)
        if is_cut or block_sums(matrix[start:end], start) != [(block, expected.get(block))]:
            wrong.append(block)
    return wrong
