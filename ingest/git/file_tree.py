"""The current files of a working tree, read through folder handles so that a folder turned into a link does no harm."""

import os
import stat
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from codequarry.ingest.git.trees import SYMLINK
from codequarry.shared.errors import GitError

REGULAR, EXECUTABLE = "100644", "100755"
# Maximum number of open handles. Files come folder by folder, so few handles are needed again later.
MOST_HANDLES = 64
# No part of a path in git is one of these.
OUTSIDE = frozenset({b"", b".", b".."})
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class FileTree:
    """The files below a folder; links are seen but never followed, not even as folders in a path."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._handles: OrderedDict[bytes, int] = OrderedDict()

    def close(self) -> None:
        """Close the handles."""
        while self._handles:
            os.close(self._handles.popitem()[1])

    def __enter__(self) -> "FileTree":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def mode(self, path: bytes) -> str | None:
        """Return the mode that git would give the file or link at ``path``, or None if it is neither."""
        status = self._status(path)
        if status is None:
            return None
        if stat.S_ISLNK(status.st_mode):
            return SYMLINK
        if not stat.S_ISREG(status.st_mode):
            return None
        return EXECUTABLE if status.st_mode & stat.S_IXUSR else REGULAR

    def size(self, path: bytes) -> int:
        """Return the size of a file in bytes, or 0 if it is no longer a file."""
        status = self._status(path)
        return status.st_size if status and stat.S_ISREG(status.st_mode) else 0

    def read(self, path: bytes, most_bytes: int) -> bytes | None:
        """Return the bytes of a file, or None if it is no longer a file or has grown beyond ``most_bytes``."""
        with self._opened(path) as file:
            data = file.read(most_bytes + 1) if file else None
        return data if data is not None and len(data) <= most_bytes else None

    def link(self, path: bytes) -> bytes | None:
        """Return the target of a symbolic link, or None if it is gone."""
        folder, name = self._parent(path)
        try:
            return os.readlink(name, dir_fd=folder) if folder is not None else None
        except OSError:
            return None

    @contextmanager
    def _opened(self, path: bytes) -> Iterator[BinaryIO | None]:
        seen = self._status(path)
        folder, name = self._parent(path)
        if seen is None or folder is None or not stat.S_ISREG(seen.st_mode):
            yield None
            return
        try:
            descriptor = os.open(name, _FILE, dir_fd=folder)
        except PermissionError:
            raise self._refused(path) from None
        except OSError:
            yield None
            return
        with os.fdopen(descriptor, "rb") as file:
            yield file if os.path.samestat(seen, os.fstat(descriptor)) else None

    def _status(self, path: bytes) -> os.stat_result | None:
        folder, name = self._parent(path)
        if folder is None:
            return None
        try:
            return os.stat(name, dir_fd=folder, follow_symlinks=False)
        except PermissionError:
            raise self._refused(path) from None
        except OSError:
            return None

    def _parent(self, path: bytes) -> tuple[int | None, bytes]:
        parent, _, name = path.rpartition(b"/")
        # A forged index may name files outside of the folder.
        return None if name in OUTSIDE else self._handle(parent), name

    def _handle(self, folder: bytes) -> int | None:
        """Return a handle of a folder, opened from its parent's handle, or None if part of the path is a link."""
        if folder in self._handles:
            self._handles.move_to_end(folder)
            return self._handles[folder]
        try:
            if folder:
                parent, name = self._parent(folder)
                if parent is None:
                    return None
                handle = os.open(name, _FOLDER, dir_fd=parent)
            else:
                handle = os.open(self._folder, _FOLDER)
        except PermissionError:
            raise self._refused(folder) from None
        except OSError:
            return None
        self._handles[folder] = handle
        if len(self._handles) > MOST_HANDLES:
            os.close(self._handles.popitem(last=False)[1])
        return handle

    def _refused(self, path: bytes) -> GitError:
        place = self._folder / os.fsdecode(path)
        return GitError(f"{place} can't be read: change its permissions, or add it to .gitignore")
