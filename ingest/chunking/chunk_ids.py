"""The ids and hashes of chunks, in a module of their own so that computing them loads no grammars."""

import hashlib

from codequarry.ingest.chunking.version import CHUNKER_VERSION


def chunk_id(repo: str, path: str, blob: str, ordinal: int, part: str | None) -> str:
    """Return the id of a file's chunk; ``part`` is its ``symbol_part``."""
    return digest((repo, path, blob, str(ordinal), part or "", CHUNKER_VERSION))


def digest(identity: tuple[str, ...]) -> str:
    """Return an id made of all the parts."""
    return content_hash("\0".join(identity))[:32]


def content_hash(text: str) -> str:
    """Return the SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
