"""The process that lists a version's files and judges their paths: it takes one order and answers with files.

It is a separate program, so that it can be killed at any point, even in a tree of 10¹⁰ paths or a hostile ignore file.
It starts in less than 0.1 s because it loads neither settings nor grammars.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path

from codequarry.ingest.files.attributes import AttributeFiles
from codequarry.ingest.files.process_limits import limit_memory, limit_processor
from codequarry.ingest.files.scan import FileTask, PathRules
from codequarry.ingest.git.attribute_files import is_attribute_file, read_attribute_files
from codequarry.ingest.git.trees import MOST_ATTRIBUTE_FILES, TreeEntry, check_count, list_surveyed, survey_tree
from codequarry.shared.errors import CodequarryError, LimitExceeded

# Large enough to make the handover cheap, small enough to notice a stop request between batches.
BATCH_FILES = 2_000


@dataclass(frozen=True, slots=True)
class ListingOrder:
    """A version to list: a commit of a mirror, or the ``entries`` of a working tree."""

    folder: Path
    environment: Mapping[str, str] = field(repr=False)
    commit: str
    rules: PathRules
    most_paths: int
    entries: tuple[TreeEntry, ...] | None = None


def decided_files(order: ListingOrder) -> Iterator[FileTask]:
    """Yield a version's files with decisions based on their paths; if there are too many, raise LimitExceeded first."""
    place = order.folder, order.environment
    if order.entries is None:
        found = survey_tree(*place, order.commit, order.most_paths)
        entries = list_surveyed(*place, order.commit)
    else:
        check_count(len(order.entries), order.most_paths)
        found = list(filter(is_attribute_file, order.entries))[:MOST_ATTRIBUTE_FILES]
        entries = iter(order.entries)
    attributes = AttributeFiles(read_attribute_files(*place, found))
    return (order.rules.decide(entry, attributes.of(entry.path)) for entry in entries)


def main() -> None:
    """Execute one order within the memory (bytes) and processor time (seconds) that the arguments allow."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    memory, seconds = map(int, sys.argv[1:])
    limit_memory(memory)
    limit_processor(seconds)
    # The output is for results only; anything else that is printed goes to stderr.
    inbox, outbox = Connection(os.dup(0), writable=False), Connection(os.dup(1), readable=False)
    os.dup2(2, 1)
    with suppress(EOFError, BrokenPipeError):  # the run has ended
        _execute(inbox, outbox, memory)


def _execute(inbox: Connection, outbox: Connection, memory: int) -> None:
    try:
        order = inbox.recv()
        threading.Thread(target=_end_with_parent, args=(inbox,), daemon=True).start()
        files = decided_files(order)
        while batch := list(islice(files, BATCH_FILES)):
            outbox.send(batch)
        outbox.send(None)
    except CodequarryError as error:
        outbox.send(error)
    except MemoryError:
        what = f"listing its files takes more than {memory // 1_000_000} MB"
        outbox.send(LimitExceeded(f"{what} ([indexing] process_memory_bytes)"))


def _end_with_parent(inbox: Connection) -> None:
    """Kill this process and its git when the pipe closes, which happens only when the run's process has ended."""
    with suppress(EOFError, OSError):
        inbox.recv()
    os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    main()
