"""Bare repositories as an attacker writes them: objects that no git command of a person would make."""

import subprocess
import zlib
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path

FILE, FOLDER = "100644", "40000"


@dataclass(frozen=True, slots=True)
class HostileRepository:
    """A bare repository whose objects are written byte by byte."""

    folder: Path

    @classmethod
    def at(cls, folder: Path) -> "HostileRepository":
        """Make an empty one."""
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(folder)], check=True)
        return cls(folder)

    def blob(self, data: bytes) -> str:
        """Write a blob."""
        return self._write(b"blob", data)

    def tree(self, *entries: tuple[str, bytes, str]) -> str:
        """Write a tree of modes, names and objects; nothing is checked and nothing sorted."""
        lines = (mode.encode() + b" " + name + b"\0" + bytes.fromhex(object_) for mode, name, object_ in entries)
        return self._write(b"tree", b"".join(lines))

    def commit(self, tree: str, message: bytes = b"c\n") -> str:
        """Write a commit, and make it the tip of main."""
        person = b"a <a@example.org> 1700000000 +0000"
        head = b"tree " + tree.encode() + b"\nauthor " + person + b"\ncommitter " + person + b"\n\n"
        commit = self._write(b"commit", head + message)
        (self.folder / "refs" / "heads" / "main").write_text(commit + "\n")
        return commit

    def files(self, **contents: bytes) -> list[tuple[str, bytes, str]]:
        """Write blobs and return their entries; `dot_` at the beginning of a name stands for a dot."""
        return [(FILE, name.replace("dot_", ".").encode(), self.blob(data)) for name, data in contents.items()]

    def _write(self, kind: bytes, data: bytes) -> str:
        whole = kind + b" " + str(len(data)).encode() + b"\0" + data
        name = sha1(whole).hexdigest()
        path = self.folder / "objects" / name[:2] / name[2:]
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(zlib.compress(whole, 1))
        return name


def path_bomb(folder: Path) -> HostileRepository:
    """Return a repository of ten trees with 10¹⁰ paths."""
    repository = HostileRepository.at(folder)
    inner = repository.tree(*repository.files(a=b"x = 1\n"))
    for _ in range(10):
        inner = repository.tree(*((FOLDER, b"%d" % number, inner) for number in range(10)))
    repository.commit(inner)
    return repository


def glob_bomb(folder: Path) -> HostileRepository:
    """Return a repository whose ignore file takes a backtracking matcher hours for one file."""
    repository = HostileRepository.at(folder)
    ignore = "\n".join(["*a" * 12 + "*b", "**/" + "*a*/**/" * 12 + "b", "[a-z]*" * 20 + "!"]).encode()
    names = [*repository.files(dot_codequarryignore=ignore), (FILE, b"a" * 240, repository.blob(b"x = 1\n"))]
    repository.commit(repository.tree(*names))
    return repository
