"""The tables of the embedded store, and how a folder becomes one."""

import apsw

from codequarry.shared.errors import ModelMismatch, StoreUnavailable
from codequarry.shared.versions.snapshots import OPEN

# Raised whenever the tables or indices below or the bytes in them change, with a step in `_UPGRADES`.
SCHEMA_VERSION = 2

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

# What makes a database of each older version one of the next. Some of version 1 have no index of paths that fits.
_UPGRADES = {
    1: """
DROP INDEX IF EXISTS chunk_path;
CREATE INDEX chunk_path ON chunk (path, timeline, born);
CREATE INDEX chunk_slot ON chunk (slot);
CREATE INDEX file_path ON file (path);
CREATE INDEX vector_slot ON vector (slot);
"""
}


def prepare(connection: apsw.Connection, dimension: int) -> None:
    """Make the tables in an empty database, and bring older ones up to date.

    StoreUnavailable if a newer version made them, ModelMismatch if they hold vectors of another length.
    """
    if not connection.pragma("user_version"):
        # Both count only before the first table and outside of a transaction.
        connection.pragma("auto_vacuum", "incremental")
        connection.pragma("journal_mode", "wal")
        _create(connection, dimension)
    if connection.pragma("user_version") in _UPGRADES:
        _upgrade(connection)
    version = connection.pragma("user_version")
    if version != SCHEMA_VERSION:
        raise StoreUnavailable(
            f"the index was made by another version of Codequarry (its format is {version}, this one reads "
            f"{SCHEMA_VERSION}); move its folder away and index again"
        )
    made_with = read_meta(connection, "dimension")
    if made_with != dimension:
        raise ModelMismatch(
            f"the index holds vectors of {made_with} numbers, the embedding model gives {dimension}; "
            "set the model that it was made with, or another folder, or move the folder away and index again"
        )


def _create(connection: apsw.Connection, dimension: int) -> None:
    """Create the tables unless another process was faster."""
    connection.execute("BEGIN IMMEDIATE")
    if not connection.pragma("user_version"):
        connection.execute(_TABLES)
        for name, value in (("dimension", dimension), ("generation", 1), ("slots", 0)):
            write_meta(connection, name, value)
        connection.pragma("user_version", SCHEMA_VERSION)
    connection.execute("COMMIT")


def _upgrade(connection: apsw.Connection) -> None:
    """Take the steps from the database's version to the newest; a crash leaves none of them, another process all."""
    connection.execute("BEGIN IMMEDIATE")
    version = int(connection.pragma("user_version"))
    while version in _UPGRADES:
        connection.execute(_UPGRADES[version])
        version += 1
    connection.pragma("user_version", version)
    connection.execute("COMMIT")


def read_meta(connection: apsw.Connection, name: str) -> int:
    """Return one of the store's own numbers: ``dimension``, ``generation`` and ``slots`` of the vector file."""
    return int(connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).get)


def write_meta(connection: apsw.Connection, name: str, value: int) -> None:
    """Set one of the store's own numbers."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
