"""Converts the bytes of working files to what ``git add`` would store: line ends, encodings, keywords, LFS pointers.

git itself converts private copies of the files, because it also takes into account what its index holds. No filter
program runs: the copies' repository is a view (``view.py``), which defines none.
"""

import hashlib
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from codequarry.ingest.git.child_guardian import GUARDIAN
from codequarry.ingest.git.file_tree import FileTree
from codequarry.ingest.git.hashing import blob_of
from codequarry.ingest.git.plain_files import TEXT_BYTES
from codequarry.ingest.git.process import run_git
from codequarry.shared.errors import GitError

ATTRIBUTES_FILE = b".gitattributes"
# Attributes because of which git changes a file without CRLF.
CONVERTING = (b"ident", b"working-tree-encoding")
FILTER = b"filter"
LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
LFS_POINTER_BYTES = 1024
# Converting takes this long only if a filter of the machine's own git is defective.
SECONDS = 900.0

Attributes = Mapping[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Converter:
    """Converts files of a working tree; ``environment`` names its view, ``like`` a blob in the object format."""

    tree: FileTree
    environment: Mapping[str, str]
    like: str

    def stored(self, files: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        """Return what git would store for files, given by path with their bytes."""
        with tempfile.TemporaryDirectory(dir=GUARDIAN.folder(), ignore_cleanup_errors=True) as name:
            copies = _Copies(Path(name), self.environment)
            copies.begin(self._attribute_files(files))
            attributes = copies.attributes(list(files))
            converting = {path: data for path, data in files.items() if _may_change(data, attributes[path])}
            found = copies.converted(converting, self.like) if converting else {}
        stored = {path: found.get(path, data) for path, data in files.items()}
        return {path: _lfs(data) if attributes[path].get(FILTER) == b"lfs" else data for path, data in stored.items()}

    def _attribute_files(self, files: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        """Return the attribute files of the folders of files and of those above; git reads the others in its index."""
        folders = {b""}
        for path in files:
            folder = path.rpartition(b"/")[0]
            while folder not in folders:
                folders.add(folder)
                folder = folder.rpartition(b"/")[0]
        paths = (folder + b"/" + ATTRIBUTES_FILE if folder else ATTRIBUTES_FILE for folder in folders)
        return {path: data for path in paths if (data := self.tree.read(path, TEXT_BYTES)) is not None}


def _may_change(data: bytes, attributes: Attributes) -> bool:
    values = {attributes.get(name, b"unset") for name in CONVERTING}
    return b"\r\n" in data or not values <= {b"unset", b"unspecified"}


def _lfs(data: bytes) -> bytes:
    """Return the pointer that git-lfs would store for a file."""
    if not data or (len(data) < LFS_POINTER_BYTES and data.startswith(LFS_POINTER)):
        return data
    return LFS_POINTER + b"oid sha256:%s\nsize %d\n" % (hashlib.sha256(data).hexdigest().encode(), len(data))


@dataclass(frozen=True, slots=True)
class _Copies:
    """Copies of files of a working tree, and of its index, in a folder of our own."""

    folder: Path
    environment: Mapping[str, str]

    def begin(self, attribute_files: Mapping[bytes, bytes]) -> None:
        """Write the index and the attribute files."""
        index = Path(self.environment["GIT_DIR"]) / "index"
        if index.exists():
            shutil.copyfile(index, self.folder / "index")
        (self.folder / "top").mkdir()
        self._write(attribute_files)

    def attributes(self, paths: Sequence[bytes]) -> dict[bytes, dict[bytes, bytes]]:
        """Return the attributes of paths that decide how the files are converted."""
        found: defaultdict[bytes, dict[bytes, bytes]] = defaultdict(dict)
        names = [name.decode() for name in (*CONVERTING, FILTER)]
        fields = iter(self._git("check-attr", "-z", "--stdin", *names, data=_listed(paths)).split(b"\0")[:-1])
        for path, name, value in zip(fields, fields, fields, strict=True):
            found[path][name] = value
        return found

    def converted(self, files: Mapping[bytes, bytes], like: str) -> dict[bytes, bytes]:
        """Return what git stores for files, without those that it stores unchanged or refuses to store."""
        self._write(files)
        added = set(self._add(list(files)))
        blobs = {path: blob for path, blob in self._blobs() if path in added and blob != blob_of(files[path], like)}
        contents = self._contents(sorted(set(blobs.values())))
        return {path: contents[blob] for path, blob in blobs.items() if blob in contents}

    def _write(self, files: Mapping[bytes, bytes]) -> None:
        for path, data in files.items():
            target = self.folder / "top" / os.fsdecode(path)
            # A path may be a file and a folder if the working tree changes meanwhile.
            with suppress(FileExistsError, NotADirectoryError, IsADirectoryError):
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)

    def _add(self, paths: Sequence[bytes]) -> Iterator[bytes]:
        """Yield the paths that git has added to the copy of the index; it adds none if it refuses one."""
        try:
            self._git("update-index", "--add", "--replace", "-z", "--stdin", data=_listed(paths))
            yield from paths
        except GitError:
            middle = len(paths) // 2
            if middle:
                yield from self._add(paths[:middle])
                yield from self._add(paths[middle:])

    def _blobs(self) -> Iterator[tuple[bytes, str]]:
        for line in self._git("ls-files", "-z", "-s", data=b"").split(b"\0")[:-1]:
            facts, _, path = line.partition(b"\t")
            yield path, facts.split()[1].decode()

    def _contents(self, blobs: Sequence[str]) -> dict[str, bytes]:
        output = (
            self._git("cat-file", "--batch", data="".join(f"{blob}\n" for blob in blobs).encode()) if blobs else b""
        )
        found, position = {}, 0
        while position < len(output):
            end = output.index(b"\n", position)
            blob, kind, *size = output[position:end].split()
            position = end + 1
            if kind == b"blob":
                found[blob.decode()] = output[position : position + int(size[0])]
                position += int(size[0]) + 1
        return found

    def _git(self, *arguments: str, data: bytes) -> bytes:
        top = self.folder / "top"
        environment = {**self.environment, "GIT_INDEX_FILE": str(self.folder / "index")}
        command = (f"--work-tree={top}", "-C", str(top), *arguments)
        return run_git(command, environment, SECONDS, data=data, what="files of the working tree can't be converted")


def _listed(paths: Sequence[bytes]) -> bytes:
    return b"".join(path + b"\0" for path in paths)
