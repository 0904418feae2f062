"""The tables of the embedded store, and the few numbers in its ``meta`` table."""

from contextlib import closing

import apsw

from codequarry.shared.errors import StoreDamaged
from codequarry.shared.store.embedded.checksums import RESERVED_BYTES
from codequarry.shared.versions.snapshots import OPEN

# Increase this whenever the tables or indices below or their bytes change, and add a step in `folder_format.py`.
SCHEMA_VERSION = 4
# The first version whose pages and vectors have checksums. Later versions differ only in the change log.
CHECKSUMS_SINCE = 3
DATABASE = "index.sqlite3"
REPAIR_DATABASE = "run codequarry fsck --repair to rebuild it, or codequarry restore to restore a backup"

# `row` numbers and `path` ids are never reused (AUTOINCREMENT), because arrays and caches in other processes refer to
# them. `died < OPEN` keeps live rows out of the indices on `died`. Posting keys are bytes, so any text fits.
# `change.checksum` is written as the upgrade adds it, so that new and upgraded databases have the same schema.
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
CREATE TABLE change (seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, number INTEGER, body BLOB NOT NULL, \
checksum INTEGER NOT NULL DEFAULT 0);
"""


def roots_of_new() -> dict[int, str]:
    """Return the name of each table and index in a new database by its root page."""
    with closing(apsw.Connection(":memory:")) as connection:
        connection.pragma("auto_vacuum", "incremental")
        connection.execute(_TABLES)
        return dict(connection.execute("SELECT rootpage, name FROM sqlite_schema WHERE rootpage"))


def create_tables(connection: apsw.Connection, dimension: int) -> None:
    """Create the tables in an empty database unless another process was faster."""
    # These take effect only before the first table is created and outside a transaction.
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
    """Return one of the store's numbers: ``dimension``, or the vector file's ``generation`` or ``slots``."""
    value = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).get
    if value is None:
        raise StoreDamaged(f"{DATABASE} is damaged: its {name} is missing; {REPAIR_DATABASE}")
    return int(value)


def write_meta(connection: apsw.Connection, name: str, value: int) -> None:
    """Set one of the store's numbers."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
