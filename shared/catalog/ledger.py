"""Reads the head document and writes it by compare-and-set, around the pure functions of ``transactions.py``."""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any, TypeVar

from codequarry.shared.errors import Conflict, StoreError
from codequarry.shared.store.port import DocumentStore, Store
from codequarry.shared.store.records import Document
from codequarry.shared.versions.head import HEAD_KEY, Head, Move
from codequarry.shared.versions.transactions import TransactionRecord, check_here, transactions_prefix

# A lost compare-and-set means that another process succeeded; a thousand in a row mean that something is wrong.
MAX_ATTEMPTS = 1000
# At its end, a migration holds the head document for about a second and sends heartbeats. A migration without a
# heartbeat for this long has died (rule 8), and the waiting writers continue.
MOVE_SECONDS = 10.0
_LOOK_SECONDS = 0.05

Result = TypeVar("Result")

# The last head and the body it was parsed from, since parsing a head with 2,000 timelines takes 5 ms.
_newest: list[tuple[Mapping[str, Any], Head]] = []


def read_head(store: DocumentStore) -> Head:
    """Read the head document in real time; an empty index has an empty head."""
    document = store.read_document(HEAD_KEY)
    return _head_of(document) if document else Head()


def _head_of(document: Document) -> Head:
    """Return the head in a document, cached by its body: a store returns the same object until it changes."""
    for body, head in _newest:
        if body is document.body:
            return head
    head = Head.from_json(document.body)
    _newest[:] = [(document.body, head)]
    return head


def check_counter(store: Store) -> None:
    """Raise StoreError if a row is newer than the head document (rule 18); call it on opening, not for each search."""
    # The order matters: a run that takes a number between the two reads raises the counter before it writes.
    newest = store.newest_number()
    counter = read_head(store).counter
    if newest > counter:
        raise StoreError(
            f"the index holds rows of transaction {newest}, but its head document's counter is {counter}, so they come "
            "from two backups; restore rows and catalog from the same backup, or index again into an empty store"
        )


def change_head(store: DocumentStore, change: Callable[[Head], tuple[Head, Result]], mover: str = "") -> Result:
    """Apply ``change`` to the head document by compare-and-set; after each conflict, retry on the newest document.

    Errors from ``change`` are raised; its own Conflict is final, since it comes from reading, not from writing. Wait
    while a migration other than ``mover`` holds the document; raise IndexMoved if another edition has replaced it.
    """
    for _ in range(MAX_ATTEMPTS):
        document, head = _await_stillness(store, mover)
        changed, result = change(head)
        try:
            store.write_document(HEAD_KEY, changed.to_json(), document.version if document else None)
        except Conflict:
            continue
        return result
    raise Conflict(f"other processes changed the head document {MAX_ATTEMPTS} times in a row; retry later")


def _await_stillness(store: DocumentStore, mover: str) -> tuple[Document | None, Head]:
    """Return the head document as soon as it may be changed, with the move of a silent migration removed."""
    seen: Move | None = None
    since = 0.0
    while True:
        document = store.read_document(HEAD_KEY)
        head = Head.from_json(document.body) if document else Head()
        check_here(head)
        if head.move is None or head.move.holder == mover:
            return document, head
        if head.move != seen:
            seen, since = head.move, time.monotonic()
        elif time.monotonic() - since >= MOVE_SECONDS:
            return document, replace(head, move=None)
        time.sleep(_LOOK_SECONDS)


# Appended to the rules of a transaction that must be written again; the rules of an import never end with it.
INCOMPLETE = "!"


def record_transaction(store: DocumentStore, record: TransactionRecord) -> None:
    """Store the record of a transaction; a resumed transaction keeps its existing record."""
    if store.read_document(record.key) is None:
        store.write_document(record.key, asdict(record), None)


def amend_transaction(store: DocumentStore, record: TransactionRecord, **fields: str) -> None:
    """Change fields of a stored record, if there still is one."""
    document = store.read_document(record.key)
    if document is not None and (body := {**document.body, **fields}) != document.body:
        store.write_document(record.key, body, document.version)


def read_transaction(store: DocumentStore, timeline: int, number: int) -> TransactionRecord | None:
    """Return the record of a transaction, or None if it has no record yet."""
    document = store.read_document(f"{transactions_prefix(timeline)}{number:010d}")
    return _record(document.body) if document else None


def published_transactions(store: DocumentStore, head: Head, timeline: int) -> list[TransactionRecord]:
    """Return the transactions of a timeline that readers may ask for, oldest first."""
    state, hidden = head.timelines[timeline], head.hidden
    records = [_record(document.body) for document in store.list_documents(transactions_prefix(timeline))]
    return [item for item in records if state.floor <= item.number <= state.published and item.number not in hidden]


def _record(body: Mapping[str, Any]) -> TransactionRecord:
    lists = {name: tuple(body[name]) for name in ("mask", "commits", "lost", "log_mask") if body.get(name) is not None}
    return TransactionRecord(**{**body, **lists})
