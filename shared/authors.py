"""Authors of commits, as the index holds them and as searches name them."""

import hashlib
from typing import Literal

EmailRule = Literal["keep", "hash", "drop"]
# Enough to tell apart the addresses of an index.
_DIGITS = 16


def hashed_address(address: str) -> str:
    """Return the hash that stands for an e-mail address, whatever its upper and lower case."""
    return hashlib.sha256(address.strip().lower().encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def searched_forms(name: str) -> tuple[str, ...]:
    """Return the texts of which an author holds one if ``name`` is a part of it; a whole address may be hashed."""
    text = name.strip().lower()
    local, _, host = text.strip("<>").partition("@")
    return (text, hashed_address(text.strip("<>"))) if local and host else (text,)
