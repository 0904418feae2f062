"""The tables of the embedded store, and its own few numbers."""

from contextlib import closing

import apsw

from codequarry.shared.errors import StoreDamaged
from codequarry.shared.store.embedded.checksums import RESERVED_BYTES
from codequarry.shared.versions.snapshots import OPEN

# Raised whenever the tables or indices below or the bytes in them change, with a step in `upgrade.py`.
SCHEMA_VERSION = 3
DATABASE = "index.sqlite3"
REPAIR_DATABASE = (
    "codequarry fsck --repair makes it whole again from what is left and from git; or restore a backup (codequarry "
    "restore)"
)

# `row` numbers and `path` ids are never given twice (AUTOINCREMENT): the arrays and caches of other processes go by
# them. `died < OPEN` in the last index keeps the living out of it. Keys of postings are bytes: any text fits.
_TABLES = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE document (key TEXT PRIMARY KEY, version TEXT NOT NULL, body TEXT NOT NULL);
CREATE TABLE path (id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE);
CREATE TABLE chunk (
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    stride INTEGER NOT NULL,
    timeline INTEGER NOT NULL,
    born INTEGER NOT NULL,
    died INTEGER NOT NULL,
    path INTEGER NOT NULL,
    slot INTEGER NOT NULL,
    UNIQUE (id, timeline, born, stride)
);
CREATE INDEX chunk_path ON chunk (path, timeline, born);
CREATE INDEX chunk_slot ON chunk (slot);
CREATE INDEX chunk_born ON chunk (timeline, born);
CREATE INDEX chunk_died ON chunk (timeline, died) WHERE died < {OPEN};
CREATE TABLE payload (row INTEGER PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE file (
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    timeline INTEGER NOT NULL,
    born INTEGER NOT NULL,
    died INTEGER NOT NULL,
    path INTEGER NOT NULL,
    repo TEXT NOT NULL,
    blob TEXT NOT NULL,
    verdict TEXT NOT NULL,
    rows INTEGER NOT NULL,
    rules TEXT NOT NULL,
    language TEXT,
    size INTEGER NOT NULL,
    lines INTEGER NOT NULL,
    detail TEXT NOT NULL,
    UNIQUE (timeline, path, born)
);
CREATE INDEX file_path ON file (path);
CREATE INDEX file_born ON file (timeline, born);
CREATE INDEX file_died ON file (timeline, died) WHERE died < {OPEN};
CREATE TABLE vector (key TEXT PRIMARY KEY, slot INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX vector_slot ON vector (slot);
CREATE TABLE vector_block (block INTEGER PRIMARY KEY, words INTEGER NOT NULL);
CREATE TABLE segment (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    rows INTEGER NOT NULL
);
CREATE TABLE posting (
    segment INTEGER NOT NULL,
    key BLOB NOT NULL,
    rows BLOB NOT NULL,
    weights BLOB,
    PRIMARY KEY (segment, key)
) WITHOUT ROWID;
CREATE TABLE change (seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, number INTEGER, body BLOB NOT NULL);
"""


def roots_of_new() -> dict[int, str]:
    """Return on which page each table and index begins in a database that was made with these tables."""
    with closing(apsw.Connection(":memory:")) as connection:
        connection.pragma("auto_vacuum", "incremental")
        connection.execute(_TABLES)
        return dict(connection.execute("SELECT rootpage, name FROM sqlite_schema WHERE rootpage"))


def create_tables(connection: apsw.Connection, dimension: int) -> None:
    """Create the tables in an empty database unless another process was faster."""
    # These count only before the first table and outside of a transaction.
    connection.reserve_bytes("main", RESERVED_BYTES)
    connection.pragma("auto_vacuum", "incremental")
    connection.pragma("journal_mode", "wal")
    connection.execute("BEGIN IMMEDIATE")
    if not connection.pragma("user_version"):
        connection.execute(_TABLES)
        for name, value in (("dimension", dimension), ("generation", 1), ("slots", 0)):
            write_meta(connection, name, value)
        connection.pragma("user_version", SCHEMA_VERSION)
    connection.execute("COMMIT")


def read_meta(connection: apsw.Connection, name: str) -> int:
    """Return one of the store's own numbers: ``dimension``, ``generation`` and ``slots`` of the vector file."""
    value = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).get
    if value is None:
        raise StoreDamaged(f"{DATABASE} is damaged: it does not say its {name}; {REPAIR_DATABASE}")
    return int(value)


def write_meta(connection: apsw.Connection, name: str, value: int) -> None:
    """Set one of the store's own numbers."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
