"""Connections and transactions on the SQLite file, and errors that say what to do."""

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

# How long a writer waits for another writer; the longest transaction, a merge of large segments, takes seconds.
BUSY_SECONDS = 30
# Page cache per connection, in KiB (negative by SQLite's convention): four times as much makes writes no faster.
_CACHE_KIB = -8_000
# Pages of 4 KiB before a checkpoint: larger batches save synchronous writes, smaller batches save disk space.
_CHECKPOINT_PAGES = 4000
_LOG_BYTES_KEPT = 64 * 1024 * 1024
# Pages freed in one transaction, which takes tens of milliseconds.
_PAGES_AT_ONCE = 5000
_RETRY_SECONDS = 0.02
# Steps of SQLite's virtual machine (hundredths of a second) between checks of whether a long statement must stop.
_STEPS_BETWEEN_CHECKS = 1_000_000

# Errors from decoding damaged texts.
_UNREADABLE = (zlib.error, json.JSONDecodeError, UnicodeDecodeError)
_DAMAGED_READS = frozenset({apsw.SQLITE_IOERR_DATA, apsw.SQLITE_IOERR_SHORT_READ})
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class Database:
    """The SQLite file of a folder. Safe to use from several threads, but not on both sides of a fork."""

    def __init__(self, folder: Path, dimension: int) -> None:
        self.folder = folder
        self._idle: list[apsw.Connection] = []
        self._closed = False
        with self._translated(None):
            private_folder(folder)
            # SQLite gives its log and its shared-memory file the database's mode.
            private_file(folder / DATABASE)
            self._idle.append(self._prepared(dimension))

    def _prepared(self, dimension: int) -> apsw.Connection:
        """Open the first connection, with retries: SQLite does not wait while another process sets the journal mode."""
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
        connection.set_progress_handler(_check_run, _STEPS_BETWEEN_CHECKS)
        connection.create_scalar_function("path_allowed", path_allowed, 2, deterministic=True)
        # NORMAL: a killed process loses no commit; a power cut may lose the last commits, but never their order.
        for name, value in (
            ("synchronous", "normal"),
            ("cache_size", _CACHE_KIB),
            ("temp_store", "memory"),
            # Overwrite deleted content if that writes no additional page.
            ("secure_delete", "fast"),
            ("wal_autocheckpoint", _CHECKPOINT_PAGES),
            ("journal_size_limit", _LOG_BYTES_KEPT),
            # Do not trust a damaged page: no functions from the schema, no cells beyond their page.
            ("trusted_schema", False),
            ("cell_size_check", True),
        ):
            connection.pragma(name, value)
        return connection

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """Provide a connection that sees one state of the database until the end of the block."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """Provide the only connection that may write; the block is committed whole or not at all."""
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
        self._release(connection)

    def _release(self, connection: apsw.Connection) -> None:
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
            raise StoreDamaged(f"{place} is damaged: a text cannot be decoded; {REPAIR_DATABASE}") from error
        except (apsw.Error, OSError) as error:
            number = error.errno if isinstance(error, OSError) else connection.system_errno if connection else 0
            translated = self._explain(error, number)
            if translated is None:
                raise
            count_store_error(translated)
            raise translated from error

    def _explain(self, error: Exception, number: int | None) -> StoreError | None:
        """Return what an SQLite error means and what to do, or None for a mistake in the code."""
        if isinstance(error, apsw.FullError) or (isinstance(error, apsw.IOError | OSError) and number in _NO_ROOM):
            return StoreFull(f"no room left on the disk of {self.folder}; free space and run again; nothing is lost")
        if isinstance(error, apsw.BusyError | apsw.LockedError | apsw.ProtocolError):
            return StoreUnavailable(
                f"another process has been writing to {self.folder} for {BUSY_SECONDS} s; try again when it is done"
            )
        if _is_damage(error):
            place = f"{self.folder.name}/{DATABASE}"
            return StoreDamaged(f"{place} is damaged: a page is corrupt ({error}); {REPAIR_DATABASE}")
        if isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError | apsw.PermissionsError | apsw.IOError | OSError):
            return StoreUnavailable(
                f"the folder {self.folder} can't be read or written ({error}); it must be on a local disk and writable"
            )
        return None

    def give_room_back(self) -> None:
        """Return unused pages to the file system, in short transactions so that other writers get a turn."""
        before, unused = 1, 0
        while unused < before:
            with self.writing() as connection:
                before = connection.pragma("freelist_count")
                connection.execute(f"PRAGMA incremental_vacuum({_PAGES_AT_ONCE})").fetchall()
                unused = connection.pragma("freelist_count")
        self._empty_log(wait_ms=0)

    def _empty_log(self, wait_ms: int) -> bool:
        """Copy the log into the file, which only then becomes smaller; return False if others keep the log in use."""
        with self._translated(None):
            connection = self._connect()
        try:
            with self._translated(connection):
                connection.set_busy_timeout(wait_ms)
                busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0]
        finally:
            connection.close()
        return not busy

    def erase_unused(self) -> bool:
        """Rewrite the file without deleted content and empty the log; return False if readers keep the log in use."""
        with self._translated(None):
            connection = self._connect()
        try:
            with self._translated(connection):
                connection.execute("VACUUM")
        finally:
            connection.close()
        return self._empty_log(BUSY_SECONDS * 1000)

    def close(self) -> None:
        """Close the idle connections; the others close when their transactions end."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()


def _check_run() -> bool:
    """Raise Stopped or Interrupted if the run must stop; the transaction is then rolled back."""
    check_stop()
    return False  # True would end the statement


def _is_damage(error: Exception) -> bool:
    if isinstance(error, apsw.IOError):
        return getattr(error, "extendedresult", 0) in _DAMAGED_READS
    return isinstance(error, apsw.CorruptError | apsw.NotADBError)
