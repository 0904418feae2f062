"""Names of lease holders: a process on the same machine can tell from the name whether the holder is still running."""

import os
import socket
from pathlib import Path
from uuid import uuid4

# The holder of a lease that was released with its transaction still open: any run may take it over at once.
NO_HOLDER = ""
# Names in use in this process; its pid does not show whether an earlier run in it has failed.
_IN_USE: set[str] = set()


def new_holder() -> str:
    """Return a new name for this process, and mark the name as in use until ``retire_holder``."""
    pid = os.getpid()
    holder = f"{socket.gethostname()} {_machine()} {pid} {_started(pid) or '-'} {uuid4().hex[:12]}"
    _IN_USE.add(holder)
    return holder


def retire_holder(holder: str) -> None:
    """Mark a name as no longer used by a run in this process."""
    _IN_USE.discard(holder)


def has_ended(holder: str) -> bool:
    """Return whether the holder is known to have ended; False if this machine can't tell."""
    if holder == NO_HOLDER:
        return True
    host, machine, pid, started, *_ = holder.split(" ") if holder.count(" ") == 4 else [""] * 5
    if (host, machine) != (socket.gethostname(), _machine()):
        return False
    if int(pid) == os.getpid() and started == (_started(os.getpid()) or "-"):
        return holder not in _IN_USE
    return _is_other_gone(int(pid), started)


def describe_holder(holder: str) -> str:
    """Return a readable description of the holder for messages."""
    host, _, pid, *_ = holder.split(" ") if holder.count(" ") == 4 else [holder, "", "", ""]
    return f"process {pid} on {host}" if pid else host or "nobody"


def _is_other_gone(pid: int, started: str) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    now = _started(pid)
    return now is not None and started != "-" and now != started


def _machine() -> str:
    """Return an id of this boot and pid namespace: pids mean nothing outside them."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return "-"


def _started(pid: int) -> str | None:
    """Return a process's start in ticks since boot, to detect a reused pid; None if unknown, "never" for a zombie."""
    try:
        # The second field is the program's name in parentheses, which may itself contain spaces and parentheses.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return "never" if fields[0] in "ZX" else fields[19]
