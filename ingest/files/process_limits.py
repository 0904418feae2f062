"""What a process that reads a stranger's repository may use. It sets these limits itself, before it reads anything."""

import resource
from contextlib import suppress


def limit_memory(most_bytes: int) -> None:
    """Let this process, and each that it starts, have so much memory of its own; asking for more is a MemoryError.

    RLIMIT_DATA and not RLIMIT_AS: git maps whole packs, and grammars are mapped too, which costs address space alone.
    """
    _limit(resource.RLIMIT_DATA, most_bytes)
    # A core dump of it would hold the repository.
    _limit(resource.RLIMIT_CORE, 0)


def limit_processor(most_seconds: int) -> None:
    """Have the system end this process, and each that it starts, after so many seconds of processor time."""
    _limit(resource.RLIMIT_CPU, most_seconds)


def _limit(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    # macOS refuses some of these limits; there the limits of time remain.
    with suppress(ValueError, OSError):
        resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
