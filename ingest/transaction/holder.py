"""Who holds a lease: a name from which a process on the same machine sees at once whether the holder still runs."""

import os
import socket
from pathlib import Path
from uuid import uuid4

# The holder of a lease that was given back with its transaction still open: anyone may take it over at once.
NO_HOLDER = ""
# Leases that this very process holds: its own id says nothing about a run that failed in it before.
_AT_WORK: set[str] = set()


def new_holder() -> str:
    """Return a new name for this process and mark it as at work; ``retire_holder`` ends that."""
    pid = os.getpid()
    holder = f"{socket.gethostname()} {_machine()} {pid} {_started(pid) or '-'} {uuid4().hex[:12]}"
    _AT_WORK.add(holder)
    return holder


def retire_holder(holder: str) -> None:
    """Say that no run of this process goes by this name any more."""
    _AT_WORK.discard(holder)


def has_ended(holder: str) -> bool:
    """Tell whether the holder is known to work no more; False when that can't be known from here."""
    if holder == NO_HOLDER:
        return True
    host, machine, pid, started, *_ = holder.split(" ") if holder.count(" ") == 4 else [""] * 5
    if (host, machine) != (socket.gethostname(), _machine()):
        return False
    if int(pid) == os.getpid() and started == (_started(os.getpid()) or "-"):
        return holder not in _AT_WORK
    return _is_other_gone(int(pid), started)


def describe_holder(holder: str) -> str:
    """Return the holder in words."""
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
    """Return what tells this running system, and this container in it, from others: pids mean nothing elsewhere."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return "-"


def _started(pid: int) -> str | None:
    """Return when a process started, in ticks since boot, so that a reused pid is noticed; None where unknown.

    A zombie, dead but not yet waited for, started never.
    """
    try:
        # The second field is the program's name in parentheses, which may hold spaces and parentheses itself.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return "never" if fields[0] in "ZX" else fields[19]
