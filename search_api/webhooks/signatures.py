"""HMAC signatures over a raw body, compared in constant time, and the times that are signed with it."""

import hmac
from collections.abc import Sequence
from hashlib import sha256

from codequarry.shared.catalog.deliveries import MAX_ID_CHARACTERS
from codequarry.shared.errors import Unauthorized

HUB_PREFIX = "sha256="


def check_hex(given: str, signed: bytes, secrets: Sequence[str]) -> int:
    """Return which secret a hexadecimal HMAC-SHA256 was made with; Unauthorized if with none of them."""
    expected = [digest(secret.encode(), signed).hex().encode() for secret in secrets]
    return matching_secret([given.lower().encode()], expected)


def check_time(text: str, now: float, tolerance: float) -> None:
    """Raise Unauthorized for a signed time (seconds since 1970) that is too far from ``now``."""
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_ID_CHARACTERS):
        raise Unauthorized("the timestamp of a delivery is in whole seconds since 1970")
    if abs(int(text) - now) > tolerance:
        raise Unauthorized("the delivery was signed too long ago, or one of the clocks is wrong")


def digest(key: bytes, signed: bytes) -> bytes:
    """Return the HMAC-SHA256."""
    return hmac.new(key, signed, sha256).digest()


def matching_secret(given: Sequence[bytes], expected: Sequence[bytes]) -> int:
    """Return the first place in ``expected`` of any that is given; Unauthorized if there is none."""
    # All are compared, so that the time does not tell which one was near.
    fits = [any([hmac.compare_digest(one, fitting) for one in given]) for fitting in expected]
    if True not in fits:
        raise Unauthorized("the signature of the delivery fits none of the secrets that are configured")
    return fits.index(True)
