"""A folder of version 3, whose change log has no checksums, is upgraded when it is opened."""

import apsw
import pytest

from codequarry.shared.errors import StoreUnavailable
from codequarry.shared.model import Filters, Layer, Snapshot
from codequarry.shared.store.embedded import database, folder_format
from codequarry.shared.store.embedded.checksums import checksum_vfs
from codequarry.shared.store.embedded.damaged_database import DamagedDatabase

HEAD = Snapshot((Layer((1,), 1000),))
OF_VERSION_3 = "ALTER TABLE change DROP COLUMN checksum; PRAGMA user_version = 3"


def schema(store):
    with store._database.reading() as connection:
        return sorted(connection.execute("SELECT name, sql FROM sqlite_master")), connection.pragma("user_version")


@pytest.fixture
def current(open_store, make_row, put):
    """Make a folder of version 3 and return the current schema."""
    store = open_store()
    put(store, make_row("a.py"), make_row("b.py"))
    store.retire(1, 3, ["b.py"], [])
    expected = schema(store)
    with store._database.writing() as connection:
        connection.execute(OF_VERSION_3)
    store.close()
    return expected


def test_a_folder_of_any_size_is_upgraded(current, open_store, make_row, put, monkeypatch):
    """Only the change log is rewritten, so the limit for older versions does not apply."""
    monkeypatch.setattr(folder_format, "UPGRADED_AT_ONCE_BYTES", 0)
    store = open_store()
    assert schema(store) == current
    put(store, make_row("c.py", born=4))
    assert store.count(HEAD, Filters()) == 2
    assert store.inspect(thoroughly=True) == []


def test_the_upgrade_does_not_hide_damage_to_vectors(current, open_store, folder):
    path = folder / "vectors-1.f32"
    path.write_bytes(bytes(path.stat().st_size))
    assert [damage.kind for damage in open_store().inspect(thoroughly=True)][:1] == ["vectors"]


def test_a_folder_that_an_older_release_uses_is_not_upgraded(current, open_store, folder, monkeypatch):
    """The older release would add entries without checksums."""
    monkeypatch.setattr(database, "BUSY_SECONDS", 0)
    older = apsw.Connection(str(folder / "index.sqlite3"), vfs=checksum_vfs())
    assert older.execute("SELECT count(*) FROM change").get == 2
    with pytest.raises(StoreUnavailable, match="another process"):
        open_store()
    older.close()
    assert schema(open_store()) == current


def test_a_damaged_folder_can_be_repaired(current, folder):
    assert DamagedDatabase(folder / "index.sqlite3").damaged_pages == 0
