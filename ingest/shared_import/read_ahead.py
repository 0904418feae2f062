"""Read-ahead in one process: while one batch is embedded and written, the next batch is read."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from codequarry.ingest.files.read_file import ReadFile
from codequarry.ingest.files.reading_pool import Readers
from codequarry.ingest.files.scan import FileTask

# If writing takes longer than this, reading is not the bottleneck, and the next batch is left to other processes.
AHEAD_SECONDS = 5.0

ClaimNext = Callable[[], tuple[int, Sequence[FileTask]] | None]
"""Claim another batch and return its number and its files, or None if no batch is free."""
Finish = Callable[[int, list[ReadFile]], None]
"""Write a batch whose files have all been read."""


@dataclass(slots=True)
class _Batch:
    files: int
    read: list[ReadFile] = field(default_factory=list)


class ReadingAhead:
    """Keeps one process's readers and writer busy at the same time; not thread-safe.

    After an error, the readers may still hold files of abandoned batches and must not be used again.
    """

    def __init__(self, readers: Readers) -> None:
        self._readers = readers
        self._in_hand: dict[int, _Batch] = {}
        self._batch_of: dict[str, int] = {}
        self._is_quick = False

    def work(self, claim: ClaimNext, finish: Finish) -> None:
        """Read and finish batches until ``claim`` returns None."""
        begun: list[int] = [0]
        while begun:
            begun.clear()
            for file in self._readers.read(self._tasks(claim, begun)):
                self._add(file, finish)

    def _tasks(self, claim: ClaimNext, begun: list[int]) -> Iterator[FileTask]:
        while (self._is_quick or not self._in_hand) and (batch := claim()) is not None:
            at, files = batch
            begun.append(at)
            self._in_hand[at] = _Batch(len(files))
            self._batch_of.update((task.path, at) for task in files)
            yield from files

    def _add(self, file: ReadFile, finish: Finish) -> None:
        at = self._batch_of.pop(file.task.path)
        batch = self._in_hand[at]
        batch.read.append(file)
        if len(batch.read) == batch.files:
            began = time.monotonic()
            finish(at, batch.read)
            self._is_quick = time.monotonic() - began <= AHEAD_SECONDS
            del self._in_hand[at]
