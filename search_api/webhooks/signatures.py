"""Is a delivery from who holds a secret, and which one? Over the raw body, in constant time, before it is read."""

import base64
import binascii
import hmac
from collections.abc import Sequence
from hashlib import sha256

from werkzeug.datastructures import Headers

from codequarry.shared.errors import Unauthorized
from codequarry.shared.triggers.deliveries import MAX_ID_CHARACTERS, Provider

# How the secrets of the Standard Webhooks specification begin; the rest is base64.
STANDARD_PREFIX = "whsec_"
STANDARD_VERSION = "v1,"
HUB_PREFIX = "sha256="


def check_github(headers: Headers, body: bytes, secrets: Sequence[str]) -> int:
    """Check ``X-Hub-Signature-256`` and return which secret it fits; Unauthorized where it fits none."""
    given = headers.get("X-Hub-Signature-256", "")
    if not given.startswith(HUB_PREFIX):
        raise Unauthorized("the header X-Hub-Signature-256 is missing: give the hook a secret")
    return _check_hex(given.removeprefix(HUB_PREFIX), body, secrets)


def check_gitea(headers: Headers, body: bytes, secrets: Sequence[str]) -> int:
    """Check ``X-Gitea-Signature`` or, of Forgejo, ``X-Forgejo-Signature``."""
    given = headers.get("X-Gitea-Signature") or headers.get("X-Forgejo-Signature") or ""
    if not given:
        raise Unauthorized("the header X-Gitea-Signature is missing: give the hook a secret")
    return _check_hex(given, body, secrets)


def check_gitlab(headers: Headers, body: bytes, secrets: Sequence[str], now: float, tolerance: float) -> int:
    """Check ``webhook-signature`` where it is there (Standard Webhooks), else the plain ``X-Gitlab-Token``."""
    if "webhook-signature" in headers:
        return _check_standard(headers, body, secrets, now, tolerance)
    given = headers.get("X-Gitlab-Token", "")
    if not given:
        raise Unauthorized("there is neither webhook-signature nor X-Gitlab-Token: give the hook a secret")
    return _require([given.encode()], [secret.encode() for secret in secrets])


def check_generic(headers: Headers, body: bytes, secrets: Sequence[str], now: float, tolerance: float) -> int:
    """Check ``X-Codequarry-Signature``: the hexadecimal HMAC-SHA256 of ``ID.TIMESTAMP.BODY``."""
    given = headers.get("X-Codequarry-Signature", "").removeprefix(HUB_PREFIX)
    delivery, timestamp = headers.get("X-Codequarry-Delivery", ""), headers.get("X-Codequarry-Timestamp", "")
    if not (given and delivery and timestamp):
        raise Unauthorized(
            "the headers X-Codequarry-Signature, X-Codequarry-Delivery and X-Codequarry-Timestamp are needed"
        )
    fitting = _check_hex(given, b".".join((delivery.encode(), timestamp.encode(), body)), secrets)
    _check_time(timestamp, now, tolerance)
    return fitting


def _check_standard(headers: Headers, body: bytes, secrets: Sequence[str], now: float, tolerance: float) -> int:
    delivery, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not (delivery and timestamp):
        raise Unauthorized("webhook-signature comes with webhook-id and webhook-timestamp, and these are missing")
    signed = b".".join((delivery.encode(), timestamp.encode(), body))
    expected = [base64.b64encode(_digest(_standard_key(secret), signed)) for secret in secrets]
    versions = headers["webhook-signature"].split()
    given = [one.removeprefix(STANDARD_VERSION).encode() for one in versions if one.startswith(STANDARD_VERSION)]
    fitting = _require(given, expected)
    _check_time(timestamp, now, tolerance)
    return fitting


def _standard_key(secret: str) -> bytes:
    if secret.startswith(STANDARD_PREFIX):
        try:
            return base64.b64decode(secret.removeprefix(STANDARD_PREFIX), validate=True)
        except binascii.Error:
            pass
    return secret.encode()


def _check_hex(given: str, signed: bytes, secrets: Sequence[str]) -> int:
    expected = [_digest(secret.encode(), signed).hex().encode() for secret in secrets]
    return _require([given.lower().encode()], expected)


def _check_time(text: str, now: float, tolerance: float) -> None:
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_ID_CHARACTERS):
        raise Unauthorized("the timestamp of a delivery is in whole seconds since 1970")
    if abs(int(text) - now) > tolerance:
        raise Unauthorized("the delivery was signed too long ago, or one of the clocks is wrong")


def _digest(key: bytes, signed: bytes) -> bytes:
    return hmac.new(key, signed, sha256).digest()


def _require(given: Sequence[bytes], expected: Sequence[bytes]) -> int:
    """Return the first place in ``expected`` of any that is given."""
    # All are compared, so that the time does not tell which one was near.
    fits = [any([hmac.compare_digest(one, fitting) for one in given]) for fitting in expected]
    if True not in fits:
        raise Unauthorized("the signature of the delivery fits none of the secrets that are configured")
    return fits.index(True)


def is_id_signed(provider: Provider, headers: Headers) -> bool:
    """Tell whether a good signature also covers the id of the delivery and its time; of all others the body alone."""
    return provider == "generic" or (provider == "gitlab" and "webhook-signature" in headers)
