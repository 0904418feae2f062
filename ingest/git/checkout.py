"""A person's checkout: asked and read, never written to. Nothing that its own configuration names is run."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from codequarry.ingest.git.hashing import blob_of, blob_of_file
from codequarry.ingest.git.mirrors import open_environment
from codequarry.ingest.git.origins import Origin, origin_of_record, parse_origin
from codequarry.ingest.git.process import run_git
from codequarry.ingest.git.trees import SYMLINK
from codequarry.shared.errors import CodequarryError, GitError
from codequarry.shared.repositories.naming import find_repository
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.port import Store
from codequarry.shared.versions.refs import Ref

# Against what the checkout's own configuration may say; the system's and the person's are not read at all.
SAFE = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.untrackedCache=false")
# `ls-files -t` marks with it what a sparse checkout leaves out on purpose.
SKIPPED_ON_PURPOSE = b"S"
REGULAR, EXECUTABLE = "100644", "100755"


@dataclass(frozen=True, slots=True)
class Tracked:
    """An entry of the checkout's index; ``is_absent`` where a sparse checkout leaves the file out."""

    path: bytes
    mode: str
    blob: str
    is_absent: bool


@dataclass(frozen=True)
class Checkout:
    """A working tree by its top folder."""

    folder: Path
    environment: dict[str, str] = field(repr=False)

    def git(self, *arguments: str, what: str) -> bytes:
        """Run a git command that only reads."""
        command = ("--no-optional-locks", *SAFE, "-C", str(self.folder), *arguments)
        return run_git(command, self.environment, what=f"{self.folder}: {what}")

    def commit(self) -> str:
        """Return the commit that is checked out; GitError where there is none yet."""
        try:
            return self.git("rev-parse", "--verify", "--quiet", "HEAD^{commit}", what="no commit").decode().strip()
        except GitError:
            raise GitError(f"{self.folder} has no commits yet: commit something, then index it") from None

    def places(self) -> list[str]:
        """Return where the repository may come from: its own folders, then the URLs of its remotes, `origin` first."""
        common = self.git("rev-parse", "--git-common-dir", what="it can't be read").decode().rstrip("\n")
        folders = [str(self.folder), str((self.folder / common).resolve())]
        try:
            listed = self.git("config", "--null", "--get-regexp", r"^remote\..*\.url$", what="no remotes")
        except GitError:
            return folders
        remotes = [entry.partition("\n") for entry in listed.decode(errors="replace").split("\0") if entry]
        remotes.sort(key=lambda remote: remote[0] != "remote.origin.url")
        return folders + [self._absolute(url) for _, _, url in remotes]

    def _absolute(self, url: str) -> str:
        return str((self.folder / url).resolve()) if url.startswith(".") else url

    def tracked(self) -> Iterator[Tracked]:
        """Yield what the index has; of a path in conflict one of its sides."""
        last = None
        for line in self.git("ls-files", "-z", "-t", "-s", what="its files can't be listed").split(b"\0"):
            facts, _, path = line.partition(b"\t")
            if not line or path == last:
                continue
            tag, mode, blob, _ = facts.split()
            last = path
            yield Tracked(path, mode.decode(), blob.decode(), tag == SKIPPED_ON_PURPOSE)

    def untracked(self) -> Iterator[bytes]:
        """Yield the files that are neither tracked nor ignored; another repository inside this one has none here."""
        listed = self.git("ls-files", "-z", "--others", "--exclude-standard", what="its files can't be listed")
        yield from (path for path in listed.split(b"\0") if path and not path.endswith(b"/"))


def open_checkout(folder: Path, environment: dict[str, str]) -> Checkout:
    """Return the checkout that a folder lies in; GitError where there is none."""
    if not folder.is_dir():
        raise GitError(f"{folder} is no folder: give one of a working tree (repos collect --gone drops deleted ones)")
    try:
        top = Checkout(folder, environment).git("rev-parse", "--show-toplevel", what="it is no working tree of git")
    except GitError:
        raise GitError(f"{folder} is no working tree of git: give the folder of a checkout") from None
    return Checkout(Path(os.fsdecode(top.rstrip(b"\n"))).resolve(), environment)


def checkout_of(ref: Ref, settings: SettingsModel) -> Checkout:
    """Return the checkout that a workspace names."""
    return open_checkout(Path(ref.value).expanduser().absolute(), open_environment(settings.git, settings.home))


def origin_of_checkout(checkout: Checkout, store: Store) -> Origin:
    """Return where the checkout's repository comes from in the catalog: its own folder, or the URL of a remote.

    Of a repository that is not indexed its own folder.
    """
    for place in checkout.places():
        with suppress(CodequarryError):
            known = find_repository(store, parse_origin(place))
            if known:
                return origin_of_record(known.origin)
    return parse_origin(str(checkout.folder))


class FileTree:
    """The files below a folder as they are right now; links are seen, never followed, not in folders either."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._linked = {folder: False}

    def mode(self, path: bytes) -> str | None:
        """Return the mode that git would give to what lies at ``path``; None where that is no file and no link."""
        place = self._place(path)
        try:
            status = place.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        if self._is_behind_link(place.parent):
            return None
        if stat.S_ISLNK(status.st_mode):
            return SYMLINK
        if not stat.S_ISREG(status.st_mode):
            return None
        return EXECUTABLE if status.st_mode & stat.S_IXUSR else REGULAR

    def read(self, path: bytes) -> bytes | None:
        """Return the bytes of a file; None where it is none any more."""
        with self._opened(path) as file:
            return file.read() if file else None

    def blob(self, path: bytes, mode: str, like: str) -> tuple[str, int] | None:
        """Return git's name and the size of a file, however large, or of a link by its target.

        In the object format in which ``like`` is written; None where it is no such thing any more.
        """
        if mode == SYMLINK:
            try:
                target = os.fsencode(self._place(path).readlink())
            except OSError:
                return None
            return blob_of(target, like), len(target)
        with self._opened(path) as file:
            return blob_of_file(file, like) if file else None

    @contextmanager
    def _opened(self, path: bytes) -> Iterator[BinaryIO | None]:
        place = self._place(path)
        try:
            descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except PermissionError:
            raise GitError(f"{place} can't be read: permit it, or have .gitignore name it") from None
        except OSError:
            yield None
            return
        with os.fdopen(descriptor, "rb") as file:
            yield file if stat.S_ISREG(os.fstat(descriptor).st_mode) else None

    def _place(self, path: bytes) -> Path:
        return self._folder / os.fsdecode(path)

    def _is_behind_link(self, folder: Path) -> bool:
        if folder not in self._linked:
            self._linked[folder] = folder.is_symlink() or self._is_behind_link(folder.parent)
        return self._linked[folder]
