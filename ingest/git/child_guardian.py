"""Git processes end with ours, even if ours is killed: a small shell then ends their process groups.

It also removes the folder in which we keep what git is to read for a moment.

The kernel closes our end of the shell's input when we die, in whatever way. The system's own means to the same end
(``PR_SET_PDEATHSIG``) is bound to the thread that started the process, and Linux alone has it.
"""

import atexit
import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

# Reads `+ GROUP` and `- GROUP`; at the end of its input it ends the groups that are left, and removes our folder.
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
rm -rf -- "$1"
"""


@dataclass(slots=True)
class Guardian:
    """The shell of one process of ours, started when git runs for the first time."""

    _shell: subprocess.Popen[bytes] | None = None
    _folder: str = ""
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

    def folder(self) -> str:
        """Return a folder of our user alone, which goes when this process does."""
        with self._lock:
            self._own_shell()
            return self._folder

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
            self._folder = tempfile.mkdtemp(prefix="codequarry-git-")
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", SCRIPT, "sh", self._folder],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
                env={"PATH": os.defpath},
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
