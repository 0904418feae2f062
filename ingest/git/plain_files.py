"""Reads files of a repository on this machine: only regular files of bounded size, because a pipe may block forever."""

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from codequarry.shared.errors import GitError

# Limit for files of one line: HEAD, a `.git` file, names of folders.
LINE_BYTES = 65_536
# Limit for configuration, exclude patterns and alternates.
TEXT_BYTES = 10_000_000
KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
)


def read_plain(path: Path, most_bytes: int = TEXT_BYTES) -> bytes | None:
    """Return a regular file's bytes, or None if there is none; raise GitError for a link, a pipe or a larger file."""
    with open_plain(path, most_bytes) as file:
        return file.read() if file else None


@contextmanager
def open_plain(path: Path, most_bytes: int) -> Iterator[BinaryIO | None]:
    """Open a regular file and yield it, or None if there is none; raise GitError as ``read_plain`` does."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        yield None
        return
    except OSError as error:
        raise GitError(_refusal(path) or f"{path} can't be read: {error.strerror}") from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_size > most_bytes:
        os.close(descriptor)
        large = f"{path} is larger than {most_bytes:,} bytes, so it is not read: git does not write such a file"
        raise GitError(large if stat.S_ISREG(status.st_mode) else _not_plain(path, status.st_mode))
    with os.fdopen(descriptor, "rb") as file:
        yield file


def read_line(path: Path) -> str | None:
    """Return the text of a file that holds one line, or None if there is no such file."""
    data = read_plain(path, LINE_BYTES)
    return None if data is None else os.fsdecode(data.strip(b"\r\n"))


def check_plain(folder: Path) -> None:
    """Raise GitError unless a folder holds only folders and regular files; a missing folder is fine."""
    status = _status(folder)
    if status and not stat.S_ISDIR(status.st_mode):
        raise GitError(_not_plain(folder, status.st_mode))
    for entry in _walk(folder):
        if not (entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)):
            raise GitError(_not_plain(Path(entry.path), entry.stat(follow_symlinks=False).st_mode))


class PipeSearch:
    """Searches a working tree, a moment at a time, for pipes and devices that git may open by name and then hang."""

    # The last four belong to nested repositories. Sockets are harmless, because they can't be opened.
    NAMES = frozenset({".gitignore", ".gitattributes", ".gitmodules", "HEAD", "config", "commondir", "packed-refs"})
    LOOK_SECONDS = 0.1

    def __init__(self, folder: Path) -> None:
        self._left = _walk(folder)

    def look(self) -> None:
        """Continue the search for a moment; raise GitError if it finds a file on which git may hang."""
        end = time.monotonic() + self.LOOK_SECONDS
        for entry in self._left:
            if entry.name in self.NAMES and _may_block(entry):
                raise GitError(_not_plain(Path(entry.path), entry.stat(follow_symlinks=False).st_mode))
            if time.monotonic() > end:
                return


def _walk(folder: Path) -> Iterator[os.DirEntry[str]]:
    left = [os.fspath(folder)]
    while left:
        try:
            with os.scandir(left.pop()) as entries:
                for entry in entries:
                    yield entry
                    if entry.is_dir(follow_symlinks=False):
                        left.append(entry.path)
        except OSError:  # the folder vanished or can't be read, which git reports
            continue


def _may_block(entry: os.DirEntry[str]) -> bool:
    try:
        mode = entry.stat(follow_symlinks=False).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode)


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except OSError:
        return None


def _refusal(path: Path) -> str:
    status = _status(path)
    return _not_plain(path, status.st_mode) if status and not stat.S_ISREG(status.st_mode) else ""


def _not_plain(path: Path, mode: int) -> str:
    kind = next((name for test, name in KINDS if test(mode)), "a device")
    return f"{path} is {kind}, which git does not create there: remove it, then run again"
