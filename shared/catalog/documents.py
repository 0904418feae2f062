"""Writing documents of the catalog so that no migration leaves one behind: one rule for all that no transaction holds.

A migration copies the catalog while it holds the head document still (rule 17). What was written before that is copied;
so whoever has written looks at the head document afterwards, and waits where it is held. What was written into an
edition that the index has left is to be written again in the one where it is.
"""

from collections.abc import Mapping
from typing import Any

from codequarry.shared.catalog.ledger import change_head
from codequarry.shared.errors import Conflict
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.store.records import Document
from codequarry.shared.versions.head import HEAD_KEY, MOVE


def write_settled(store: DocumentStore, key: str, body: Mapping[str, Any], version: str | None) -> Document:
    """Write a document that is still at ``version`` (None: that does not exist); Conflict if not.

    IndexMoved where the index went on in another edition meanwhile, which may lack this: write it there.
    """
    written = store.write_document(key, body, version)
    settle(store)
    return written


def put_document(store: DocumentStore, key: str, body: Mapping[str, Any]) -> None:
    """Write a document whatever it was before; the last writer wins. IndexMoved as above."""
    while True:
        document = store.read_document(key)
        try:
            write_settled(store, key, body, document.version if document else None)
        except Conflict:
            continue
        return


def settle(store: DocumentStore) -> None:
    """Return once it is certain that a migration has not left behind what was just written; IndexMoved if it has."""
    head = store.read_document(HEAD_KEY)
    if head is not None and head.body.get(MOVE):
        change_head(store, lambda newest: (newest, None))
