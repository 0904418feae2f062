import threading

import pytest

from codequarry.shared.catalog.ledger import (
    change_head,
    published_transactions,
    read_head,
    read_transaction,
    record_transaction,
)
from codequarry.shared.errors import Conflict
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.transactions import TransactionRecord, abort, begin, new_timeline, publish


@pytest.fixture
def store(make_workshop):
    return make_workshop().store


def record(timeline: int, number: int, commit: str = "c") -> TransactionRecord:
    return TransactionRecord(timeline, number, "r", "main", commit, "rules", 1, "2024-01-01T00:00:00+00:00")


def test_an_empty_index_has_an_empty_head(store):
    assert read_head(store) == Head()


def test_concurrent_changes_are_all_applied(store):
    def count() -> None:
        for _ in range(20):
            change_head(store, lambda head: new_timeline(head, "r"))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    head = read_head(store)
    assert head.counter == 160, "each timeline takes a number for itself and one for its log"
    assert len(head.timelines) == 80


def test_a_conflict_raised_by_the_change_is_not_retried(store):
    timeline = change_head(store, lambda head: new_timeline(head, "r"))
    with pytest.raises(Conflict, match="no longer held"):
        change_head(store, lambda head: (publish(head, timeline, "me", 9, "c"), None))


def test_the_record_of_a_transaction_never_changes(store):
    record_transaction(store, record(1, 2, "first"))
    record_transaction(store, record(1, 2, "second"))
    assert read_transaction(store, 1, 2) == record(1, 2, "first")
    assert read_transaction(store, 1, 3) is None


def test_published_transactions_of_a_timeline_are_listed_oldest_first(store):
    def history(head: Head) -> tuple[Head, int]:
        head, timeline = new_timeline(head, "r")
        for step in (publish, abort, publish):
            head, number = begin(head, timeline, "me")
            head = step(head, timeline, "me", number, *(("c",) if step is publish else ()))
        head, _ = begin(head, timeline, "me")
        return head, timeline

    timeline = change_head(store, history)
    for number in range(3, 10):
        record_transaction(store, record(timeline, number))
    record_transaction(store, record(timeline + 1, 2))
    listed = published_transactions(store, read_head(store), timeline)
    assert [transaction.number for transaction in listed] == [3, 5]


def test_records_sort_by_age(store):
    assert record(1, 9).key < record(1, 10).key < record(2, 1).key
