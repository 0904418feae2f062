"""Runs git, ends it if this process ends, and turns its errors into one line that says what to do.

Only git's transport (``upload-pack``, which git keeps safe for this) reads a foreign repository; every other command
reads our own mirror. The process that reads files imports this module, which therefore loads no settings.
"""

import os
import re
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from codequarry.ingest.git.child_guardian import GUARDIAN
from codequarry.shared.errors import GitError, LimitExceeded
from codequarry.shared.stop_request import LOOK_SECONDS, check_stop

# git starts once its process group is watched, and never if this process dies first. A command that is given data does
# not wait, because it ends with its input. The memory limit also applies to git's children, but not to mapped files.
BEGIN_WHEN_WATCHED = (
    "/bin/sh",
    "-c",
    'ulimit -d "${GIT_DATA_KILOBYTES:-unlimited}" 2>&-; read -r go || exit 1; exec "$0" "$@" </dev/null',
)
GO = b"go\n"
# A shell's exit code for a command that does not exist.
NOT_FOUND = 127
_READ_BYTES = 65_536
# Bytes of a stream that are read at a time.
STREAM_BYTES = 1 << 20
NO_GIT = "git is not installed, or not in PATH"
_ACCOUNT_IN_URL = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_SET_TOKEN = "set CODEQUARRY_GIT__TOKEN, or (needed if a request named the origin) the host's token in [git.tokens]"
# Part of git's message when it runs out of memory; also sent by the git that serves a local origin.
_NO_MEMORY = b"ut of memory"
# The git that serves an origin reports which object it lacks; the git that fetches reports only that the other died.
_SERVER_DIED = "died with error"
_REMOTE = "remote: "
_REMOTE_ERRORS = (f"{_REMOTE}fatal:", f"{_REMOTE}error:")
_HINTS = (
    ("No space left on device", "the disk is full; free some space and run again"),
    ("Authentication failed", _SET_TOKEN),
    ("could not read Username", f"the server requires credentials: {_SET_TOKEN}"),
    ("Permission denied (publickey", "no SSH key was accepted; load a key into ssh-agent or set [git] ssh_command"),
    ("Host key verification failed", "connect once manually with ssh, so that the host's key is known"),
    ("certificate", "if its CA is private, set [git] ca_file"),
    ("Could not resolve host", "check the URL and the network"),
)


@dataclass(frozen=True, slots=True)
class SizeLimit:
    """The maximum size of a folder, in bytes."""

    folder: Path
    most_bytes: int

    def check(self) -> None:
        """Raise LimitExceeded if the folder is larger."""
        if folder_bytes(self.folder) > self.most_bytes:
            megabytes = self.most_bytes // 1_000_000
            raise LimitExceeded(f"the repository is larger than {megabytes} MB ([git] max_repository_bytes)")


