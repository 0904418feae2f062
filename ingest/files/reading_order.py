"""What a reading process is told, and the limits under which it reads."""

from dataclasses import dataclass

from codequarry.ingest.files.read_file import ReadingRules
from codequarry.ingest.git.objects import Mirror

# Seconds of processor time, so that a busy machine changes no verdict. The slowest real file of allowed size takes 1 s.
FILE_SECONDS = 30.0
# Factor for wall-clock time, to end a process that only waits. Even a busy machine grants over a tenth of a processor.
CLOCK_FACTOR = 10
MEMORY_BYTES = 2_000_000_000
READY = "ready"


@dataclass(frozen=True, slots=True)
class ReadingOrder:
    """What a reading process needs to know before its first task."""

    mirror: Mirror
    rules: ReadingRules
    memory_bytes: int = MEMORY_BYTES
    file_seconds: float = FILE_SECONDS
