"""Git processes end with ours, even if ours is killed: a small shell then ends their process groups.

The kernel closes our end of the shell's input when we die, in whatever way. The system's own means to the same end
(``PR_SET_PDEATHSIG``) is bound to the thread that started the process, and Linux alone has it.
"""

import atexit
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

# Reads `+ GROUP` and `- GROUP`; at the end of its input it ends the groups that are left.
SCRIPT = """\
trap '' HUP INT TERM
groups=
while read -r sign group; do
  kept=
  for one in $groups; do [ "$one" = "$group" ] || kept="$kept $one"; done
  groups=$kept
  [ "$sign" = + ] && groups="$groups $group"
done
for one in $groups; do kill -KILL "-$one"; done
"""


@dataclass(slots=True)
class Guardian:
    """The shell of one process of ours, started when git runs for the first time."""

    _shell: subprocess.Popen[bytes] | None = None
    _owner: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def watching(self, group: int) -> Iterator[None]:
        """Have a process group ended if this process ends before the block does."""
        self._tell(b"+ %d\n" % group)
        try:
            yield
        finally:
            self._tell(b"- %d\n" % group)

    def close(self) -> None:
        """End the shell, and every group that it still watches."""
        with self._lock:
            shell, self._shell = self._shell, None
            if shell and self._owner == os.getpid():
                _close(shell)

    def _tell(self, line: bytes) -> None:
        with self._lock:
            try:
                _write(self._own_shell(), line)
            except BrokenPipeError:  # somebody ended the shell: a new one watches what is started from now on
                if self._shell:
                    _close(self._shell)
                self._shell = None
                _write(self._own_shell(), line)

    def _own_shell(self) -> subprocess.Popen[bytes]:
        """Return the shell; a process that was forked from ours has one of its own."""
        if self._shell is None or self._owner != os.getpid():
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", SCRIPT],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
                env={},
                bufsize=0,
            )
            self._owner = os.getpid()
        return self._shell


def _write(shell: subprocess.Popen[bytes], line: bytes) -> None:
    assert shell.stdin is not None, "it was started with a pipe"
    os.write(shell.stdin.fileno(), line)


def _close(shell: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):
        if shell.stdin:
            shell.stdin.close()
    shell.wait()


GUARDIAN = Guardian()
atexit.register(GUARDIAN.close)