def folder_bytes(folder: Path) -> int:
    """Return the total size of the files below a folder, in bytes; a file that vanishes meanwhile counts as 0."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(parent, name)).st_size  # noqa: PTH118 - thousands of files
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
    """Run git with ``data`` as its input and return its output; the GitError for a failure begins with ``what``.

    Without ``data``, ``on_tick`` is called every ``LOOK_SECONDS`` while git runs. If it raises an exception, git ends,
    as it does on a request to stop the run. git has its own process group, so that a timeout or Ctrl-C also ends its
    helpers. It inherits the descriptors ``keep_open``: a lock lasts until the last process that holds it ends.
    """
    command = ("git", *arguments)
    process = _start(command if data is not None else (*BEGIN_WHEN_WATCHED, *command), environment, keep_open)
    try:
        with GUARDIAN.watching(process.pid):
            if data is None:
                _begin(process)
            output, complaint = _communicate(process, data, timeout, on_tick)
    except subprocess.TimeoutExpired:
        _end(process)
        raise GitError(
            f"{what}: no answer within {timeout:g} s; [git] clone_timeout_seconds sets the limit for fetches"
        ) from None
    except BaseException:
        _end(process)
        raise
    _check_exit(process.returncode, complaint, what)
    return output


@dataclass(frozen=True, slots=True)
class BoundedOutput:
    """The output of a command, of which only the beginning was read if it was ``stopped`` by a limit."""

    output: bytes
    stopped: Literal["", "time", "size"] = ""


def run_git_bounded(
    arguments: Sequence[str], environment: Mapping[str, str], seconds: float, most_bytes: int, *, what: str
) -> BoundedOutput:
    """Run git until it ends, ``seconds`` have passed or it has written ``most_bytes``; raise errors like ``run_git``.

    What git wrote before it was stopped is returned, for commands that write the most wanted lines first. Without any
    time, git is not started: it could still be fast enough to write something, or not.
    """
    if seconds <= 0:
        return BoundedOutput(b"", "time")
    process = _start((*BEGIN_WHEN_WATCHED, "git", *arguments), environment)
    assert process.stdout is not None and process.stderr is not None, "git was started with pipes"
    written: dict[int, bytearray] = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    output, complaint = written.values()
    stopped: Literal["", "time", "size"] = ""
    try:
        with GUARDIAN.watching(process.pid):
            _begin(process)
            deadline = time.monotonic() + seconds
            reading = set(written)
            while reading and not stopped:
                left = deadline - time.monotonic()
                for descriptor in select.select(list(reading), [], [], max(0.0, min(left, LOOK_SECONDS)))[0]:
                    data = os.read(descriptor, _READ_BYTES)
                    written[descriptor] += data
                    if not data:
                        reading.remove(descriptor)
                check_stop()
                if len(output) > most_bytes or len(complaint) > most_bytes:
                    stopped = "size"
                elif reading and left <= 0:
                    stopped = "time"
            if not stopped:
                process.wait()
    except BaseException:
        _end(process)
        raise
    _end(process)
    if not stopped:
        _check_exit(process.returncode, bytes(complaint), what)
    return BoundedOutput(bytes(output[:most_bytes]), stopped)


def stream_git(
    arguments: Sequence[str], environment: Mapping[str, str], *, what: str, most_bytes: int, seconds: float
) -> Iterator[bytes]:
    """Run git and yield its output piece by piece; the GitError for a failure begins with ``what``.

    Raise LimitExceeded after ``most_bytes`` of output, or ``seconds`` of waiting for git; the time in which the caller
    uses a piece does not count. git ends with the iterator.
    """
    with tempfile.TemporaryFile() as complaints:
        process = _start((*BEGIN_WHEN_WATCHED, "git", *arguments), environment, complaints=complaints)
        assert process.stdout is not None, "git was started with a pipe"
        try:
            with GUARDIAN.watching(process.pid), process.stdout as output:
                _begin(process)
                yield from _pieces(output.fileno(), what, most_bytes, seconds)
                process.wait()
        finally:
            if process.returncode is None:
                _kill(process)
                process.wait()
        complaints.seek(0)
        _check_exit(process.returncode, complaints.read(STREAM_BYTES), what)


def _pieces(descriptor: int, what: str, most_bytes: int, seconds: float) -> Iterator[bytes]:
    written, waited = 0, 0.0
    while True:
        began = time.monotonic()
        ready = select.select([descriptor], [], [], LOOK_SECONDS)[0]
        piece = os.read(descriptor, STREAM_BYTES) if ready else b""
        waited += time.monotonic() - began
        check_stop()
        if ready and not piece:
            return
        written += len(piece)
        if written > most_bytes:
            raise LimitExceeded(f"{what}: git wrote more than {most_bytes:,} bytes")
        if waited > seconds:
            raise LimitExceeded(f"{what}: git took longer than {seconds:g} s")
        if piece:
            yield piece


def _start(
    command: Sequence[str],
    environment: Mapping[str, str],
    keep_open: Sequence[int] = (),
    *,
    complaints: int | IO[bytes] = subprocess.PIPE,
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            env=dict(environment),
            start_new_session=True,
            pass_fds=tuple(keep_open),
        )
    except FileNotFoundError:
        raise GitError(NO_GIT) from None


def _check_exit(code: int, complaint: bytes, what: str) -> None:
    """Raise the error of a command that failed."""
    if code == NOT_FOUND:
        raise GitError(NO_GIT)
    if code:
        if _NO_MEMORY in complaint:
            raise LimitExceeded(f"{what}: git needs more memory than [git] memory_bytes allows")
        raise GitError(f"{what}: {explain(complaint)}")


def _begin(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None, "git was started with a pipe"
    stdin, process.stdin = process.stdin, None
    with suppress(BrokenPipeError), stdin:
        stdin.write(GO)


def _communicate(
    process: subprocess.Popen[bytes], data: bytes | None, timeout: float | None, on_tick: Callable[[], None] | None
) -> tuple[bytes, bytes]:
    if data is not None:  # Popen can't continue to send input after a timeout
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
    """Kill the process and everything it started, and wait for its end."""
    _kill(process)
    process.communicate()


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()


def explain(complaint: bytes) -> str:
    """Return git's error output as one line without credentials, with a hint if there is one."""
    text = _ACCOUNT_IN_URL.sub("***", complaint.decode(errors="replace"))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("fatal:", "error:", "ssh:"))] or lines[-1:]
    if telling and _SERVER_DIED in telling[0]:
        telling = [line.removeprefix(_REMOTE) for line in lines if line.startswith(_REMOTE_ERRORS)] or telling
    message = telling[0].partition(": ")[2] if telling else "git failed without a message"
    hint = next((hint for symptom, hint in _HINTS if symptom in text), "")
    return f"{message}; {hint}" if hint else message
