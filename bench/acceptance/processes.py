"""The memory of a process and all that it started, sampled from /proc while it runs."""

import threading
from collections import defaultdict
from pathlib import Path

PROC = Path("/proc")
# Reading the page tables of a large process takes some milliseconds; more samples would slow what is measured.
INTERVAL_SECONDS = 0.2
KILOBYTE = 1024


class MemoryWatch:
    """Sample the proportional set size (PSS) of a process tree; ``peak_bytes`` is the largest sum seen.

    PSS counts a page that several processes share once in all; where it can't be read the resident set is taken.
    """

    def __init__(self, root: int) -> None:
        self.peak_bytes = 0
        self.peak_processes = 0
        self._root = root
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "MemoryWatch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(INTERVAL_SECONDS):
            members = tree(self._root)
            total = sum(map(memory_of, members))
            if total > self.peak_bytes:
                self.peak_bytes, self.peak_processes = total, len(members)


def tree(root: int) -> list[int]:
    """Return a process and its descendants that live."""
    children = defaultdict(list)
    for folder in PROC.iterdir():
        if folder.name.isdigit():
            parent = _parent(folder)
            if parent is not None:
                children[parent].append(int(folder.name))
    members = [root]
    for member in members:
        members += children[member]
    return members


def memory_of(process: int) -> int:
    """Return the bytes of a process, 0 once it is gone."""
    for name, field in (("smaps_rollup", "Pss:"), ("status", "VmRSS:")):
        try:
            lines = (PROC / str(process) / name).read_text().splitlines()
        except OSError:
            continue
        for line in lines:
            if line.startswith(field):
                return int(line.split()[1]) * KILOBYTE
    return 0


def _parent(folder: Path) -> int | None:
    try:
        # The name of the command stands in brackets and may hold anything, brackets included.
        return int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None
