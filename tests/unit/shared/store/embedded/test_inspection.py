"""Inspections find damaged pages even if only the end of a value is on them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import numpy as np
import pytest

from codequarry.shared.errors import StoreDamaged
from codequarry.shared.model import ChunkRow, Layer, Snapshot
from codequarry.shared.store.embedded.columns import RECORD, ColumnCache, log_added, log_deleted, log_died
from codequarry.shared.store.embedded.pages import PAGE_BYTES
from codequarry.shared.store.embedded.store import EmbeddedStore
from codequarry.shared.store.records import RecallQuery
from codequarry.shared.versions.snapshots import OPEN

HEAD = Snapshot((Layer((1,), 1000),))

Opener = Callable[[], EmbeddedStore]
Damager = Callable[[bytes], bytes]


def fill_log(store: EmbeddedStore) -> None:
    """Log entries of many lengths, whose last pages hold many rows, or only the end of a row."""
    with store._database.writing() as connection:
        for count in (2100, *range(70, 150)):
            records = np.zeros(count, RECORD)
            records["row"] = np.arange(1, count + 1)
            records["timeline"], records["died"], records["lengths"] = 1, OPEN, 7
            log_added(connection, records)
        for count in range(1100, 2100, 77):
            log_died(connection, range(1, count), 5)
            log_deleted(connection, range(1, count))


def zeros(page: bytes) -> bytes:
    """Return a page of zeros, whose checksum is right."""
    return bytes(len(page))


def flipped(page: bytes) -> bytes:
    """Return the page with one flipped bit."""
    return page[:5] + bytes([page[5] ^ 1]) + page[6:]


def damaged_pages(folder: Path, table: str, damage: Damager) -> Iterator[str]:
    """Damage each page of a table in turn, restore the page before, and yield the kind of page."""
    path = folder / "index.sqlite3"
    connection = apsw.Connection(str(path))
    pages = connection.execute("SELECT pageno, pagetype FROM dbstat WHERE name = ?", (table,)).fetchall()
    connection.close()
    whole = path.read_bytes()
    for number, kind in pages:
        start, end = (number - 1) * PAGE_BYTES, number * PAGE_BYTES
        path.write_bytes(whole[:start] + damage(whole[start:end]) + whole[end:])
        yield kind


@pytest.mark.parametrize("damage", [zeros, flipped])
def test_every_page_of_the_change_log_is_checked_when_it_is_read(
    open_store: Opener, folder: Path, damage: Damager
) -> None:
    store = open_store()
    fill_log(store)
    assert store.inspect(thoroughly=True) == store.inspect(thoroughly=False) == []
    store.close()
    kinds = []
    for kind in damaged_pages(folder, "change", damage):
        kinds.append(kind)
        damaged = open_store()
        assert damaged.inspect(thoroughly=True) and damaged.inspect(thoroughly=False), (len(kinds), kind)
        with pytest.raises(StoreDamaged), damaged._database.reading() as connection:
            ColumnCache().refreshed(connection)
        damaged.close()
    assert kinds.count("overflow") > 80 and {"internal", "leaf"} < set(kinds)


def test_weights_that_were_overwritten_are_damage(
    open_store: Opener, folder: Path, make_row: Callable[..., ChunkRow], put: Callable[..., None]
) -> None:
    """A row has each of its words at least once, so that no weight is 0. The last page of a list has only weights."""
    store = open_store()
    put(store, *(make_row(f"{number}.py") for number in range(1115)))
    query = RecallQuery(HEAD, terms=("word",), term_limit=10)
    whole = store.recall(query)
    store.close()
    errors = []
    for kind in damaged_pages(folder, "posting", zeros):
        damaged = open_store()
        assert damaged.inspect(thoroughly=True), kind
        try:
            assert damaged.recall(query) == whole, kind
        except StoreDamaged:
            errors.append(kind)
        damaged.close()
    assert errors.count("overflow") > 1
