"""The head document behind compare-and-set: the rim around the pure functions of ``snapshots.py``."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, TypeVar

from codequarry.shared.errors import Conflict
from codequarry.shared.head import Head
from codequarry.shared.store.port import Store
from codequarry.shared.transactions import TransactionRecord

HEAD_KEY = "head"
# A lost compare-and-set means that somebody else moved on; a thousand in a row mean that something is wrong.
MAX_ATTEMPTS = 1000

Result = TypeVar("Result")


def read_head(store: Store) -> Head:
    """Read the head document in real time; an empty index has an empty head."""
    document = store.read_document(HEAD_KEY)
    return Head.from_json(document.body) if document else Head()


def change_head(store: Store, change: Callable[[Head], tuple[Head, Result]]) -> Result:
    """Apply ``change`` to the head document by compare-and-set, again on the newest one whenever that is lost.

    What ``change`` raises goes through: a Conflict of its own is final, since it comes from reading, not from writing.
    """
    for _ in range(MAX_ATTEMPTS):
        document = store.read_document(HEAD_KEY)
        head = Head.from_json(document.body) if document else Head()
        changed, result = change(head)
        try:
            store.write_document(HEAD_KEY, changed.to_json(), document.version if document else None)
        except Conflict:
            continue
        return result
    raise Conflict(f"the head document was changed by others {MAX_ATTEMPTS} times in a row")


def record_transaction(store: Store, record: TransactionRecord) -> None:
    """Store the record of a transaction; one that is there already (a resumed transaction) stays."""
    if store.read_document(record.key) is None:
        store.write_document(record.key, asdict(record), None)


def read_transaction(store: Store, timeline: int, number: int) -> TransactionRecord | None:
    """Return the record of a transaction, if it has one."""
    document = store.read_document(f"transaction:{timeline:010d}:{number:010d}")
    return _record(document.body) if document else None


def published_transactions(store: Store, head: Head, timeline: int) -> list[TransactionRecord]:
    """Return the transactions of a timeline that readers may ask for, oldest first."""
    documents = store.list_documents(f"transaction:{timeline:010d}:")
    records = [_record(document.body) for document in documents]
    state = head.timelines[timeline]
    return [one for one in records if state.floor <= one.number <= state.published and one.number not in head.hidden]


def _record(body: Mapping[str, Any]) -> TransactionRecord:
    return TransactionRecord(**{**body, "mask": tuple(body["mask"]), "commits": tuple(body.get("commits", ()))})
