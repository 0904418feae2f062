"""How the process takes memory from the system and gives it back: for a service that stays up for weeks."""

import ctypes
import sys

# glibc gives every thread an arena of its own, up to eight a processor, and each keeps what it once needed. Two are
# enough where threads wait for each other's Python code anyway.
_ARENAS = 2
# Larger blocks are mapped, and go back to the system when they are freed. By itself glibc raises this bound to 32 MB
# as such blocks are freed, and from then on arrays of rows leave holes that only arrays no larger can fill.
_MAPPED_FROM = 256 * 1024
# mallopt(3)
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8


def keep_memory_flat() -> bool:
    """Have freed arrays go back to the system; call it before threads start. False where the C library is not glibc.

    Fifty clients for five minutes while rows are added: docs/measurements.md.
    """
    if not sys.platform.startswith("linux"):
        return False
    library = ctypes.CDLL(None)
    if not hasattr(library, "gnu_get_libc_version"):
        return False
    return bool(library.mallopt(_M_ARENA_MAX, _ARENAS)) and bool(library.mallopt(_M_MMAP_THRESHOLD, _MAPPED_FROM))
