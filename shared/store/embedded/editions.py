"""Editions of the embedded store: a folder each, and a small file that names the active one."""

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
    """The editions below a data folder; the first one's folder has no number."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def within(self, _: Deadline | None) -> "EmbeddedEditions":
        """Return this index: what is on this machine's disk answers at once."""
        return self

    def active(self) -> int:
        """Return the number in the pointer; without one, the first."""
        try:
            return int((self._home / POINTER).read_text("ascii"))
        except FileNotFoundError:
            return FIRST
        except (OSError, ValueError) as error:
            raise StoreUnavailable(
                f"{self._home / POINTER} can't be read ({error}); it names a folder's number"
            ) from None

    def present(self) -> list[int]:
        """Return the editions that have a database."""
        numbered = [
            int(found[1]) for path in self._home.glob(f"{FOLDER}-*") if (found := _NUMBERED.fullmatch(path.name))
        ]
        return sorted(number for number in (FIRST, *numbered) if (self.folder(number) / DATABASE).exists())

    def dimension(self, edition: int) -> int | None:
        """Read the length of the vectors; None too where it can't be read: opening the store says why."""
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
        """Return the folder of the active edition; NotIndexed if there is no index."""
        folder = self.folder(self.active())
        if not (folder / DATABASE).exists():
            raise NotIndexed(f"there is no index in {self._home}; codequarry index makes one")
        return folder

    def activate(self, edition: int) -> None:
        """Replace the pointer; StoreUnavailable where it can't be written."""
        # Whoever opens an index that a migration has just moved sets the pointer right: several may at once.
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
        """Delete the folder; who still has it open keeps what the system holds for them."""
        shutil.rmtree(self.folder(edition), ignore_errors=True)

    def close(self) -> None:
        """Do nothing: nothing is kept open."""

    def folder(self, edition: int) -> Path:
        """Return where an edition is, or would be."""
        return self._home / (FOLDER if edition == FIRST else f"{FOLDER}-{edition}")
