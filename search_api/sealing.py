"""Text that a caller carries for the service: nobody else can read it, change it, or use that of another caller.

A synthetic IV (Rogaway and Shrimpton, "Deterministic Authenticated-Encryption", EUROCRYPT 2006) out of the standard
library: a keyed BLAKE2b over the text and whose it is, which also starts the SHAKE256 key stream that covers the text.
"""

import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from hashlib import blake2b, shake_256
from hmac import compare_digest

from codequarry.shared.errors import Conflict, StoreError
from codequarry.shared.store.port import Store

KEY_DOCUMENT = "seal-key"
KEY_BYTES = 32
_TAG_BYTES = 16
# The length of a text says something of it too, as how many transactions are open: it is only told so roughly.
_BLOCK_BYTES = 128


@dataclass(frozen=True, slots=True)
class Seal:
    """Seals text for one caller; ``whose`` is its principal's name."""

    key: bytes = field(repr=False)
    whose: str

    def close(self, text: str) -> str:
        """Return sealed text for a URL or a header."""
        plain = text.encode()
        plain += b" " * (-len(plain) % _BLOCK_BYTES)
        tag = self._tag(plain)
        return urlsafe_b64encode(tag + self._covered(plain, tag)).decode().rstrip("=")

    def open(self, sealed: str) -> str:
        """Return what was sealed, spaces at its end aside; ValueError for anything else."""
        if not sealed.isascii():
            raise ValueError("not sealed here")
        body = urlsafe_b64decode(sealed + "=" * (-len(sealed) % 4))
        tag, covered = body[:_TAG_BYTES], body[_TAG_BYTES:]
        plain = self._covered(covered, tag)
        if not compare_digest(self._tag(plain), tag):
            raise ValueError("not sealed here, or for somebody else")
        return plain.decode().rstrip(" ")

    def _tag(self, plain: bytes) -> bytes:
        whose = self.whose.encode()
        message = len(whose).to_bytes(4, "big") + whose + plain
        return blake2b(message, key=self.key, digest_size=_TAG_BYTES, person=b"codequarry seal").digest()

    def _covered(self, text: bytes, tag: bytes) -> bytes:
        stream = shake_256(self.key + tag).digest(len(text))
        return bytes(one ^ other for one, other in zip(text, stream, strict=True))


def seal_key(store: Store) -> bytes:
    """Return the key that all processes of an index share, made at its first use.

    Where it can't be written, as by an account that only reads, this process has one of its own.
    """
    made = secrets.token_bytes(KEY_BYTES)
    known = store.read_document(KEY_DOCUMENT)
    if known is None:
        try:
            known = store.write_document(KEY_DOCUMENT, {"key": made.hex()}, None)
        except Conflict:
            known = store.read_document(KEY_DOCUMENT)
        except StoreError:
            return made
    return bytes.fromhex(known.body["key"]) if known else made
