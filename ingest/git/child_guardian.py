"""Ends git processes when this process ends, even if it is killed: a small shell then kills their process groups.

The shell also removes our folder of temporary files for git. The kernel closes our end of the shell's input when this
process dies, in whatever way. ``PR_SET_PDEATHSIG`` is the system's own mechanism for this, but it depends on the thread
that started the process and exists only on Linux.
"""

import atexit
import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

# Reads `+ GROUP` and `- GROUP`; at the end of its input it kills the remaining groups and removes our folder.
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
    """The guarding shell of this process, started when git first runs."""

    _shell: subprocess.Popen[bytes] | None = None
    _folder: str = ""
    _owner: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def watching(self, group: int) -> Iterator[None]:
        """Have a process group killed if this process ends before the block does."""
        self._tell(b"+ %d\n" % group)
        try:
            yield
        finally:
            self._tell(b"- %d\n" % group)

    def folder(self) -> str:
        """Return a folder that only our user can read and that is deleted when this process ends."""
        with self._lock:
            self._own_shell()
            return self._folder

    def close(self) -> None:
        """End the shell and every group that it still watches."""
        with self._lock:
            shell, self._shell = self._shell, None
            if shell and self._owner == os.getpid():
                _close(shell)

    def _tell(self, line: bytes) -> None:
        with self._lock:
            try:
                _write(self._own_shell(), line)
            except BrokenPipeError:  # the shell was killed: a new shell watches groups from now on
                if self._shell:
                    _close(self._shell)
                self._shell = None
                _write(self._own_shell(), line)

    def _own_shell(self) -> subprocess.Popen[bytes]:
        """Return the shell, starting it if necessary; a process forked from ours starts its own."""
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
    assert shell.stdin is not None, "the shell was started with a pipe"
    os.write(shell.stdin.fileno(), line)


def _close(shell: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):
        if shell.stdin:
            shell.stdin.close()
    shell.wait()


GUARDIAN = Guardian()
atexit.register(GUARDIAN.close)
