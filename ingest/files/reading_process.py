"""The process that reads and chunks files for an indexing run: it takes tasks from its input and outputs results.

It is a separate program, not a fork, so it inherits no threads or database handles. If the parent dies, in whatever
way, this process's input closes, which ends it.
"""

import contextlib
import os
import pickle
import signal
import sys
from typing import BinaryIO

from codequarry.ingest.files.process_limits import limit_memory
from codequarry.ingest.files.reader import FileReader
from codequarry.ingest.files.reading_order import CLOCK_FACTOR, READY, ReadingOrder
from codequarry.shared.cyclic_garbage import search_garbage_rarely
from codequarry.shared.errors import CodequarryError


def main() -> None:
    """Read tasks until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    search_garbage_rarely()
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
    """Have the system kill this process when time is up, as an exception can't interrupt a loop inside a grammar."""
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, seconds * CLOCK_FACTOR)


def _channels() -> tuple[BinaryIO, BinaryIO]:
    """Return the input and the output, which is for results only; anything else that is printed goes to stderr."""
    outbox = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return sys.stdin.buffer, outbox


def _send(outbox: BinaryIO, result: object) -> None:
    pickle.dump(result, outbox, protocol=pickle.HIGHEST_PROTOCOL)
    outbox.flush()


if __name__ == "__main__":
    main()
