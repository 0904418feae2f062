"""Computes git's blob names for bytes that git has not seen."""

import hashlib

from codequarry.ingest.git.mirrors import SHA256_HEX


def blob_of(data: bytes, like: str) -> str:
    """Return git's name for a blob, in the object format of the name ``like``."""
    digest = hashlib.sha256 if len(like) == SHA256_HEX else hashlib.sha1
    return digest(b"blob %d\0" % len(data) + data).hexdigest()
