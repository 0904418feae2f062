"""Authors of commits, as the index holds them and as searches name them."""

import hashlib
from typing import Literal

EmailRule = Literal["keep", "hash", "drop"]
# Enough to tell apart the addresses of an index.
_DIGITS = 16
_LETTERS = str.maketrans("0123456789abcdef", "ABCDEFGHIJKLMNOP")


def hashed_address(address: str) -> str:
    """Return the hash that stands for an e-mail address, whatever its upper and lower case.

    It has upper-case letters only. Names are stored and searched in lower case, so no part of a name is found in it.
    """
    digest = hashlib.sha256(address.strip().lower().encode("utf-8", "surrogatepass")).hexdigest()
    return digest[:_DIGITS].translate(_LETTERS)


def searched_forms(name: str) -> tuple[str, ...]:
    """Return the texts of which an author holds one if ``name`` is a part of it; a whole address may be hashed."""
    text = name.strip().lower()
    local, _, host = text.strip("<>").partition("@")
    return (text, hashed_address(text.strip("<>"))) if local and host else (text,)
