"""Measure the repair of an index: ``python -m bench.repair HOME [PAGES]`` damages and repairs a copy of it."""

import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from codequarry.ingest.repair.repair import repair_index
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.embedded.editions import EmbeddedEditions
from codequarry.shared.store.embedded.pages import PAGE_BYTES
from codequarry.shared.store.embedded.schema import DATABASE

SEED = 5


def main() -> None:
    """Overwrite this many pages of a copy with noise, and print how long each part of the repair takes."""
    home, pages = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10
    with tempfile.TemporaryDirectory(dir=home.parent) as folder:
        copy = Path(folder) / "home"
        shutil.copytree(home, copy)
        path = EmbeddedEditions(copy).active_folder() / DATABASE
        data = bytearray(path.read_bytes())
        chance = random.Random(SEED)
        for page in chance.sample(range(len(data) // PAGE_BYTES), pages):
            data[page * PAGE_BYTES : (page + 1) * PAGE_BYTES] = chance.randbytes(PAGE_BYTES)
        path.write_bytes(data)
        print(f"{len(data) / 1e6:,.0f} MB, {pages} pages damaged")
        started = time.monotonic()
        done = repair_index(SettingsModel(home=copy), lambda text: print(f"{time.monotonic() - started:6.1f} s {text}"))
        print(f"{time.monotonic() - started:6.1f} s done")
        print(f"{done.rows:,} rows copied, {done.files_again:,} files read again, {done.embedded:,} texts embedded")
        print(f"lost: {[(item.kind, item.name) for item in done.lost]}")


if __name__ == "__main__":
    main()
