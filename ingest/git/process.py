"""Running git: watched, ended with us, and its complaints turned into one line that says what to do.

Only git's transport reads a foreign repository (``upload-pack``, which git keeps safe for that); all else reads our
own mirror. This module is imported by the process that reads files: it loads no settings.
"""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from codequarry.ingest.git.child_guardian import GUARDIAN
from codequarry.shared.errors import GitError, LimitExceeded
from codequarry.shared.stop_request import LOOK_SECONDS, check_stop

# git begins when its group is watched, and never if we die before that. What gets data ends where these end.
# What it starts has its limit of memory; of memory that files are mapped to, there may be more.
BEGIN_WHEN_WATCHED = (
    "/bin/sh",
    "-c",
    'ulimit -d "${GIT_DATA_KILOBYTES:-unlimited}" 2>&-; read -r go || exit 1; exec "$0" "$@" </dev/null',
)
GO = b"go\n"
# What a shell returns for a command that there is not.
NOT_FOUND = 127
NO_GIT = "git is not installed, or not in PATH"
_ACCOUNT_IN_URL = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_SET_TOKEN = "set CODEQUARRY_GIT__TOKEN or, needed where a request named the origin, the host's token in [git.tokens]"
# What git says when it gets no more memory; so does one that reads a local origin for ours.
_NO_MEMORY = b"ut of memory"
_HINTS = (
    ("No space left on device", "the disk is full; free some space and run again"),
    ("Authentication failed", _SET_TOKEN),
    ("could not read Username", f"it wants an account: {_SET_TOKEN}"),
    ("Permission denied (publickey", "no SSH key is accepted; load one into ssh-agent or set [git] ssh_command"),
    ("Host key verification failed", "connect once with ssh by hand, so that the host's key is known"),
    ("certificate", "if its CA is a private one, set [git] ca_file"),
    ("Could not resolve host", "check the URL and the network"),
)


@dataclass(frozen=True, slots=True)
class SizeLimit:
    """How large a folder may grow, in bytes."""

    folder: Path
    most_bytes: int

    def check(self) -> None:
        """Raise LimitExceeded if the folder is larger."""
        if folder_bytes(self.folder) > self.most_bytes:
            megabytes = self.most_bytes // 1_000_000
            raise LimitExceeded(f"the repository is larger than {megabytes} MB ([git] max_repository_bytes)")


def folder_bytes(folder: Path) -> int:
    """Return how many bytes the files below a folder have; one that vanishes meanwhile counts for nothing."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += (Path(parent) / name).lstat().st_size
    return total


def run_git(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    timeout: float | None = None,
    *,
    what: str,
    keep_open: Sequence[int] = (),
    data: bytes | None = None,
    on_tick: Callable[[], None] | None = None,
) -> bytes:
    """Run git, with ``data`` as its input, and return its output; GitError says ``what`` failed and what to do.

    ``attend`` is called every moment while it runs, unless there are data; what it raises ends the process. So does the
    end of the run.

    The process has a group of its own, so that a timeout or Ctrl-C also ends the helpers it started. ``keep_open`` are
    file descriptors that it inherits: a lock then lives as long as the longest-lived of them.
    """
    command = ("git", *arguments)
    try:
        process = subprocess.Popen(
            command if data is not None else (*BEGIN_WHEN_WATCHED, *command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            start_new_session=True,
            pass_fds=tuple(keep_open),
        )
    except FileNotFoundError:
        raise GitError(NO_GIT) from None
    try:
        with GUARDIAN.watching(process.pid):
            if data is None:
                _begin(process)
            output, complaint = _communicate(process, data, timeout, on_tick)
    except subprocess.TimeoutExpired:
        _end(process)
        raise GitError(
            f"{what}: no answer within {timeout:g} s; for fetches [git] clone_timeout_seconds sets that"
        ) from None
    except BaseException:
        _end(process)
        raise
    if process.returncode == NOT_FOUND:
        raise GitError(NO_GIT)
    if process.returncode:
        if _NO_MEMORY in complaint:
            raise LimitExceeded(f"{what}: git needs more memory than [git] memory_bytes allows")
        raise GitError(f"{what}: {explain(complaint)}")
    return output


def _begin(process: subprocess.Popen[bytes]) -> None:
    """Give the sign to begin; the input ends with it."""
    assert process.stdin is not None, "it was started with a pipe"
    stdin, process.stdin = process.stdin, None
    with suppress(BrokenPipeError), stdin:
        stdin.write(GO)


def _communicate(
    process: subprocess.Popen[bytes], data: bytes | None, timeout: float | None, on_tick: Callable[[], None] | None
) -> tuple[bytes, bytes]:
    if data is not None:  # Popen can't go on with its input after a look
        return process.communicate(data, timeout=timeout)
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        try:
            return process.communicate(timeout=LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            check_stop()
            if on_tick:
                on_tick()
            if deadline is not None and time.monotonic() > deadline:
                raise


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and everything it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()
    process.communicate()


def explain(complaint: bytes) -> str:
    """Turn git's error output into one line without accounts, with a hint where one is known."""
    text = _ACCOUNT_IN_URL.sub("***", complaint.decode(errors="replace"))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("fatal:", "error:", "ssh:"))] or lines[-1:]
    message = telling[0].partition(": ")[2] if telling else "git failed without a message"
    hint = next((hint for symptom, hint in _HINTS if symptom in text), "")
    return f"{message}; {hint}" if hint else message
