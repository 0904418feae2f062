"""Reads which commit a branch, tag or checkout of a repository on this machine is at, from files only.

No git is run, no link is followed and only regular files are read, because a repository is untrusted data: its links
may lead anywhere, and a pipe in it may block forever. As git does, this refuses folders of other users. Whatever is
unusual (links, a reftable, another owner) gives no answer instead of a wrong one.
"""

import os
import re
import stat
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from codequarry.shared.versions.refs import Ref

HEAD = "HEAD"
# Limit for files of one line.
LINE_BYTES = 65_536
# Limit for the list of packed refs; a larger list would slow down the answer that asks for it.
PACKED_BYTES = 16_000_000
# git itself follows symbolic refs this deep.
MOST_LINKS = 5
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_POINTER, _SYMBOLIC = "gitdir: ", "ref: "
# A handle for entering a folder needs only the right to search it, where the system can tell the two apart.
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class LocalTip:
    """The commit of a version in its repository's files; None if the repository does not have the version."""

    commit: str | None


class _UnusualRepository(Exception):
    """The files do not look as git leaves them, so they tell nothing."""


def local_tip(folder: Path, ref: Ref, known: str = "", roots: Sequence[Path] | None = None) -> LocalTip | None:
    """Return the tip of a version in the repository at ``folder``, or None if its files do not tell; never raise.

    A tag's file may name a tag object instead of a commit, so an unpacked tag is recognised only at the commit
    ``known``. A branch named HEAD and a working tree are at the checked-out commit. With ``roots``, nothing outside
    these folders is read.
    """
    with suppress(OSError, ValueError, _UnusualRepository), ExitStack() as opened:
        repository = _Repository.at(opened, folder, roots)
        return repository.tip(ref, known)
    return None


@dataclass(frozen=True, slots=True)
class _Repository:
    """Handles of a checkout's own git folder, and of the folder that it shares with other worktrees."""

    own: int
    common: int

    @classmethod
    def at(cls, opened: ExitStack, place: Path, roots: Sequence[Path] | None) -> "_Repository":
        """Open the repository of a folder, bare or with a working tree."""
        top = _enter(opened, place, roots)
        status = _status(".git", top)
        if status is None:
            return cls(top, top)
        if stat.S_ISDIR(status.st_mode):
            own = _owned(_open_folder(opened, ".git", top))
            return cls(own, own)
        return cls._of_worktree(opened, place, top, roots)

    @classmethod
    def _of_worktree(cls, opened: ExitStack, place: Path, top: int, roots: Sequence[Path] | None) -> "_Repository":
        """Open what a `.git` file names, if the repository there knows of the folder, as `git worktree` leaves it."""
        pointer = _line(top, ".git") or ""
        folder = _joined(place, pointer.removeprefix(_POINTER))
        own = _enter(opened, folder, roots)
        shared, back = _line(own, "commondir"), _line(own, "gitdir")
        if not pointer.startswith(_POINTER) or shared is None or back is None:
            raise _UnusualRepository
        common = _joined(folder, shared)
        if folder.parent != common / "worktrees" or _joined(folder, back) != place / ".git":
            raise _UnusualRepository
        return cls(own, _enter(opened, common, roots))

    def tip(self, ref: Ref, known: str) -> LocalTip:
        """Return the tip of a version."""
        # With a reftable, HEAD and refs/ hold placeholders.
        if _status("reftable", self.common) or not _status("objects", self.common):
            raise _UnusualRepository
        for name in _names(ref):
            if value := self._value(name, MOST_LINKS):
                if ref.kind == "tag" and value.may_be_tag and value.text != known:
                    raise _UnusualRepository
                return LocalTip(value.text)
        return LocalTip(None)

    def _value(self, name: str, links: int) -> "_Value | None":
        text = _line(self.own if name == HEAD else self.common, name)
        if text is None:
            return self._packed(name)
        if text.startswith(_SYMBOLIC):
            target = text.removeprefix(_SYMBOLIC).strip()
            if not links or not target.startswith("refs/"):
                raise _UnusualRepository
            return self._value(target, links - 1)
        return _Value(_commit(text), may_be_tag=True)

    def _packed(self, name: str) -> "_Value | None":
        """Return the value in the list of packed refs, where a tag object is followed by its commit."""
        data = _read(self.common, "packed-refs", PACKED_BYTES) or b""
        end = data.find(b" " + os.fsencode(name) + b"\n")
        if end < 0:
            return None
        line, following = data[data.rfind(b"\n", 0, end) + 1 : end], data[end:].partition(b"\n")[2]
        if following.startswith(b"^"):
            line = following[1:].partition(b"\n")[0]
        return _Value(_commit(os.fsdecode(line)), may_be_tag=b"fully-peeled" not in data.partition(b"\n")[0])


