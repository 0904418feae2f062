"""The data folder is its owner's alone: it holds the code of all repositories and the hashes of all keys.

Folders are made 0700 and files 0600 whatever the umask. A data folder that others can read, or that is somebody
else's, is refused, as PostgreSQL refuses its own; like there, the group may be let in to list it (0750).
"""

import os
import pwd
import stat
from pathlib import Path

from codequarry.shared.errors import FolderNotPrivate

FOLDER_MODE = 0o700
FILE_MODE = 0o600
# What every process that the command line starts leaves out of the modes of the files that it makes.
UMASK = 0o077
_REFUSED = stat.S_IWGRP | stat.S_IRWXO
_OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def check_private(home: Path) -> None:
    """Raise FolderNotPrivate for a data folder that others can read, or that belongs to somebody else.

    What an older version made inside with wider modes is closed. Nothing is said of a folder that does not exist.
    """
    try:
        found = home.stat()
    except OSError:
        return
    if not stat.S_ISDIR(found.st_mode):
        return
    if found.st_uid != os.geteuid():
        raise FolderNotPrivate(
            f"the data folder {home} belongs to {_name(found.st_uid)}, and this runs as {_name(os.geteuid())}: run "
            f"codequarry as its owner, or give it away with chown -R {_name(os.geteuid())} '{home}'"
        )
    if found.st_mode & _REFUSED:
        raise FolderNotPrivate(
            f"the data folder {home} can be read or changed by others (mode {stat.S_IMODE(found.st_mode):04o}, which "
            f"should be 0700 or 0750): run chmod -R go-rwx '{home}'"
        )
    _close_inside(home)


def _close_inside(home: Path) -> None:
    """Close what lies directly in a data folder: below a closed folder nothing can be reached."""
    for entry in os.scandir(home):
        mode = entry.stat(follow_symlinks=False).st_mode
        if not entry.is_symlink() and mode & _OF_OTHERS:
            os.chmod(entry.path, stat.S_IMODE(mode) & ~_OF_OTHERS)  # noqa: PTH101 - an entry is no Path


def private_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, so that nobody else can enter it."""
    missing = [part for part in (folder, *folder.parents) if not part.exists()]
    for part in reversed(missing):
        part.mkdir(mode=FOLDER_MODE, exist_ok=True)


def private_file(path: Path) -> None:
    """Make a file that only its owner can read, and close one that is there."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    try:
        if os.fstat(descriptor).st_mode & _OF_OTHERS:
            os.fchmod(descriptor, FILE_MODE)
    finally:
        os.close(descriptor)


def private_opener(path: str, flags: int) -> int:
    """Open a file as ``open`` does, but make it so that only its owner can read it."""
    return os.open(path, flags, FILE_MODE)


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
