"""Which mirrors a machine keeps: those in use are left alone, the others go by when they were used last."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from codequarry.ingest.git.mirrors import ENTRY, mirrors_folder
from codequarry.shared.data_folder import private_folder

# Beside each mirror: who reads it holds this file's lock together with others, who removes it alone. When it was
# touched last is when the mirror was used last.
USED = ".used"


@contextmanager
def mirror_in_use(folder: Path) -> Iterator[None]:
    """Keep a mirror from being removed for want of room; waits where it is being removed just now."""
    private_folder(folder.parent)
    descriptor = _locked(folder.with_suffix(USED), fcntl.LOCK_SH)
    assert descriptor is not None, "it was waited for"
    try:
        os.utime(descriptor)
        yield
    finally:
        os.close(descriptor)


def trim_mirrors(home: Path, budget: int) -> list[str]:
    """Remove the mirrors that were used longest ago until the others fit into ``budget`` bytes, and return their names.

    None that a run reads or fetches into goes, so that the mirrors may take more while many are in use.
    """
    folders = [folder for folder in mirrors_folder(home).glob("*.git") if folder.is_dir()]
    sizes = {folder: _size(folder) for folder in folders}
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
    """Remove a mirror, unless somebody reads it or fetches into it, and return whether it is gone."""
    with _alone(folder.with_suffix(USED)) as unread, _alone(folder.with_suffix(".lock")) as unfetched:
        if not (unread and unfetched):
            return False
        leaving = folder.with_suffix(".removed")
        shutil.rmtree(leaving, ignore_errors=True)
        with suppress(OSError):
            folder.rename(leaving)
        shutil.rmtree(leaving, ignore_errors=True)
        for kept in (USED, ".lock", ENTRY):
            folder.with_suffix(kept).unlink(missing_ok=True)
        return True


@contextmanager
def _alone(path: Path) -> Iterator[bool]:
    """Hold a lock file alone, if nobody else holds it, and tell whether that is so."""
    descriptor = _locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _locked(path: Path, how: int) -> int | None:
    """Return the locked file, None where somebody else holds it and is not waited for.

    One that was removed while it was waited for locks nothing: then the one in its place is taken.
    """
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


def _size(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_size  # noqa: PTH118 - thousands of files
    return total
