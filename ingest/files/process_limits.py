"""Limits that a process sets on itself before it reads an untrusted repository."""

import resource
from contextlib import suppress


def limit_memory(most_bytes: int) -> None:
    """Limit the memory of this process and of each process that it starts; asking for more raises MemoryError.

    The limit is RLIMIT_DATA, not RLIMIT_AS: mapped files, such as git's packs and the grammars, use only address space.
    """
    _limit(resource.RLIMIT_DATA, most_bytes)
    # A core dump would contain repository data.
    _limit(resource.RLIMIT_CORE, 0)


def limit_processor(most_seconds: int) -> None:
    """Have the system end this process, and each process that it starts, after ``most_seconds`` of processor time."""
    _limit(resource.RLIMIT_CPU, most_seconds)


def _limit(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    # macOS refuses some of these limits; the time limits still apply.
    with suppress(ValueError, OSError):
        resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
