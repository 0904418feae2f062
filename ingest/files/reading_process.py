"""The process that reads and cuts files for an indexing run: tasks come in by its input, results go out by its output.

It is a program of its own, not a fork: threads and database handles of the parent stay out of it, and a parent that
dies, in whatever way, closes its input and so ends it.
"""

import contextlib
import os
import pickle
import signal
import sys
from dataclasses import dataclass
from typing import BinaryIO

from codequarry.ingest.files.process_limits import limit_memory
from codequarry.ingest.files.reader import FileReader, ReadingRules
from codequarry.ingest.git.objects import Mirror
from codequarry.shared.errors import CodequarryError

# The slowest real file of the largest allowed size takes a second. In seconds of processor time, so that a busy
# machine changes no verdict.
FILE_SECONDS = 30.0
# By the clock, for what waits without computing: a busy machine gives a process more than a tenth of a processor.
CLOCK_FACTOR = 10
MEMORY_BYTES = 2_000_000_000
READY = "ready"


@dataclass(frozen=True, slots=True)
class ReadingOrder:
    """What a worker needs to know before the first task."""

    mirror: Mirror
    rules: ReadingRules
    memory_bytes: int = MEMORY_BYTES
    file_seconds: float = FILE_SECONDS


def main() -> None:
    """Read tasks until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    inbox, outbox = _channels()
    assignment: ReadingOrder = pickle.load(inbox)
    limit_memory(assignment.memory_bytes)
    reader = FileReader(assignment.mirror, assignment.rules)
    _send(outbox, READY)
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            for task in pickle.load(inbox):
                _give_time(assignment.file_seconds)
                try:
                    result: object = reader.read(task)
                except CodequarryError as error:
                    result = error
                _give_time(0)
                _send(outbox, result)


def _give_time(seconds: float) -> None:
    """Have the system end this process when the time is up: a loop inside a grammar hears no exception."""
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, seconds * CLOCK_FACTOR)


def _channels() -> tuple[BinaryIO, BinaryIO]:
    """Keep the output for results: whatever else prints goes to the error output."""
    outbox = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return sys.stdin.buffer, outbox


def _send(outbox: BinaryIO, result: object) -> None:
    pickle.dump(result, outbox, protocol=pickle.HIGHEST_PROTOCOL)
    outbox.flush()


if __name__ == "__main__":
    main()
