"""The process that reads and chunks files for an indexing run: it takes tasks from its input and writes results out.

It is a separate program, not a fork, so it has no threads and database handles of the parent. If the parent dies, in
whatever way, its input closes, which ends it.
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

# Seconds of processor time, so that a busy machine changes no verdict. The slowest real file of allowed size takes one.
FILE_SECONDS = 30.0
# The limit by the clock, for a process that only waits: even a busy machine gives it more than a tenth of a processor.
CLOCK_FACTOR = 10
MEMORY_BYTES = 2_000_000_000
READY = "ready"


@dataclass(frozen=True, slots=True)
class ReadingOrder:
    """What a reading process must know before the first task."""

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
    """Have the system kill this process when the time is up: an exception can't interrupt a loop inside a grammar."""
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, seconds * CLOCK_FACTOR)


def _channels() -> tuple[BinaryIO, BinaryIO]:
    """Return the input and the output, which is for results only: everything else that prints goes to stderr."""
    outbox = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return sys.stdin.buffer, outbox


def _send(outbox: BinaryIO, result: object) -> None:
    pickle.dump(result, outbox, protocol=pickle.HIGHEST_PROTOCOL)
    outbox.flush()


if __name__ == "__main__":
    main()
