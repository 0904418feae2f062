"""Writes files and folders whole or not at all."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_UNFINISHED = ".new"


@contextmanager
def whole(place: Path) -> Iterator[Path]:
    """Provide a path that becomes ``place`` at the end of the block; a block that fails leaves nothing."""
    fresh = place.with_name(f"{place.name}.{os.getpid()}{_UNFINISHED}")
    try:
        yield fresh
        fresh.replace(place)
    finally:
        _remove(fresh)


def remove_unfinished(folder: Path) -> None:
    """Remove unfinished files of killed runs from a folder; no other run may be writing there."""
    for place in folder.glob(f"*{_UNFINISHED}"):
        _remove(place)


def _remove(place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
