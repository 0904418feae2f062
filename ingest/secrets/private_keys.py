"""Finds private keys: PEM, OpenSSH, PGP and PuTTY, whole or truncated, in lines or one string, and bare base64."""

import base64
import binascii
from collections.abc import Iterator
from itertools import pairwise

from codequarry.ingest.secrets.engine import compiled
from codequarry.ingest.secrets.values import is_padding

# A 16,384-bit key takes 13 kB; a certificate's comments may add to that.
MOST_BYTES = 40_000
# Shorter runs of base64 between the markers are words in a program that builds or searches for keys.
SHORTEST_RUN = 20

_BEGIN = rb"-----BEGIN[ A-Z0-9_-]{0,60}PRIVATE KEY(?: BLOCK)?-----"
_END = rb"-----END[ A-Z0-9_-]{0,60}PRIVATE KEY(?: BLOCK)?-----"
# The body of a key without an end marker: long runs of base64 and whatever a notation puts between them.
_CUT_OFF = rb"""(?:[\s"'`+,;>#*.|\\/-]|\\[nrt]|(?:Proc-Type|DEK-Info|Version|Comment):[^\r\n]*|[A-Za-z0-9+/=]{16,})+"""
_RUN = rb"(?:\\[nrt])|([A-Za-z0-9+/=_-]+)"
_PUTTY = rb"Private-Lines: *\d+(?:\r?\n|\\r\\n|\\n)((?:[A-Za-z0-9+/=\s]|\\[nr])+)"
# The base64 of the DER of an RSA key (PKCS #1) and of any key (PKCS #8), of an OpenSSH key and of a PEM file.
_BARE = (
    rb"\b(MI[A-Z][A-Za-z0-9+/]{1,4}IBAAK[A-Za-z0-9+/=\s\\]{60,}"
    rb"|MI[A-Z][A-Za-z0-9+/]{1,4}IBADANBgkqhkiG9w0BAQEFAASC[A-Za-z0-9+/=\s\\]{40,}"
    rb"|b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/=\s\\]{40,}|LS0tLS1CRUdJTi[A-Za-z0-9+/=]{60,})"
)
_JWK = rb"""["']d["']\s*:\s*["']([A-Za-z0-9_-]{40,})["']"""
_XML = rb"<(?:D|P|Q|DP|DQ|InverseQ)>([A-Za-z0-9+/=\s]{20,})</"
_KEYWORDS = (b"PRIVATE KEY", b"Private-Lines:", b"MI", b"b3BlbnNzaC1rZXktdjE", b"LS0tLS1CRUdJTi", b'"kty"', b"<D>")


def find_private_keys(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the byte spans of private keys, without the markers, line ends, quotes and signs between them."""
    if not any(keyword in data for keyword in _KEYWORDS):
        return
    for start, end in _bodies(data):
        for run in compiled(_RUN).finditer(data[start:end]):
            if run.group(1):
                yield start + run.start(1), start + run.end(1)
    yield from _bare(data)


def _bodies(data: bytes) -> Iterator[tuple[int, int]]:
    begins = [match.end() for match in compiled(_BEGIN).finditer(data)]
    for start, following in pairwise([*begins, len(data)]):
        ending = compiled(_END).search(data[start : min(following, start + MOST_BYTES)])
        cut_off = None if ending else compiled(_CUT_OFF).match(data[start : start + MOST_BYTES])
        end = start + (ending.start() if ending else cut_off.end() if cut_off else 0)
        if _has_key(data[start:end]):
            yield start, end
    for match in compiled(_PUTTY).finditer(data):
        yield match.span(1)


def _has_key(body: bytes) -> bool:
    runs = (match.group(1) or b"" for match in compiled(_RUN).finditer(body))
    return any(len(run) >= SHORTEST_RUN and not is_padding(run.decode()) for run in runs)


def _bare(data: bytes) -> Iterator[tuple[int, int]]:
    for match in compiled(_BARE).finditer(data):
        encoded = match.group(1) or b""
        if not encoded.startswith(b"LS0t") or _names_private_key(encoded):
            yield match.span(1)
    if b'"kty"' in data:
        yield from (match.span(1) for match in compiled(_JWK).finditer(data))
    if b"<D>" in data:
        yield from (match.span(1) for match in compiled(_XML).finditer(data))


def _names_private_key(encoded: bytes) -> bool:
    try:
        return b"PRIVATE KEY" in base64.b64decode(encoded[:60])
    except binascii.Error:
        return False
