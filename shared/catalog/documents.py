"""Writes catalog documents outside transactions, so that no migration loses the writes.

A migration copies the catalog while it holds the head document (rule 17). Earlier writes are copied. So a writer reads
the head document after its write, and waits while it is held; a write to an old edition is repeated in the new edition.
"""

from collections.abc import Mapping
from typing import Any

from codequarry.shared.catalog.ledger import change_head
from codequarry.shared.errors import Conflict
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.store.records import Document
from codequarry.shared.versions.head import HEAD_KEY, MOVE


def write_settled(store: DocumentStore, key: str, body: Mapping[str, Any], version: str | None) -> Document:
    """Write a document if it is still at ``version`` (None: it does not exist); otherwise raise Conflict.

    Raise IndexMoved if a new edition has replaced this edition; the new edition may lack the write, so repeat it there.
    """
    written = store.write_document(key, body, version)
    settle(store)
    return written


def put_document(store: DocumentStore, key: str, body: Mapping[str, Any]) -> None:
    """Write a document whatever its version (the last writer wins); raise IndexMoved like ``write_settled``."""
    while True:
        document = store.read_document(key)
        try:
            write_settled(store, key, body, document.version if document else None)
        except Conflict:
            continue
        return


def settle(store: DocumentStore) -> None:
    """Return once no migration can lose the writes made so far; raise IndexMoved if they may be lost."""
    head = store.read_document(HEAD_KEY)
    if head is not None and head.body.get(MOVE):
        change_head(store, lambda newest: (newest, None))
