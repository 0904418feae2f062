"""Connections and transactions on the one SQLite file, and what its errors mean to a person."""

import errno
import json
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from codequarry.shared.data_folder import private_file, private_folder
from codequarry.shared.errors import StoreDamaged, StoreError, StoreFull, StoreUnavailable
from codequarry.shared.stop_request import check_stop
from codequarry.shared.store.embedded.checksums import checksum_vfs
from codequarry.shared.store.embedded.folder_format import prepare
from codequarry.shared.store.embedded.path_names import path_allowed
from codequarry.shared.store.embedded.schema import DATABASE, REPAIR_DATABASE
from codequarry.shared.telemetry.metrics import count_store_error

# A writer waits so long for another one; the longest transaction, a merge of large segments, takes seconds.
BUSY_SECONDS = 30
# Pages in memory per connection, in KiB (negative by SQLite's convention): four times as many write no faster.
_CACHE_KIB = -8_000
# The log is written back after so many pages of 4 KiB: larger batches spare synchronous writes, smaller ones disk.
_CHECKPOINT_PAGES = 4000
_LOG_BYTES_KEPT = 64 * 1024 * 1024
# Pages moved in one transaction when room is given back: some tens of milliseconds.
_PAGES_AT_ONCE = 5000
_RETRY_SECONDS = 0.02
# After so many steps of its virtual machine, some hundredths of a second, a statement asks whether the run is to end:
# a purge or a rewriting of the whole file takes minutes. What writes a document never comes that far.
_STEPS_BETWEEN_LOOKS = 1_000_000

# What texts raise that are not what was written.
_UNREADABLE = (zlib.error, json.JSONDecodeError, UnicodeDecodeError)
_DAMAGED_READS = frozenset({apsw.SQLITE_IOERR_DATA, apsw.SQLITE_IOERR_SHORT_READ})
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class Database:
    """The SQLite file of a folder; safe for threads, each of whose transactions has a connection of its own.

    A process that forks must not use it in both halves.
    """

    def __init__(self, folder: Path, dimension: int) -> None:
        self.folder = folder
        self._idle: list[apsw.Connection] = []
        self._closed = False
        with self._translated(None):
            private_folder(folder)
            # SQLite gives its log and its shared memory the mode of the database.
            private_file(folder / DATABASE)
            self._idle.append(self._prepared(dimension))

    def _prepared(self, dimension: int) -> apsw.Connection:
        """Open the first connection; SQLite does not wait by itself while another process sets up the log mode."""
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            connection = self._connect()
            try:
                with self._translated(connection):
                    prepare(connection, self.folder, dimension)
                return connection
            except BaseException as error:
                connection.close()
                if not isinstance(error.__cause__, apsw.BusyError) or time.monotonic() > deadline:
                    raise
            time.sleep(_RETRY_SECONDS)

    def _connect(self) -> apsw.Connection:
        connection = apsw.Connection(str(self.folder / DATABASE), vfs=checksum_vfs())
        connection.set_busy_timeout(BUSY_SECONDS * 1000)
        connection.set_progress_handler(_look_up, _STEPS_BETWEEN_LOOKS)
        connection.create_scalar_function("path_allowed", path_allowed, 2, deterministic=True)
        # NORMAL: no commit is lost when a process dies; a power cut may lose the last ones, never the order.
        for name, value in (
            ("synchronous", "normal"),
            ("cache_size", _CACHE_KIB),
            ("temp_store", "memory"),
            # What is purged is also overwritten, where that costs no further page.
            ("secure_delete", "fast"),
            ("wal_autocheckpoint", _CHECKPOINT_PAGES),
            ("journal_size_limit", _LOG_BYTES_KEPT),
            # What a damaged page says is not believed: no functions from the schema, no cells beyond their page.
            ("trusted_schema", False),
            ("cell_size_check", True),
        ):
            connection.pragma(name, value)
        return connection

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """Give a connection that sees one state of the database until the end of the block."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """Give a connection that alone may write; all of the block is committed, or nothing of it."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[apsw.Connection]:
        if self._closed:
            raise StoreUnavailable("the store was closed")
        with self._translated(None):
            connection = self._idle.pop() if self._idle else self._connect()
        try:
            with self._translated(connection):
                connection.execute(begin)
                yield connection
                connection.execute("COMMIT")
        except BaseException:
            # Closing rolls back, whatever state the error left the connection in.
            connection.close()
            raise
        self._give_back(connection)

    def _give_back(self, connection: apsw.Connection) -> None:
        if self._closed:
            connection.close()
        else:
            self._idle.append(connection)

    @contextmanager
    def _translated(self, connection: apsw.Connection | None) -> Iterator[None]:
        try:
            yield
        except _UNREADABLE as error:
            place = f"{self.folder.name}/{DATABASE}"
            raise StoreDamaged(f"{place} is damaged: a text is not what was written; {REPAIR_DATABASE}") from error
        except (apsw.Error, OSError) as error:
            number = error.errno if isinstance(error, OSError) else connection.system_errno if connection else 0
            translated = self._explain(error, number)
            if translated is None:
                raise
            count_store_error(translated)
            raise translated from error

    def _explain(self, error: Exception, number: int | None) -> StoreError | None:
        """Say what an error of the engine means and what to do; None for one that is a mistake in the code."""
        if isinstance(error, apsw.FullError) or (isinstance(error, apsw.IOError | OSError) and number in _NO_ROOM):
            return StoreFull(f"no room left on the disk of {self.folder}; free some and run again, nothing is lost")
        if isinstance(error, apsw.BusyError | apsw.LockedError | apsw.ProtocolError):
            return StoreUnavailable(
                f"another process has been writing to {self.folder} for {BUSY_SECONDS} s; try again when it is done"
            )
        if _is_damage(error):
            place = f"{self.folder.name}/{DATABASE}"
            return StoreDamaged(f"{place} is damaged: a page is not what was written ({error}); {REPAIR_DATABASE}")
        if isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError | apsw.PermissionsError | apsw.IOError | OSError):
            return StoreUnavailable(
                f"the folder {self.folder} can't be read and written ({error}); it must be on a local disk and writable"
            )
        return None

    def give_room_back(self) -> None:
        """Return unused pages to the file system, some at a time, so that other writers get their turn."""
        before, unused = 1, 0
        while unused < before:
            with self.writing() as connection:
                before = connection.pragma("freelist_count")
                connection.execute(f"PRAGMA incremental_vacuum({_PAGES_AT_ONCE})").fetchall()
                unused = connection.pragma("freelist_count")

    def erase_unused(self) -> bool:
        """Write the file anew without what was deleted, and empty the log; False where readers keep the log in use."""
        with self._translated(None):
            connection = self._connect()
        try:
            with self._translated(connection):
                connection.execute("VACUUM")
                busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0]
        finally:
            connection.close()
        return not busy

    def close(self) -> None:
        """Close the connections that no transaction holds; the others close with their transaction."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()


def _look_up() -> bool:
    """Raise Stopped or Interrupted if the run is to end; the transaction is then undone as after any error."""
    check_stop()
    return False  # True would end the statement


def _is_damage(error: Exception) -> bool:
    """Return whether SQLite met a page that it can't make sense of, or one whose checksum is wrong."""
    if isinstance(error, apsw.IOError):
        return getattr(error, "extendedresult", 0) in _DAMAGED_READS
    return isinstance(error, apsw.CorruptError | apsw.NotADBError)
