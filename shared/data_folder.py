"""Permissions of the data folder, which holds the code of all repositories and the hashes of all keys.

Folders are created with mode 0700 and files with 0600, whatever the umask. As in PostgreSQL, a data folder that other
users can read or that another user owns is refused, except that its group may list it (0750).
"""

import os
import pwd
import stat
from pathlib import Path

from codequarry.shared.errors import FolderNotPrivate

FOLDER_MODE = 0o700
FILE_MODE = 0o600
# The umask of every process that the command line starts.
UMASK = 0o077
_REFUSED = stat.S_IWGRP | stat.S_IRWXO
_GROUP_AND_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def check_private(home: Path) -> None:
    """Raise FolderNotPrivate if another user owns or can read the data folder; restrict entries with wider modes."""
    try:
        found = home.stat()
    except OSError:
        return
    if not stat.S_ISDIR(found.st_mode):
        return
    if found.st_uid != os.geteuid():
        raise FolderNotPrivate(
            f"the data folder {home} belongs to {_name(found.st_uid)}, but codequarry runs as {_name(os.geteuid())}; "
            f"run codequarry as the owner, or change the owner: chown -R {_name(os.geteuid())} '{home}'"
        )
    if found.st_mode & _REFUSED:
        raise FolderNotPrivate(
            f"other users can read or change the data folder {home} (mode {stat.S_IMODE(found.st_mode):04o}, which "
            f"should be 0700 or 0750); run chmod -R go-rwx '{home}'"
        )
    _restrict_entries(home)


def _restrict_entries(home: Path) -> None:
    """Restrict the direct entries of a data folder; nothing below a restricted folder can be reached."""
    for entry in os.scandir(home):
        mode = entry.stat(follow_symlinks=False).st_mode
        if not entry.is_symlink() and mode & _GROUP_AND_OTHERS:
            os.chmod(entry.path, stat.S_IMODE(mode) & ~_GROUP_AND_OTHERS)  # noqa: PTH101 - an entry is not a Path


def private_folder(folder: Path) -> None:
    """Create a folder and its missing parents, accessible only to the owner."""
    missing = [part for part in (folder, *folder.parents) if not part.exists()]
    for part in reversed(missing):
        part.mkdir(mode=FOLDER_MODE, exist_ok=True)


def private_file(path: Path) -> None:
    """Create a file that only its owner can read, or restrict an existing file."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    try:
        if os.fstat(descriptor).st_mode & _GROUP_AND_OTHERS:
            os.fchmod(descriptor, FILE_MODE)
    finally:
        os.close(descriptor)


def private_opener(path: str, flags: int) -> int:
    """Open a file for ``open(opener=…)``; a new file can be read only by its owner."""
    return os.open(path, flags, FILE_MODE)


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
