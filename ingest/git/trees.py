"""Lists the tree of a commit, which is untrusted: a pack of 200 KB can hold a tree of 10¹⁰ paths.

The paths are therefore counted before they are listed. Counting is fast, because git looks up no sizes: 3 million paths
take a second, and a hostile pack is refused before it costs any memory. The same pass finds the attribute files, which
must be known before the first path is judged. A small process imports this module, which therefore imports nothing that
is slow to load.
"""

import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from codequarry.shared.errors import GitError, LimitExceeded
from codequarry.shared.paths import printable

SYMLINK, SUBMODULE, TREE = "120000", "160000", "040000"
# Hardly any repository has more files in one commit. Each file takes about 400 bytes in the run's process.
MOST_PATHS = 3_000_000
# Limit for all names together, because the run's process holds them in memory.
MOST_NAME_BYTES = 500_000_000
READ_BYTES = 1 << 20
# What git writes before a name: mode, kind and an id of SHA-256.
_FACTS_BYTES = 80
ATTRIBUTES_FILE = b".gitattributes"
_ATTRIBUTES_LINE = re.compile(rb"100(644|755) blob ([0-9a-f]+)\t((?:.*/)?\.gitattributes)", re.DOTALL)
# Repositories have a handful.
MOST_ATTRIBUTE_FILES = 1_000


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A file, symbolic link or submodule of a commit; ``size`` is the blob's size in bytes, 0 for a submodule."""

    path: str
    mode: str
    blob: str
    size: int


def list_tree(
    folder: Path, environment: Mapping[str, str], commit: str, most_paths: int = MOST_PATHS
) -> Iterator[TreeEntry]:
    """Yield the files of a commit in a mirror; raise LimitExceeded before the first file if there are too many."""
    survey_tree(folder, environment, commit, most_paths)
    yield from list_surveyed(folder, environment, commit)


def list_surveyed(folder: Path, environment: Mapping[str, str], commit: str) -> Iterator[TreeEntry]:
    """Yield the files of a commit whose number has been checked."""
    rest = b""
    with _listing(folder, environment, commit, "--long", "-r") as listing:
        while part := listing.read(READ_BYTES):
            *lines, rest = (rest + part).split(b"\0")
            yield from map(_entry, lines)


def file_at(folder: Path, environment: Mapping[str, str], commit: str, path: str) -> TreeEntry | None:
    """Return the file at a path in a commit, or None if there is no file."""
    with _listing(folder, environment, commit, "--long", path=path) as listing:
        line = listing.read().partition(b"\0")[0]
    entry = _entry(line) if line else None
    return entry if entry and entry.path == path and entry.mode != TREE else None


def survey_tree(folder: Path, environment: Mapping[str, str], commit: str, most_paths: int) -> list[TreeEntry]:
    """Return the attribute files of a commit, without sizes; raise LimitExceeded as soon as it is too large."""
    paths = size = 0
    rest = b""
    found: list[TreeEntry] = []
    with _listing(folder, environment, commit, "-r") as listing:
        while part := listing.read(READ_BYTES):
            paths += part.count(b"\0")
            size += len(part)
            check_count(paths, most_paths)
            if size > MOST_NAME_BYTES + paths * _FACTS_BYTES:
                raise LimitExceeded(f"the names of its files take more than {MOST_NAME_BYTES // 1_000_000} MB")
            whole, _, rest = (rest + part).rpartition(b"\0")
            if ATTRIBUTES_FILE in whole and len(found) < MOST_ATTRIBUTE_FILES:
                found += [
                    TreeEntry(printable(line[3]), "100" + line[1].decode(), line[2].decode(), 0)
                    for line in map(_ATTRIBUTES_LINE.fullmatch, whole.split(b"\0"))
                    if line
                ]
            rest = rest if len(rest) <= READ_BYTES else b""  # a path too long to matter
    return found[:MOST_ATTRIBUTE_FILES]


def check_count(paths: int, most_paths: int) -> None:
    """Raise LimitExceeded if a version has too many files."""
    if paths > most_paths:
        raise LimitExceeded(f"it has more than {most_paths} files; to index it anyway, raise [indexing] max_paths")


@contextmanager
def _listing(
    folder: Path, environment: Mapping[str, str], commit: str, *options: str, path: str = ""
) -> Iterator[IO[bytes]]:
    """Yield the output of ``git ls-tree`` as a stream; raise GitError on exit if git failed."""
    command = ["git", f"--git-dir={folder}", "ls-tree", "-z", "--full-tree", *options, commit, "--"]
    with tempfile.TemporaryFile() as complaints:
        git = subprocess.Popen(
            [*command, path] if path else command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
            env=dict(environment),
        )
        assert git.stdout
        try:
            with git.stdout:
                yield git.stdout
            failed = git.wait() != 0
        finally:
            # At the end of the stream git has ended or is about to; otherwise the rest of its output is not needed.
            git.kill()
            git.wait()
        if failed:
            complaints.seek(0)
            raise _failure(folder, commit, complaints.read(READ_BYTES))


def _failure(folder: Path, commit: str, complaint: bytes) -> GitError:
    # Imported only when needed, because the import takes longer than listing most repositories.
    from codequarry.ingest.git.process import explain

    hint = f"if {folder} is damaged, delete it and run again to fetch it again"
    return GitError(f"cannot list commit {commit}; {hint}: {explain(complaint)}")


def _entry(line: bytes) -> TreeEntry:
    facts, _, path = line.partition(b"\t")
    mode, _, blob, size = facts.decode().split()
    # A submodule has no size ("-"), nor has an object that our copy lacks ("BAD"), about which reading it complains.
    return TreeEntry(printable(path), mode, blob, int(size) if size.isdigit() else 0)
