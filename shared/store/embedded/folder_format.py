"""The format of a store's folder: creates it, checks it on opening, and upgrades it from older releases."""

from pathlib import Path
from typing import cast

import apsw
import numpy as np

from codequarry.shared.errors import ModelMismatch, OldFormat, StoreDamaged, StoreUnavailable
from codequarry.shared.store.embedded.checksums import (
    RESERVED_BYTES,
    add_checksums,
    checksum_vfs,
    drop_checksums,
    entry_checksum,
)
from codequarry.shared.store.embedded.schema import (
    CHECKSUMS_SINCE,
    DATABASE,
    REPAIR_DATABASE,
    SCHEMA_VERSION,
    create_tables,
    read_meta,
)

# A database without checksums up to this size is upgraded when it is opened: rewriting this much takes a second or two.
UPGRADED_AT_ONCE_BYTES = 256_000_000
VECTORS = "vectors-*.f32"
# Slots whose checksums are computed at a time.
_SUMMED_AT_ONCE = 65_536
# Upgrades from each older version to the next. Some databases of version 1 lack the right path index.
_STEPS = {
    1: """
DROP INDEX IF EXISTS chunk_path;
CREATE INDEX chunk_path ON chunk (path, timeline, born);
CREATE INDEX chunk_slot ON chunk (slot);
CREATE INDEX file_path ON file (path);
CREATE INDEX vector_slot ON vector (slot);
""",
    2: "CREATE TABLE vector_block (block INTEGER PRIMARY KEY, words INTEGER NOT NULL);",
    3: """
ALTER TABLE change ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
UPDATE change SET checksum = entry_checksum(body);
""",
}


def prepare(connection: apsw.Connection, folder: Path, dimension: int) -> None:
    """Create the tables of an empty database, or check an existing database, and upgrade it if that is quick.

    Raise OldFormat if the upgrade would take long, StoreUnavailable if a newer release wrote the database, StoreDamaged
    if something is missing, ModelMismatch if its vectors have a different length.
    """
    if not connection.pragma("user_version"):
        if any(folder.glob(VECTORS)):
            raise StoreDamaged(f"{DATABASE} is empty or missing, but its vectors exist; {REPAIR_DATABASE}")
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
    """Raise OldFormat if the upgrade would take too long for a process that only opens the index."""
    size = (folder / DATABASE).stat().st_size
    if connection.pragma("user_version") < CHECKSUMS_SINCE and size > UPGRADED_AT_ONCE_BYTES:
        raise OldFormat(
            f"an older release wrote the index (format {connection.pragma('user_version')}, this release reads "
            f"{SCHEMA_VERSION}); stop services and imports and run codequarry migrate --schema, which rewrites "
            f"{size / 1e6:,.0f} MB"
        )


def upgrade(connection: apsw.Connection, folder: Path) -> None:
    """Upgrade an older database; a crash leaves the old or new format. Raise apsw.BusyError if it is open elsewhere."""
    connection.pragma("journal_mode", "delete")
    if connection.reserve_bytes("main", -1) != RESERVED_BYTES:
        connection.reserve_bytes("main", RESERVED_BYTES)
        connection.execute("VACUUM")
    connection.pragma("journal_mode", "wal")
    connection.create_scalar_function("entry_checksum", _entry_checksum, 1, deterministic=True)
    connection.execute("BEGIN IMMEDIATE")
    before = version = int(connection.pragma("user_version"))
    while version in _STEPS:
        connection.execute(_STEPS[version])
        version += 1
    if before < CHECKSUMS_SINCE:  # later checksums are kept, because new ones would hide damage
        _sum_vectors(connection, folder)
    connection.pragma("user_version", version)
    connection.execute("COMMIT")


def _entry_checksum(*values: object) -> int:
    """Return the checksum of an entry's body; an SQL function."""
    (body,) = cast("tuple[bytes]", values)
    return entry_checksum(body)


def upgrade_folder(folder: Path) -> tuple[int, int]:
    """Upgrade a folder of any size and return the format before and after; raise StoreUnavailable if it is in use."""
    connection = apsw.Connection(str(folder / DATABASE), apsw.SQLITE_OPEN_READWRITE, checksum_vfs())
    try:
        before = int(connection.pragma("user_version"))
        if is_old(connection):
            upgrade(connection, folder)
        check_format(connection)
        return before, int(connection.pragma("user_version"))
    except apsw.BusyError as error:
        raise StoreUnavailable("another process is using the index; stop services and imports and try again") from error
    finally:
        connection.close()


def _sum_vectors(connection: apsw.Connection, folder: Path) -> None:
    """Write the checksums of vectors that have none; a missing part gets no checksum and so counts as damaged."""
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
        raise StoreDamaged(f"the header of {DATABASE} is damaged; {REPAIR_DATABASE}")


def _check_dimension(connection: apsw.Connection, dimension: int) -> None:
    made_with = read_meta(connection, "dimension")
    if made_with != dimension:
        raise ModelMismatch(
            f"the index holds vectors of {made_with} numbers, but the embedding model produces {dimension}; "
            "set the model that it was made with, choose another folder, or move the folder away and index again"
        )
