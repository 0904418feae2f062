"""Pages and trees of a database, read without SQLite, against what SQLite reads."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from codequarry.shared.errors import StoreDamaged
from codequarry.shared.store.embedded.checksums import RESERVED_BYTES, checksum_vfs
from codequarry.shared.store.embedded.damaged_database import DamagedDatabase
from codequarry.shared.store.embedded.pages import PAGE_BYTES, PageFile
from codequarry.shared.store.embedded.schema import DATABASE, create_tables
from codequarry.shared.store.embedded.trees import Trees


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / DATABASE


@pytest.fixture
def connection(path: Path) -> Iterator[apsw.Connection]:
    connection = apsw.Connection(str(path), vfs=checksum_vfs())
    yield connection
    connection.close()


def set_up(connection: apsw.Connection) -> None:
    connection.reserve_bytes("main", RESERVED_BYTES)
    connection.pragma("auto_vacuum", "incremental")
    connection.pragma("journal_mode", "wal")
    connection.pragma("wal_autocheckpoint", 0)


def some_value(chance: random.Random) -> object:
    size = chance.choice([0, 1, 12, 300, 4040, 4090, 20_000])
    return chance.choice(
        [
            None,
            0,
            1,
            chance.randint(-(2**63), 2**63 - 1),
            chance.randint(-200, 200),
            chance.random(),
            "é" * (size // 2),
            chance.randbytes(size),
        ]
    )


def fill(connection: apsw.Connection, rows: int) -> None:
    """Make a table with rows of every kind and size, one without row numbers, and indices; then delete a part."""
    chance = random.Random(rows)
    connection.execute("CREATE TABLE one (number INTEGER PRIMARY KEY, a, b, c); CREATE INDEX of_one ON one (b, a)")
    connection.execute("CREATE TABLE two (name TEXT PRIMARY KEY, value) WITHOUT ROWID")
    with connection:
        for number in range(rows):
            key = chance.choice([number + 1, number * 2**33 + 5])
            values = [some_value(chance) for _ in range(3)]
            connection.execute("INSERT OR IGNORE INTO one VALUES (?, ?, ?, ?)", (key, *values))
            connection.execute("INSERT INTO two VALUES (?, ?)", (f"{number:04} {'x' * (number % 700)}", values[0]))
        connection.execute("DELETE FROM one WHERE number % 3 = 0")
        connection.execute("DELETE FROM two WHERE name LIKE '%7 %'")


def compare(path: Path, connection: apsw.Connection) -> None:
    trees = Trees(PageFile(path))
    roots = {name: root for root, name in trees.names.items()}
    assert roots == dict(connection.execute("SELECT name, rootpage FROM sqlite_schema WHERE rootpage"))
    for name, query in (
        ("one", "SELECT number, NULL, a, b, c FROM one"),
        ("of_one", "SELECT 0, b, a, number FROM one"),
        ("two", "SELECT 0, name, value FROM two"),
    ):
        found = [(entry.row, *entry.values) for entry in trees.entries(roots[name])]
        assert sorted(map(repr, found)) == sorted(map(repr, connection.execute(query))), name


def test_every_record_is_what_sqlite_reads_and_nothing_deleted_comes_back(
    path: Path, connection: apsw.Connection
) -> None:
    set_up(connection)
    fill(connection, 1500)
    assert PageFile(path).count > 818, "a second page of the map"
    compare(path, connection)  # all of it is in the log
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    compare(path, connection)
    connection.execute("UPDATE one SET a = 'later' WHERE number % 5 = 0")
    compare(path, connection)  # some of it is
    before = PageFile(path).count
    connection.execute("DELETE FROM one WHERE number % 2 = 0")
    connection.execute("PRAGMA incremental_vacuum").fetchall()
    assert PageFile(path).count < before < path.stat().st_size // PAGE_BYTES + 1, "the file is longer than the database"
    compare(path, connection)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    compare(path, connection)


def test_a_log_counts_up_to_its_last_whole_commit(path: Path, connection: apsw.Connection) -> None:
    set_up(connection)
    fill(connection, 30)
    whole = dict(connection.execute("SELECT number, b FROM one"))
    connection.execute("UPDATE one SET b = 'later'")
    copy = path.with_name("copy")
    shutil.copyfile(path, copy)
    log = path.with_name(f"{path.name}-wal").read_bytes()
    copy.with_name("copy-wal").write_bytes(log[:-1])
    trees = Trees(PageFile(copy))
    root = next(root for root, name in trees.names.items() if name == "one")
    assert {entry.row: entry.values[2] for entry in trees.entries(root)} == whole


def overwrite(path: Path, *pages: int) -> None:
    data = bytearray(path.read_bytes())
    for page in pages:
        data[(page - 1) * PAGE_BYTES : page * PAGE_BYTES] = bytes(PAGE_BYTES)
    path.write_bytes(data)


@pytest.fixture
def filled(path: Path, connection: apsw.Connection) -> dict[str, int]:
    """Fill a database of our own tables; return the root of each tree."""
    create_tables(connection, 8)
    with connection:
        for number in range(1, 4001):
            body = random.Random(number).randbytes(number % 900)
            connection.execute("INSERT INTO payload VALUES (?, ?)", (number, body))
            connection.execute("INSERT INTO path VALUES (?, ?)", (number, f"folder/{number}.py"))
        connection.execute("INSERT INTO document VALUES ('head', '1', '{}')")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return dict(connection.execute("SELECT name, rootpage FROM sqlite_schema WHERE rootpage"))


def test_an_inner_page_takes_none_of_those_below_it_along(path: Path, filled: dict[str, int]) -> None:
    overwrite(path, filled["payload"], filled["path"])
    wreck = DamagedDatabase(path)
    assert [row for row, _ in wreck.records("path")] and wreck.damaged_pages == 2
    assert sorted(row for row, _ in wreck.records("payload")) == list(range(1, 4001))
    assert wreck.may_lack_rows, "that such a page is an inner one, nobody can tell any more"
    assert not wreck.may_lack_documents


@pytest.mark.parametrize("lost", [(1,), (2,), (1, 3), (2, 4)])
def test_first_pages_are_not_needed(path: Path, filled: dict[str, int], lost: tuple[int, ...]) -> None:
    overwrite(path, *lost)
    wreck = DamagedDatabase(path)
    assert sorted(row for row, _ in wreck.records("payload")) == list(range(1, 4001))
    assert sorted(str(values[1]) for _, values in wreck.records("path")) == sorted(
        f"folder/{number}.py" for number in range(1, 4001)
    )
    documents = [values[0] for _, values in wreck.records("document")]
    assert documents == ([] if 4 in lost else ["head"])
    assert [values[0] for _, values in wreck.records("sqlite_autoindex_document_1")] == ["head"]


def test_what_was_cut_off_counts_as_damaged(path: Path, filled: dict[str, int]) -> None:
    pages = path.stat().st_size // PAGE_BYTES
    with path.open("r+b") as file:
        file.truncate(30 * PAGE_BYTES + 17)
    wreck = DamagedDatabase(path)
    assert (wreck.pages, wreck.damaged_pages) == (pages, pages - 30)
    assert wreck.may_lack_rows
    path.unlink()
    wreck = DamagedDatabase(path)
    assert wreck.may_lack_rows and wreck.may_lack_documents and list(wreck.records("document")) == []


def test_a_database_whose_log_is_lost_is_empty(path: Path, connection: apsw.Connection) -> None:
    create_tables(connection, 8)
    copy = path.with_name("copy")
    shutil.copyfile(path, copy)
    wreck = DamagedDatabase(copy)
    assert wreck.may_lack_rows and wreck.may_lack_documents


def test_a_damaged_file_of_an_older_format_is_left_to_its_release(path: Path, connection: apsw.Connection) -> None:
    create_tables(connection, 8)
    connection.pragma("user_version", 2)
    with pytest.raises(StoreDamaged, match="format 2"):
        DamagedDatabase(path)
