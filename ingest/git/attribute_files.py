"""Reads the `.gitattributes` files of a version, which are untrusted: only small ones, and not too many in all."""

import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from codequarry.ingest.git.trees import ATTRIBUTES_FILE, TreeEntry
from codequarry.shared.errors import GitError
from codequarry.shared.paths import raw

# Real attribute files have some hundred bytes. A larger one, or one beyond the sum, has no effect.
FILE_BYTES = 100_000
MOST_BYTES = 1_000_000


def is_attribute_file(entry: TreeEntry) -> bool:
    """Return whether git would read an entry of a working tree as attributes; it follows no links."""
    name = ATTRIBUTES_FILE.decode()
    return entry.mode.startswith("100") and (entry.path == name or entry.path.endswith("/" + name))


def read_attribute_files(
    folder: Path, environment: Mapping[str, str], entries: Iterable[TreeEntry]
) -> dict[bytes, bytes]:
    """Return the contents of attribute files by the folder that they are in; raise GitError if git fails."""
    blobs = {raw(entry.path).rpartition(b"/")[0]: entry.blob for entry in entries}
    if not blobs:
        return {}
    command = ("git", f"--git-dir={folder}", "cat-file")
    sizes = _run((*command, "--batch-check=%(objecttype) %(objectsize)"), environment, blobs.values()).split(b"\n")
    wanted: dict[bytes, int] = {}
    for place, line in zip(blobs, sizes, strict=False):
        kind, _, number = line.partition(b" ")
        if kind == b"blob" and int(number) <= FILE_BYTES and sum(wanted.values()) + int(number) <= MOST_BYTES:
            wanted[place] = int(number)
    data = _run((*command, "--batch"), environment, [blobs[place] for place in wanted])
    found, at = {}, 0
    for place, size in wanted.items():
        at = data.index(b"\n", at) + 1
        found[place] = data[at : at + size]
        at += size + 1
    return found


def _run(command: tuple[str, ...], environment: Mapping[str, str], blobs: Iterable[str]) -> bytes:
    asked = "".join(f"{blob}\n" for blob in blobs).encode()
    done = subprocess.run(command, input=asked, env=dict(environment), capture_output=True, check=False)
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise GitError(f"cannot read the .gitattributes of the repository: {last}; run again")
    return done.stdout
