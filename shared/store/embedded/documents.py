"""The catalog: JSON documents that change by compare-and-set."""

import json
import uuid
from collections.abc import Collection, Mapping
from typing import Any

import apsw

from codequarry.shared.errors import Conflict
from codequarry.shared.store.embedded.sql import LISTED, as_json, fetch
from codequarry.shared.store.records import Document

# Sorts after every character in a key.
_LAST = "\U0010ffff"


def read_document(connection: apsw.Connection, key: str, known: Document | None) -> Document | None:
    """Return a document, or None if it does not exist; return ``known`` itself if its version is current."""
    if known is not None and _version_of(connection, key) == known.version:
        return known
    rows = fetch(connection, "SELECT key, body, version FROM document WHERE key = ?", (key,))
    return _document(*rows[0]) if rows else None


def write_document(connection: apsw.Connection, key: str, body: Mapping[str, Any], version: str | None) -> Document:
    """Write a document if it is still at ``version``, or else raise Conflict."""
    if _version_of(connection, key) != version:
        raise Conflict(f"document '{key}' was changed by another writer; read it again")
    # Random, so that a document that was deleted and recreated has a different version.
    fresh, text = uuid.uuid4().hex, json.dumps(body)
    connection.execute("INSERT OR REPLACE INTO document VALUES (?, ?, ?)", (key, fresh, text))
    return _document(key, text, fresh)


def _version_of(connection: apsw.Connection, key: str) -> str | None:
    version: str | None = connection.execute("SELECT version FROM document WHERE key = ?", (key,)).get
    return version


def delete_document(connection: apsw.Connection, key: str, version: str | None = None) -> None:
    """Delete a document if it exists; raise Conflict if it is not at the given ``version``."""
    if version is not None and _version_of(connection, key) not in (None, version):
        raise Conflict(f"document '{key}' was changed by another writer; read it again")
    connection.execute("DELETE FROM document WHERE key = ?", (key,))


def delete_documents(connection: apsw.Connection, keys: Collection[str], prefixes: Collection[str]) -> None:
    """Delete the documents with any of ``keys``, and those whose keys begin with any of ``prefixes``."""
    connection.execute(f"DELETE FROM document WHERE key IN {LISTED}", (as_json(keys),))
    ends = ((prefix, prefix + _LAST) for prefix in prefixes)
    connection.executemany("DELETE FROM document WHERE key >= ? AND key < ?", ends)


def list_documents(connection: apsw.Connection, prefix: str) -> list[Document]:
    """Return the documents whose keys begin with ``prefix``, sorted by key."""
    query = "SELECT key, body, version FROM document WHERE key >= ? AND key < ? ORDER BY key"
    return [_document(*row) for row in fetch(connection, query, (prefix, prefix + _LAST))]


def _document(key: str, body: str, version: str) -> Document:
    return Document(key, json.loads(body), version)
