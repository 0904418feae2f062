"""Reads commits with what they changed: one bounded pass of ``git log`` over objects, which runs nothing else.

Commits are written by strangers: git ends after a time, and of a huge commit only the beginning is kept.
"""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from codequarry.ingest.git.objects import Mirror
from codequarry.ingest.git.process import stream_git
from codequarry.shared.paths import printable

# Bytes of a commit, message and changes, that are kept; more is hardly written by hand.
MOST_COMMIT_BYTES = 2_000_000
# All output together: ten times as much as the newest two thousand commits of most repositories.
MOST_BYTES = 256_000_000
# A repository in which git finds less than this many seconds' worth of commits still has the newest ones.
MOST_SECONDS = 60.0
# Lines around a change: they show what a changed line belongs to, for example when secrets are looked for.
CONTEXT_LINES = 3
# git compares no file larger than this, and treats it as binary.
LARGEST_COMPARED = "1m"
# A root commit, or one beyond which a shallow clone has nothing, would count as the addition of every file.
_SETTINGS = ("log.showRoot=false", f"core.bigFileThreshold={LARGEST_COMPARED}", "diff.renameLimit=200")
_SAFE = ("--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-mailmap", "--no-notes", "--no-color")
_FIELDS = "%H%x00%P%x00%an%x00%ae%x00%ct%x00%B%x00"
_SECTION = b"diff --git "
# A file that changed its type has a section for its removal and one for its addition.
_TYPE_CHANGED = b"T"
_REGULAR = (b"100644", b"100755")
_ABSENT = b"000000"


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a commit changed in a regular file: ``patch`` has git's hunks, without the lines above the first.

    It is empty if the commit was read without patches, or if only the file's name or mode changed.
    """

    path: str
    old_path: str
    patch: bytes = b""


@dataclass(frozen=True, slots=True)
class ReadCommit:
    """A commit as git stores it; ``time`` is when it was committed, in seconds since 1970."""

    id: str
    parents: tuple[str, ...]
    author: str
    email: str
    time: int
    message: str
    changes: tuple[FileChange, ...] = ()


def read_commits(
    mirror: Mirror, tips: Sequence[str], *, most: int, skip: int = 0, patches: bool = True
) -> Iterator[ReadCommit]:
    """Yield at most ``most`` commits, newest first, from ``tips`` (``^COMMIT`` excludes a history), after ``skip``.

    Raise, perhaps after some commits, GitError if git fails (the mirror may lack a commit or, with ``patches``, a file)
    and LimitExceeded if it takes too long or writes too much.
    """
    if most <= 0:
        return
    mark = secrets.token_hex(16)
    configured = [part for setting in _SETTINGS for part in ("-c", setting)]
    shown = ["--patch", f"--unified={CONTEXT_LINES}"] if patches else []
    limits = [f"--max-count={most}", f"--skip={skip}"]
    command = [
        *(f"--git-dir={mirror.folder}", *configured, "log", "-z", "--raw", "--no-abbrev", "--find-renames"),
        *(*_SAFE, *shown, *limits, "--encoding=UTF-8", f"--format={mark}+{_FIELDS}{mark}-", *tips, "--"),
    ]
    output = stream_git(
        command, mirror.environment, what="cannot read the commits", most_bytes=MOST_BYTES, seconds=MOST_SECONDS
    )
    for part in _parts(output, f"{mark}+".encode()):
        yield _commit(part, f"{mark}-".encode())


def _parts(output: Iterable[bytes], mark: bytes) -> Iterator[bytes]:
    """Yield what follows each ``mark``, at most ``MOST_COMMIT_BYTES`` of it."""
    text, kept, begun = b"", b"", False
    for piece in output:
        text += piece
        *whole, text = text.split(mark)
        for part in whole:
            if begun:
                yield (kept + part)[:MOST_COMMIT_BYTES]
            kept, begun = b"", True
        # The end of the piece may be the beginning of a mark.
        sure, text = text[: -len(mark)], text[-len(mark) :]
        kept = kept[: MOST_COMMIT_BYTES + 1] + (sure if len(kept) <= MOST_COMMIT_BYTES else b"")
    if begun:
        yield (kept + text)[:MOST_COMMIT_BYTES]


def _commit(part: bytes, end: bytes) -> ReadCommit:
    about, _, changed = part.partition(end)
    fields = [*about.split(b"\0"), b"", b"", b"", b"", b"", b""]
    commit, parents, author, email, seconds = (field.decode(errors="replace") for field in fields[:5])
    message = fields[5].decode(errors="replace")
    return ReadCommit(
        commit,
        tuple(parents.split()),
        author,
        email,
        int(seconds) if seconds.isdigit() else 0,
        message,
        tuple(_changes(changed)),
    )


def _changes(text: bytes) -> Iterator[FileChange]:
    """Yield the changes of regular files: git lists all files first, then the patch of each in the same order."""
    entries, at = _entries(text)
    sections = iter(_sections(text[at:]))
    for entry in entries:
        patch = next(sections, b"")
        if entry.is_regular:
            yield FileChange(entry.path, entry.old_path, patch)
        elif entry.status == _TYPE_CHANGED:
            next(sections, None)


@dataclass(frozen=True, slots=True)
class _Entry:
    status: bytes
    path: str
    old_path: str
    is_regular: bool


def _entries(text: bytes) -> tuple[list[_Entry], int]:
    """Return the listed files, and the position behind them."""
    entries: list[_Entry] = []
    at = len(text) - len(text.lstrip(b"\0\n"))
    while text[at : at + 1] == b":":
        end = text.find(b"\0", at)
        facts = text[at + 1 : end].split(b" ")
        status = facts[-1][:1]
        names, at = _names(text, end + 1, 2 if status in (b"R", b"C") else 1)
        if len(facts) < 5 or len(names) < 1:
            break
        modes = [mode for mode in facts[:2] if mode != _ABSENT]
        is_regular = status != _TYPE_CHANGED and all(mode in _REGULAR for mode in modes)
        entries.append(_Entry(status, printable(names[-1]), printable(names[0]), is_regular))
    return entries, at


def _names(text: bytes, at: int, count: int) -> tuple[list[bytes], int]:
    names: list[bytes] = []
    for _ in range(count):
        end = text.find(b"\0", at)
        if end < 0:
            return [], len(text)
        names.append(text[at:end])
        at = end + 1
    return names, at


def _sections(text: bytes) -> Iterator[bytes]:
    """Yield the hunks of each file; every line in them begins with a space, a sign or a backslash."""
    start = text.find(_SECTION)
    if start < 0:
        return
    for section in text[start + len(_SECTION) :].split(b"\n" + _SECTION):
        hunks = section.find(b"\n@@ ")
        yield section[hunks + 1 :].removesuffix(b"\n") + b"\n" if hunks >= 0 else b""
