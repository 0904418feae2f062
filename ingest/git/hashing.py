"""Computes git's blob names for bytes that git has not seen."""

import hashlib
import os
from typing import BinaryIO

from codequarry.ingest.git.mirrors import SHA256_HEX

# Files are hashed in parts of this size, because a working tree may hold files larger than memory.
PART_BYTES = 1_000_000


def blob_of(data: bytes, like: str) -> str:
    """Return git's name for a blob, in the object format of the name ``like``."""
    digest = _begun(len(data), like)
    digest.update(data)
    return digest.hexdigest()


def blob_of_file(file: BinaryIO, like: str) -> tuple[str, int]:
    """Return git's blob name for an open file, and its size; ignore appended bytes, and start again if it shrinks."""
    while True:
        size = left = os.fstat(file.fileno()).st_size
        digest = _begun(size, like)
        file.seek(0)
        while left and (part := file.read(min(left, PART_BYTES))):
            digest.update(part)
            left -= len(part)
        if not left:
            return digest.hexdigest(), size


def _begun(size: int, like: str) -> "hashlib._Hash":
    digest = hashlib.sha256 if len(like) == SHA256_HEX else hashlib.sha1
    return digest(b"blob %d\0" % size)
