"""Files and folders that are there whole or not at all."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole(place: Path) -> Iterator[Path]:
    """Give where to write what is ``place`` from the end of the block on; a block that fails leaves nothing."""
    fresh = place.with_name(f"{place.name}.{os.getpid()}.new")
    try:
        yield fresh
        fresh.replace(place)
    finally:
        if fresh.is_dir():
            shutil.rmtree(fresh)
        fresh.unlink(missing_ok=True)
