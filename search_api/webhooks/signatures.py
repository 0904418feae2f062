"""HMAC signatures over a raw body, compared in constant time, and signed times."""

import hmac
from collections.abc import Sequence
from hashlib import sha256

from codequarry.shared.catalog.deliveries import MAX_ID_CHARACTERS
from codequarry.shared.errors import Unauthorized

HUB_PREFIX = "sha256="


def check_hex(given: str, signed: bytes, secrets: Sequence[str]) -> int:
    """Return the index of the secret that made a hexadecimal HMAC-SHA256; raise Unauthorized if none did."""
    expected = [digest(secret.encode(), signed).hex().encode() for secret in secrets]
    return matching_secret([given.lower().encode()], expected)


def check_time(text: str, now: float, tolerance: float) -> None:
    """Raise Unauthorized for a signed time (seconds since 1970) that is too far from ``now``."""
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_ID_CHARACTERS):
        raise Unauthorized("the timestamp of a delivery must be whole seconds since 1970")
    if abs(int(text) - now) > tolerance:
        raise Unauthorized("the delivery was signed too long ago, or a clock is wrong")


def digest(key: bytes, signed: bytes) -> bytes:
    """Return the HMAC-SHA256."""
    return hmac.new(key, signed, sha256).digest()


def matching_secret(given: Sequence[bytes], expected: Sequence[bytes]) -> int:
    """Return the index of the first of ``expected`` that equals any of ``given``; raise Unauthorized if none does."""
    # Compare all pairs, so that the time taken reveals nothing about the secrets.
    matches = [any([hmac.compare_digest(candidate, wanted) for candidate in given]) for wanted in expected]
    if True not in matches:
        raise Unauthorized("the signature of the delivery matches none of the configured secrets")
    return matches.index(True)
