"""Reads which commits changed which files: passes of ``git log`` over commits and trees, without any file's content.

What a pass yields leads to the same commits of a file as ``git log COMMIT -- PATH``: a merge is compared with its first
parent only, because what its other parents have is known once their commits were read. Strangers write the commits: git
ends after a time and a size.
"""

import secrets
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from codequarry.ingest.git.commits import ReadCommit
from codequarry.ingest.git.objects import Mirror
from codequarry.ingest.git.process import run_git, stream_git
from codequarry.shared.errors import GitError, LimitExceeded
from codequarry.shared.paths import printable, raw

# All output of one pass: a hundred thousand commits that each change a dozen files have less than half of this.
MOST_BYTES = 400_000_000
MOST_SECONDS = 60.0
# A commit with half a million files; the pass holds one commit at a time.
MOST_COMMIT_BYTES = 64_000_000
# A first line is looked for and masked in this many bytes of a message.
MOST_MESSAGE_BYTES = 20_000
# Commits of two histories that are compared. More are a new history, which most often has other files too.
MOST_COMPARED = 5_000
# Commits named in one command line.
COMMITS_PER_COMMAND = 1_000
# What a file has in a commit that does not have it.
ABSENT = b""
_SAFE = ("--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-mailmap", "--no-notes", "--no-color")
_CHANGES = ("-z", "--raw", "--no-abbrev", "--no-renames", "--diff-merges=first-parent", *_SAFE, "--encoding=UTF-8")
_FIELDS = "%H%x00%P%x00%an%x00%ae%x00%ct%x00"
_FIELD_COUNT = 5
_DELETED = b" D"


@dataclass(frozen=True, slots=True)
class CommitChanges:
    """A commit without its message, and the files in which it differs from its first parent.

    ``changes`` has pairs of a path and what the commit has there: mode and blob, or ABSENT.
    """

    commit: ReadCommit
    changes: tuple[tuple[bytes, bytes], ...]


def read_graph(mirror: Mirror, tip: str, most: int) -> list[tuple[str, ...]]:
    """Return the newest ``most`` commits of a history, parents first, each followed by its parents.

    Raise GitError if the mirror lacks the commit.
    """
    limits = ("--date-order", "--reverse", "--parents", f"--max-count={most}")
    found = mirror.run("rev-list", *limits, tip, "--", what=f"cannot read the history of {tip}")
    return [tuple(line.split()) for line in found.decode().splitlines()]


def boundary_commits(mirror: Mirror) -> frozenset[str]:
    """Return the commits beyond which a shallow clone has nothing: git takes them for the beginning of everything."""
    try:
        return frozenset((mirror.folder / "shallow").read_text().split())
    except OSError:
        return frozenset()


def read_changes(mirror: Mirror, tip: str, most: int) -> Iterator[CommitChanges]:
    """Yield the commits of ``read_graph`` in the same order; raise GitError, or LimitExceeded if git takes too long."""
    yield from _log(mirror, "--date-order", "--reverse", f"--max-count={most}", tip, "--")


def read_changes_with(mirror: Mirror, tip: str, path: str, most: int) -> Iterator[CommitChanges]:
    """Yield the newest ``most`` commits that touched a file, newest first, with all files that each of them changed.

    Raise the errors of ``read_changes``.
    """
    named = raw(path).decode(errors="surrogateescape")
    listing = (f"--git-dir={mirror.folder}", "--literal-pathspecs", "rev-list", f"--max-count={most}", tip, "--", named)
    # Not by one command: with the changes of merges, git shows merges that it leaves out of the history of a file.
    touching = run_git(listing, mirror.environment, what=f"cannot read the history of {path}").decode().split()
    for start in range(0, len(touching), COMMITS_PER_COMMAND):
        yield from _log(mirror, "--no-walk=unsorted", *touching[start : start + COMMITS_PER_COMMAND], "--")


def paths_between(mirror: Mirror, one: str, other: str) -> frozenset[str]:
    """Return the paths that the commits touched which only one of two histories has, of the newest ``MOST_COMPARED``.

    It is empty if the mirror lacks either commit.
    """
    command = (
        "log",
        "--name-only",
        "-z",
        "--no-renames",
        *_SAFE,
        f"--max-count={MOST_COMPARED}",
        "--format=",
        f"{one}...{other}",
    )
    try:
        found = mirror.run(*command, "--", what=f"cannot compare {one} and {other}")
    except GitError:
        return frozenset()
    return frozenset(printable(path) for path in found.split(b"\0") if path)


def read_messages(mirror: Mirror, commits: Collection[str]) -> dict[str, str]:
    """Return the beginnings of the messages of commits; raise GitError if the mirror lacks one."""
    if not commits:
        return {}
    mark = secrets.token_hex(16)
    command = (f"--git-dir={mirror.folder}", "log", "--no-walk=unsorted", "--stdin", "--no-patch", *_SAFE)
    asked = "".join(f"{commit}\n" for commit in commits).encode()
    shown = (f"--format={mark}%H%x00%B", "--encoding=UTF-8")
    found = run_git((*command, *shown), mirror.environment, data=asked, what="cannot read the commits")
    parts = (part.partition(b"\0") for part in found.split(mark.encode())[1:])
    return {commit.decode(): message[:MOST_MESSAGE_BYTES].decode(errors="replace") for commit, _, message in parts}


def _log(mirror: Mirror, *arguments: str) -> Iterator[CommitChanges]:
    mark = secrets.token_hex(16)
    # The root commit added its files, whatever the configuration says.
    command = [f"--git-dir={mirror.folder}", "--literal-pathspecs", "-c", "log.showRoot=true", "log", *_CHANGES]
    output = stream_git(
        [*command, f"--format={mark}{_FIELDS}", *arguments],
        mirror.environment,
        what="cannot read the history of files",
        most_bytes=MOST_BYTES,
        seconds=MOST_SECONDS,
    )
    yield from map(_commit, _parts(output, mark.encode()))


def _parts(output: Iterable[bytes], mark: bytes) -> Iterator[bytes]:
    """Yield what follows each mark; nothing precedes the first."""
    text = b""
    for piece in output:
        *whole, text = (text + piece).split(mark)
        yield from filter(None, whole)
        if len(text) > MOST_COMMIT_BYTES:
            raise LimitExceeded(f"cannot read the history of files: a commit has over {MOST_COMMIT_BYTES:,} bytes")
    yield from filter(None, (text,))


def _commit(part: bytes) -> CommitChanges:
    *facts, changed = part.split(b"\0", _FIELD_COUNT)
    commit, parents, author, email, seconds = (fact.decode(errors="replace") for fact in facts)
    time = int(seconds) if seconds.isdigit() else 0
    read = ReadCommit(commit, tuple(parents.split()), author, email, time, "")
    entries = iter(changed.lstrip(b"\0\n").rstrip(b"\0").split(b"\0"))
    return CommitChanges(read, tuple((path, _content(entry)) for entry, path in zip(entries, entries, strict=False)))


def _content(entry: bytes) -> bytes:
    """Return mode and blob after the change that an entry describes: ``:mode mode blob blob status``."""
    if entry.endswith(_DELETED):
        return ABSENT
    _, mode, _, blob, _ = entry.split(b" ")
    return mode + b" " + blob
