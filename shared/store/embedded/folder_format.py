"""The format of a store's folder: made, checked when it is opened, and brought up to date from older releases."""

from pathlib import Path

import apsw
import numpy as np

from codequarry.shared.errors import ModelMismatch, OldFormat, StoreDamaged, StoreUnavailable
from codequarry.shared.store.embedded.checksums import RESERVED_BYTES, add_checksums, checksum_vfs, drop_checksums
from codequarry.shared.store.embedded.schema import DATABASE, REPAIR_DATABASE, SCHEMA_VERSION, create_tables, read_meta

# A smaller database is brought up to date by whoever opens it: rewriting so much takes a second or two.
UPGRADED_AT_ONCE_BYTES = 256_000_000
VECTORS = "vectors-*.f32"
# Slots whose checksums are made at a time.
_SUMMED_AT_ONCE = 65_536
# What makes tables of each older version those of the next. Some of version 1 have no index of paths that fits.
_STEPS = {
    1: """
DROP INDEX IF EXISTS chunk_path;
CREATE INDEX chunk_path ON chunk (path, timeline, born);
CREATE INDEX chunk_slot ON chunk (slot);
CREATE INDEX file_path ON file (path);
CREATE INDEX vector_slot ON vector (slot);
""",
    2: "CREATE TABLE vector_block (block INTEGER PRIMARY KEY, words INTEGER NOT NULL);",
}


def prepare(connection: apsw.Connection, folder: Path, dimension: int) -> None:
    """Make the tables in an empty database, check those of another, and bring a small old one up to date.

    OldFormat for a large old one, StoreUnavailable if a newer release wrote it, StoreDamaged where something is
    missing, ModelMismatch if it holds vectors of another length.
    """
    if not connection.pragma("user_version"):
        if any(folder.glob(VECTORS)):
            raise StoreDamaged(f"{DATABASE} is empty or gone, but its vectors are there; {REPAIR_DATABASE}")
        create_tables(connection, dimension)
    if is_old(connection):
        check_quick(connection, folder)
        upgrade(connection, folder)
    check_format(connection)
    _check_dimension(connection, dimension)


def is_old(connection: apsw.Connection) -> bool:
    """Return whether an older release wrote the database."""
    return connection.pragma("user_version") in _STEPS


def check_quick(connection: apsw.Connection, folder: Path) -> None:
    """Raise OldFormat where the upgrade takes longer than somebody who only opens the index would wait."""
    size = (folder / DATABASE).stat().st_size
    if size > UPGRADED_AT_ONCE_BYTES:
        raise OldFormat(
            f"an older release wrote the index (format {connection.pragma('user_version')}, this release reads "
            f"{SCHEMA_VERSION}); stop what uses it and run codequarry migrate --schema, which rewrites "
            f"{size / 1e6:,.0f} MB"
        )


def upgrade(connection: apsw.Connection, folder: Path) -> None:
    """Bring a database of an older release up to date; a crash leaves the old format, or the new one.

    No other process may have it open: SQLite's BusyError says that one has.
    """
    connection.pragma("journal_mode", "delete")
    if connection.reserve_bytes("main", -1) != RESERVED_BYTES:
        connection.reserve_bytes("main", RESERVED_BYTES)
        connection.execute("VACUUM")
    connection.pragma("journal_mode", "wal")
    connection.execute("BEGIN IMMEDIATE")
    version = int(connection.pragma("user_version"))
    while version in _STEPS:
        connection.execute(_STEPS[version])
        version += 1
    _sum_vectors(connection, folder)
    connection.pragma("user_version", version)
    connection.execute("COMMIT")


def upgrade_folder(folder: Path) -> tuple[int, int]:
    """Bring the database of a folder up to date, however large; return its format before and after.

    StoreUnavailable while another process uses it.
    """
    connection = apsw.Connection(str(folder / DATABASE), apsw.SQLITE_OPEN_READWRITE, checksum_vfs())
    try:
        before = int(connection.pragma("user_version"))
        if is_old(connection):
            upgrade(connection, folder)
        check_format(connection)
        return before, int(connection.pragma("user_version"))
    except apsw.BusyError as error:
        raise StoreUnavailable("another process uses the index; stop services and imports, and try again") from error
    finally:
        connection.close()


def _sum_vectors(connection: apsw.Connection, folder: Path) -> None:
    """Write the checksums of vectors that were written without; a part that is missing gets none, and so is damaged."""
    drop_checksums(connection)
    dimension, slots = read_meta(connection, "dimension"), read_meta(connection, "slots")
    path = folder / f"vectors-{read_meta(connection, 'generation')}.f32"
    readable = min(slots, path.stat().st_size // (dimension * 4)) if path.exists() else 0
    if readable:
        vectors = np.memmap(path, "<f4", "r", shape=(readable, dimension))
        for start in range(0, readable, _SUMMED_AT_ONCE):
            add_checksums(connection, start, vectors[start : start + _SUMMED_AT_ONCE])


def check_format(connection: apsw.Connection) -> None:
    """Raise StoreUnavailable if a newer release wrote the database, StoreDamaged if its pages have no checksums."""
    version = connection.pragma("user_version")
    if version != SCHEMA_VERSION:
        raise StoreUnavailable(
            f"a newer release of Codequarry wrote the index (format {version}, this release reads up to "
            f"{SCHEMA_VERSION}); use that release, or move the folder away and index again"
        )
    if connection.reserve_bytes("main", -1) != RESERVED_BYTES:
        raise StoreDamaged(f"the head of {DATABASE} is damaged; {REPAIR_DATABASE}")


def _check_dimension(connection: apsw.Connection, dimension: int) -> None:
    made_with = read_meta(connection, "dimension")
    if made_with != dimension:
        raise ModelMismatch(
            f"the index holds vectors of {made_with} numbers, the embedding model gives {dimension}; "
            "set the model that it was made with, or another folder, or move the folder away and index again"
        )
