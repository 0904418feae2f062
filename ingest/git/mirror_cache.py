"""Deletes the least recently used mirrors on this machine, but never a mirror in use."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from codequarry.ingest.git.mirrors import USED, remove_mirror
from codequarry.ingest.git.process import folder_bytes
from codequarry.shared.data_folder import private_folder
from codequarry.shared.repositories.mirror_folders import mirrors_folder


@contextmanager
def mirror_in_use(folder: Path) -> Iterator[None]:
    """Keep a mirror from being removed to free space; wait first if it is already being removed."""
    private_folder(folder.parent)
    descriptor = _locked(folder.with_suffix(USED), fcntl.LOCK_SH)
    assert descriptor is not None, "a lock without LOCK_NB waits"
    try:
        os.utime(descriptor)
        yield
    finally:
        os.close(descriptor)


def trim_mirrors(home: Path, budget: int) -> list[str]:
    """Remove the least recently used idle mirrors until the rest fit in ``budget`` bytes; return the removed names."""
    folders = [folder for folder in mirrors_folder(home).glob("*.git") if folder.is_dir()]
    sizes = {folder: folder_bytes(folder) for folder in folders}
    total = sum(sizes.values())
    removed = []
    for folder in sorted(folders, key=_last_used):
        if total <= budget:
            break
        if remove_unused(folder):
            total -= sizes[folder]
            removed.append(folder.name)
    return removed


def remove_unused(folder: Path) -> bool:
    """Remove a mirror unless a run is reading it or fetching into it; return whether it was removed."""
    with _exclusive(folder.with_suffix(USED)) as unread, _exclusive(folder.with_suffix(".lock")) as unfetched:
        if not (unread and unfetched):
            return False
        remove_mirror(folder)
        return True


@contextmanager
def _exclusive(path: Path) -> Iterator[bool]:
    """Take a file's exclusive lock if it is free, and yield whether we hold it."""
    descriptor = _locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _locked(path: Path, how: int) -> int | None:
    """Return the locked file, recreating it if it vanishes meanwhile; None if it is held and ``how`` does not wait."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, how)
            with suppress(FileNotFoundError):
                if os.path.samestat(path.stat(), os.fstat(descriptor)):
                    return descriptor
        except BlockingIOError:
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _last_used(folder: Path) -> float:
    for path in (folder.with_suffix(USED), folder.with_suffix(".lock"), folder):
        with suppress(OSError):
            return path.stat().st_mtime
    return 0.0
