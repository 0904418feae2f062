"""Editions of the embedded store: a folder per edition, and a small file that names the active edition."""

import os
import re
import shutil
import threading
from contextlib import suppress
from pathlib import Path

import apsw

from codequarry.shared.data_folder import private_opener
from codequarry.shared.errors import NotIndexed, StoreDamaged, StoreUnavailable
from codequarry.shared.liveness.deadline import Deadline
from codequarry.shared.store.editions import FIRST
from codequarry.shared.store.embedded.checksums import checksum_vfs
from codequarry.shared.store.embedded.schema import DATABASE, read_meta
from codequarry.shared.store.embedded.store import EmbeddedStore
from codequarry.shared.store.port import Store

FOLDER = "store"
POINTER = "store.edition"
_NUMBERED = re.compile(rf"{FOLDER}-(\d+)")


class EmbeddedEditions:
    """The editions in a data folder; the first edition's folder has no number."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def within(self, _: Deadline | None) -> "EmbeddedEditions":
        """Return this object: a local disk needs no deadline."""
        return self

    def active(self) -> int:
        """Return the number in the pointer file, or the first number if there is no file."""
        try:
            return int((self._home / POINTER).read_text("ascii"))
        except FileNotFoundError:
            return FIRST
        except (OSError, ValueError) as error:
            raise StoreUnavailable(
                f"{self._home / POINTER} can't be read ({error}); it must hold the number of an edition"
            ) from None

    def present(self) -> list[int]:
        """Return the editions that have a database."""
        numbered = [
            int(found[1]) for path in self._home.glob(f"{FOLDER}-*") if (found := _NUMBERED.fullmatch(path.name))
        ]
        return sorted(number for number in (FIRST, *numbered) if (self.folder(number) / DATABASE).exists())

    def dimension(self, edition: int) -> int | None:
        """Return the length of the vectors, or None if it cannot be read (opening the store then says why)."""
        path = self.folder(edition) / DATABASE
        if not path.exists():
            return None
        try:
            connection = apsw.Connection(str(path), apsw.SQLITE_OPEN_READWRITE, checksum_vfs())
            try:
                return read_meta(connection, "dimension") if connection.pragma("user_version") else None
            finally:
                connection.close()
        except (apsw.Error, StoreDamaged):
            return None

    def open(self, edition: int, dimension: int) -> Store:
        """Open the folder of an edition."""
        return EmbeddedStore(self.folder(edition), dimension)

    def active_folder(self) -> Path:
        """Return the folder of the active edition; raise NotIndexed if there is no index."""
        folder = self.folder(self.active())
        if not (folder / DATABASE).exists():
            raise NotIndexed(f"there is no index in {self._home}; run codequarry index to make one")
        return folder

    def activate(self, edition: int) -> None:
        """Replace the pointer; raise StoreUnavailable if it cannot be written."""
        # A unique name: after a migration, several processes that open the index may correct the pointer at once.
        fresh = self._home / f"{POINTER}.{os.getpid()}-{threading.get_ident()}.new"
        try:
            with open(fresh, "w", encoding="ascii", opener=private_opener) as file:
                file.write(str(edition))
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self._home / POINTER)
        except OSError as error:
            with suppress(OSError):
                fresh.unlink(missing_ok=True)
            raise StoreUnavailable(f"{self._home / POINTER} can't be written ({error.strerror})") from None

    def remove(self, edition: int) -> None:
        """Delete the folder; the system keeps its files for processes that have them open."""
        shutil.rmtree(self.folder(edition), ignore_errors=True)

    def close(self) -> None:
        """Do nothing: nothing is kept open."""

    def folder(self, edition: int) -> Path:
        """Return the folder of an edition, which may not exist."""
        return self._home / (FOLDER if edition == FIRST else f"{FOLDER}-{edition}")