@dataclass(frozen=True, slots=True)
class _Value:
    text: str
    may_be_tag: bool


def _names(ref: Ref) -> tuple[str, ...]:
    """Return the names under which a repository may have a version, most likely first."""
    if ref.kind == "workspace" or (ref.kind, ref.value) == ("branch", HEAD):
        return (HEAD,)
    if ref.kind == "pull":
        return f"refs/pull/{ref.value}/head", f"refs/merge-requests/{ref.value}/head"
    if ref.kind == "commit":
        raise _UnusualRepository
    return (ref.key,)


def _commit(text: str) -> str:
    if not _COMMIT.fullmatch(text):
        raise _UnusualRepository
    return text


def _joined(folder: Path, path: str) -> Path:
    return Path(os.path.normpath(folder / path))


def _enter(opened: ExitStack, folder: Path, roots: Sequence[Path] | None) -> int:
    """Open a folder of ours by its absolute path, following no link on the way."""
    if roots is not None and not any(folder.is_relative_to(root.expanduser().resolve()) for root in roots):
        raise _UnusualRepository
    if not folder.is_absolute():
        raise _UnusualRepository
    handle = _open_folder(opened, folder.anchor)
    for name in folder.parts[1:]:
        handle = _open_folder(opened, name, handle)
    return _owned(handle)


def _open_folder(opened: ExitStack, name: str, parent: int | None = None) -> int:
    handle = os.open(name, _FOLDER, dir_fd=parent)
    opened.callback(os.close, handle)
    return handle


def _owned(handle: int) -> int:
    own = os.geteuid()
    caller = os.environ.get("SUDO_UID", "")
    ours = {own, int(caller)} if own == 0 and caller.isdecimal() else {own}
    if os.fstat(handle).st_uid not in ours:
        raise _UnusualRepository
    return handle


def _line(folder: int, path: str) -> str | None:
    """Return the text of a file that holds one line, or None if there is no such file."""
    data = _read(folder, path, LINE_BYTES)
    return None if data is None else os.fsdecode(data.strip(b"\r\n"))


def _read(folder: int, path: str, most_bytes: int) -> bytes | None:
    """Return the bytes of a regular file below a folder, or None if there is none."""
    *parents, name = path.split("/")
    if "\\" in path or "\0" in path or any(part in ("", ".", "..") for part in (*parents, name)):
        raise _UnusualRepository
    with ExitStack() as opened:
        for parent in parents:
            status = _status(parent, folder)
            # A branch may have the name of a folder that another branch's name needs.
            if status is None or stat.S_ISREG(status.st_mode):
                return None
            folder = _open_folder(opened, parent, folder)
        status = _status(name, folder)
        if status is None or stat.S_ISDIR(status.st_mode):
            return None
        file = os.open(name, _FILE, dir_fd=folder)
        opened.callback(os.close, file)
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_size > most_bytes:
            raise _UnusualRepository
        with os.fdopen(file, "rb", closefd=False) as stream:
            return stream.read(most_bytes)


def _status(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
