"""Sealed paging cursors: the next page of a query over one state of the index."""

import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from hashlib import sha256

from codequarry.search_api.ranking.score_fusion import SecondScores
from codequarry.search_api.versions.views import AsOf
from codequarry.shared.errors import Conflict, StoreError, UsageError
from codequarry.shared.store.port import DocumentStore

VERSION = 1
# More than any genuine cursor needs for three numbers, two hashes, the open transactions and a second stage's scores.
MAX_CHARACTERS = 20_000
_HASH_CHARACTERS = 16
KEY_DOCUMENT = "seal-key"
KEY_BYTES = 32
# Texts are padded to blocks, because their length would reveal, for example, how many transactions are open.
_BLOCK_BYTES = 128


@dataclass(frozen=True, slots=True)
class Seal:
    """Encrypts text for one caller, whose name is ``principal``."""

    key: bytes = field(repr=False)
    principal: str

    def close(self, text: str) -> str:
        """Return sealed text for a URL or a header."""
        # Imported here because the import takes 20 ms and most commands seal nothing.
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV

        plain = text.encode()
        plain += b" " * (-len(plain) % _BLOCK_BYTES)
        return urlsafe_b64encode(AESSIV(self.key).encrypt(plain, [self.principal.encode()])).decode().rstrip("=")

    def open(self, sealed: str) -> str:
        """Return the sealed text without trailing spaces; raise ValueError for anything else."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV

        if not sealed.isascii():
            raise ValueError("not sealed by this index")
        body = urlsafe_b64decode(sealed + "=" * (-len(sealed) % 4))
        try:
            return AESSIV(self.key).decrypt(body, [self.principal.encode()]).decode().rstrip(" ")
        except InvalidTag as error:
            raise ValueError("not sealed by this index for this principal") from error


@dataclass(frozen=True, slots=True)
class Cursor:
    """The next page of a search.

    ``as_of`` is the state of the first page, so that later pages see the same rows whatever is published since.
    The hash ``query`` detects a cursor from another search, ``timelines`` a repository rebuilt since then. ``second``
    keeps the second stage's scores, because another call may return different scores or none.
    """

    page: int
    as_of: AsOf
    query: str
    timelines: str
    second: SecondScores | None = None


def digest(*parts: object) -> str:
    """Return a short hash of values that have exactly one JSON form."""
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:_HASH_CHARACTERS]


def encode_cursor(cursor: Cursor, seal: Seal) -> str:
    """Return the sealed cursor; unsealed, its numbers would reveal activity in the whole index."""
    body = [VERSION, cursor.page, cursor.as_of.at, list(cursor.as_of.open), cursor.query, cursor.timelines]
    if cursor.second is not None:
        body.append([cursor.second.weight, dict(cursor.second.scores), cursor.second.warning])
    return seal.close(json.dumps(body, separators=(",", ":")))


def read_cursor(text: str | None, seal: Seal, query: str) -> Cursor | None:
    """Return the cursor of a request, if it has one; raise UsageError for that of a request with another ``query``."""
    cursor = decode_cursor(text, seal) if text is not None else None
    if cursor is not None and cursor.query != query:
        raise UsageError("the cursor belongs to another request; repeat the name, filters and limit of that request")
    return cursor


def decode_cursor(text: str, seal: Seal) -> Cursor:
    """Read a cursor that ``encode_cursor`` wrote for the same caller; raise UsageError for anything else."""
    try:
        if len(text) > MAX_CHARACTERS:
            raise ValueError
        version, page, at, still_open, query, timelines, *second = json.loads(seal.open(text))
        numbers = [page, at, *still_open]
        if version != VERSION or any(type(number) is not int or number < 0 for number in numbers):
            raise ValueError
        scores = SecondScores(*second[0]) if second else None
    except (ValueError, TypeError, RecursionError):
        raise UsageError("the cursor is invalid or was issued to another caller; omit it to start again") from None
    return Cursor(page, AsOf(at, tuple(still_open)), str(query), str(timelines), scores)


def seal_key(store: DocumentStore) -> bytes:
    """Return the index's key, creating it on first use; if it can't be stored, return a key for this process only."""
    made = secrets.token_bytes(KEY_BYTES)
    known = store.read_document(KEY_DOCUMENT)
    if known is None:
        try:
            known = store.write_document(KEY_DOCUMENT, {"key": made.hex()}, None)
        except Conflict:
            known = store.read_document(KEY_DOCUMENT)
        except StoreError:
            return made
    return bytes.fromhex(str(known.body["key"])) if known else made
