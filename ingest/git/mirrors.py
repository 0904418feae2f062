"""The mirrors on this machine: their folders, git's environment for using them, and the lock for changing them."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from codequarry.ingest.git.environment import CONFIGURATION, git_environment
from codequarry.ingest.git.local import LocalRepository, repository_at
from codequarry.ingest.git.objects import Mirror
from codequarry.ingest.git.origins import Origin
from codequarry.ingest.git.process import SizeLimit, run_git
from codequarry.ingest.git.view import served_view
from codequarry.shared.data_folder import FILE_MODE, check_private, private_folder
from codequarry.shared.errors import GitError
from codequarry.shared.repositories.mirror_folders import mirror_folder, mirrors_folder
from codequarry.shared.settings.git import GitSettings
from codequarry.shared.stop_request import check_stop

SHA256_HEX = 64
FETCHING = "fetching"
# Seconds between attempts to take a lock that another fetch holds.
LOCK_LOOK_SECONDS = 0.1
# Suffix of the file beside each mirror with the catalog's record of the repository (``ingest/run/mirror_entry.py``).
ENTRY = ".entry"
# Suffix of a file beside each mirror: readers share its lock, a removal holds it exclusively; mtime is the last use.
USED = ".used"
# No process id has more digits.
PID_BYTES = 20


def ignore_message(_: str) -> None:
    """Report nothing."""


@dataclass(frozen=True, slots=True)
class RemoteAccess:
    """How git reaches an origin, and the mirror that it fetches into; ``say`` reports what the run is waiting for."""

    origin: Origin
    mirror: Mirror
    settings: GitSettings
    environment: dict[str, str]
    say: Callable[[str], None] = ignore_message

    @contextmanager
    def address(self) -> Iterator[str]:
        """Yield the address for git to fetch from: the URL, or a view of a repository on this machine."""
        if self.origin.host:
            yield self.origin.url
            return
        with served_view(self._repository(), self.settings.alternates) as view:
            yield str(view)

    def _repository(self) -> LocalRepository:
        return repository_at(Path(self.origin.url), self.mirror.environment)

    def checkout(self) -> LocalRepository | None:
        """Return the repository if it is on this machine and has a working tree; raise GitError if it is not usable."""
        repository = None if self.origin.host else self._repository()
        return repository if repository and repository.top else None

    def git(self, *arguments: str, what: str, timeout: float, keep_open: tuple[int, ...] = ()) -> bytes:
        """Run a git command that talks to the origin; raise LimitExceeded if the mirror grows too large."""
        most = self.settings.max_repository_bytes
        limit = SizeLimit(self.mirror.folder, most) if most else None

        def on_tick() -> None:
            self.say(FETCHING)  # may raise to end a clone, which can take an hour
            if limit:
                limit.check()

        output = run_git(arguments, self.environment, timeout, what=what, keep_open=keep_open, on_tick=on_tick)
        if limit:
            limit.check()
        return output

    @contextmanager
    def locked(self) -> Iterator[int]:
        """Hold the mirror's lock file, and delete what a killed fetch left behind.

        The lock lasts until the last process that inherited it ends, such as a fetch that outlived its killed parent.
        """
        folder = self.mirror.folder
        descriptor = self._lock()
        try:
            # A process that is waiting for the lock reports this process id.
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
            for pattern in ("*.lock", "refs/**/*.lock", "objects/pack/tmp_*", "objects/pack/*.lock"):
                for leftover in folder.glob(pattern):
                    leftover.unlink(missing_ok=True)
            yield descriptor
        finally:
            os.close(descriptor)

    def _lock(self) -> int:
        """Return the locked lock file, reopening it if it was removed during the wait."""
        path = self.mirror.folder.with_suffix(".lock")
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                self._wait_for_lock(descriptor)
                with suppress(FileNotFoundError):
                    if os.path.samestat(path.stat(), os.fstat(descriptor)):
                        return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)

    def _wait_for_lock(self, descriptor: int) -> None:
        timeout = self.settings.clone_timeout_seconds
        deadline = time.monotonic() + timeout
        told = ""
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                pid = os.pread(descriptor, PID_BYTES, 0).decode()
            other = f"another fetch, by process {pid}" if pid else "another fetch"
            if time.monotonic() > deadline:
                raise GitError(
                    f"{self.origin.url} could not be fetched: {other} has been working on {self.mirror.folder} for "
                    f"{timeout:g} s; wait for it or stop it"
                ) from None
            if other != told:
                self.say(f"waiting for {other}")
                told = other
            check_stop()
            time.sleep(LOCK_LOOK_SECONDS)
        if told:
            self.say(FETCHING)

    def make(self, commit: str) -> None:
        """Create the mirror in the object format of ``commit``, or complete a half-created mirror."""
        object_format = "sha256" if len(commit) == SHA256_HEX else "sha1"
        # No other user may read what git writes there, whatever the umask.
        private = f"--shared=0{FILE_MODE:o}"
        initial = ("init", "--quiet", "--bare", "--template=", private, f"--object-format={object_format}")
        folder = ("--end-of-options", str(self.mirror.folder))
        private_folder(self.mirror.folder)
        run_git((*initial, *folder), self.mirror.environment, what=f"cannot fetch {self.origin.url}")


def open_access(
    origin: Origin,
    settings: GitSettings,
    home: Path,
    say: Callable[[str], None] = ignore_message,
    bound: Mapping[str, str] | None = None,
) -> RemoteAccess:
    """Return how to reach ``origin``, with the extra git configuration ``bound``; the origin is not contacted yet."""
    configuration = _write_configuration(mirrors_folder(home))
    mirror = Mirror(mirror_folder(origin, home), git_environment(settings, configuration))
    return RemoteAccess(origin, mirror, settings, git_environment(settings, configuration, origin, bound), say)


def open_environment(settings: GitSettings, home: Path) -> dict[str, str]:
    """Return the environment for git processes that talk to no origin."""
    return git_environment(settings, _write_configuration(mirrors_folder(home)))


def _write_configuration(folder: Path) -> Path:
    check_private(folder.parent)
    private_folder(folder)
    path = folder / "gitconfig"
    if not path.exists() or path.read_text() != CONFIGURATION:
        # Several threads and processes may start at the same moment, so each writes its own draft.
        descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        with os.fdopen(descriptor, "w") as file:
            file.write(CONFIGURATION)
        Path(draft).replace(path)
    return path


def remove_mirror(folder: Path) -> None:
    """Delete a mirror, renaming it first: other processes would mistake a half-deleted mirror for a damaged one."""
    leaving = folder.with_suffix(".removed")
    shutil.rmtree(leaving, ignore_errors=True)
    with suppress(OSError):  # the mirror does not exist, or another process is removing it
        folder.rename(leaving)
    shutil.rmtree(leaving, ignore_errors=True)
    for kept in (".lock", USED, ENTRY):
        folder.with_suffix(kept).unlink(missing_ok=True)
