"""Memory and processor time of processes and all that they started, read from /proc while they run."""

import os
import threading
from collections import defaultdict
from pathlib import Path

PROC = Path("/proc")
# Reading the page tables of a large process takes some milliseconds; sampling more often would slow what is measured.
INTERVAL_SECONDS = 0.2
KILOBYTE = 1024


class MemoryWatch:
    """Samples the proportional set size (PSS) of process trees; ``peak_bytes`` is the largest sum seen.

    PSS counts a page shared by several processes once in total; if it can't be read, the resident set size is used.
    """

    def __init__(self, *roots: int) -> None:
        self.peak_bytes = 0
        self.peak_processes = 0
        self._roots = roots
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
            members = [member for root in self._roots for member in tree(root)]
            total = sum(map(memory_of, members))
            if total > self.peak_bytes:
                self.peak_bytes, self.peak_processes = total, len(members)


def tree(root: int) -> list[int]:
    """Return a process and its living descendants."""
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
    """Return the memory of a process in bytes, 0 if it is gone."""
    for name, field in (("smaps_rollup", "Pss:"), ("status", "VmRSS:")):
        try:
            lines = (PROC / str(process) / name).read_text().splitlines()
        except OSError:
            continue
        for line in lines:
            if line.startswith(field):
                return int(line.split()[1]) * KILOBYTE
    return 0


def processor_seconds(root: int) -> float:
    """Return the processor time of a process and its descendants, including children that it has waited for."""
    return sum(map(_ticks, tree(root))) / os.sysconf("SC_CLK_TCK")


def _ticks(process: int) -> int:
    """Return the ticks in user and system mode, including those of children that were waited for."""
    try:
        fields = (PROC / str(process) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(map(int, fields[11:15]))


def _parent(folder: Path) -> int | None:
    try:
        # The command name is in parentheses and may contain any character, even parentheses.
        return int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None
