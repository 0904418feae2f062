"""A folder that no other process has open, and that none opens meanwhile."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from codequarry.shared.errors import StoreUnavailable
from codequarry.shared.store.embedded.schema import DATABASE

# Every process that has a database with a write-ahead log open holds this byte of its shared-memory file, and SQLite
# answers "busy" to one that opens it while another process holds the byte alone (UNIX_SHM_DMS in its os_unix.c).
_HELD_BYTE = 128


@contextmanager
def exclusive_access(folder: Path) -> Iterator[None]:
    """Keep other processes from opening the database of ``folder``; StoreUnavailable if one has it open.

    This process must not have it open either: the system would take the lock from it when it closes the file.
    """
    descriptor = os.open(folder / f"{DATABASE}-shm", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _HELD_BYTE)
    except OSError as error:
        os.close(descriptor)
        raise StoreUnavailable("another process uses the index; stop services and imports, and try again") from error
    try:
        yield
    finally:
        os.close(descriptor)
