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
        named = {name.replace("dot_", ".").encode(): data for name, data in contents.items()}
        return [(FILE, name, self.blob(data)) for name, data in sorted(named.items())]

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
    repository.commit(_ten_times(repository, 10))
    return repository


def _ten_times(repository: HostileRepository, levels: int) -> str:
    """Write a tree that holds another one ten times, that one another ten times, and so on."""
    inner = repository.tree(*repository.files(a=b"x = 1\n"))
    for _ in range(levels):
        inner = repository.tree(*((FOLDER, b"%d" % number, inner) for number in range(10)))
    return inner


def glob_bomb(folder: Path) -> HostileRepository:
    """Return a repository whose ignore file takes a backtracking matcher hours for one file."""
    repository = HostileRepository.at(folder)
    ignore = "\n".join(["*a" * 12 + "*b", "**/" + "*a*/**/" * 12 + "b", "[a-z]*" * 20 + "!"]).encode()
    names = [*repository.files(dot_codequarryignore=ignore), (FILE, b"a" * 240, repository.blob(b"x = 1\n"))]
    repository.commit(repository.tree(*names))
    return repository


def deep_folders(folder: Path) -> HostileRepository:
    """Return a repository with one file ten thousand folders down."""
    repository = HostileRepository.at(folder)
    inner = repository.tree(*repository.files(a=b"x = 1\n"))
    for _ in range(10_000):
        inner = repository.tree((FOLDER, b"d", inner))
    repository.commit(repository.tree((FOLDER, b"d", inner), *repository.files(plain=b"y = 1\n")))
    return repository


def strange_names(folder: Path) -> HostileRepository:
    """Return a repository whose files have names that no file system would take, and one ordinary file."""
    repository = HostileRepository.at(folder)
    blob = repository.blob(b"x = 1\n")
    names = [
        b"n" * 100_000,
        b"..",
        b".",
        b".git",
        b"line\nfeed.py",
        b"esc\x1b[2J\x07.py",
        b"\xff\xfe.py",
        b"-rf",
        b"con.py.",
    ]
    inside = repository.tree((FILE, b"config", blob), (FILE, b"..", blob))
    entries = [(FILE, name, blob) for name in names]
    folders = [(FOLDER, b".git", inside), (FOLDER, b"..", inside), (FOLDER, "\u202egnp.exe".encode(), inside)]
    repository.commit(repository.tree(*entries, *folders, *repository.files(plain=b"y = 1\n")))
    return repository


def endless_lines(folder: Path) -> HostileRepository:
    """Return a repository of files that are one line, or nest deeper than any parser's stack."""
    repository = HostileRepository.at(folder)
    large = 300_000
    contents = {
        "line.py": b"x = '" + b"a" * large + b"'\n",
        "ten.txt": b"a" * 10_000_000,
        "open.py": b"(" * large,
        "open.json": b"[" * large,
        "open.js": b"{a:" * (large // 3),
        "open.cpp": b"a<" * (large // 2),
        "open.html": b"<b>" * (large // 3),
        "open.md": b"> " * (large // 2),
        "ticks.md": b"`" * large,
        "stars.md": b"*a _b " * (large // 6),
        "marks.py": (b"# autogenerated " * 20_000)[:large],
        "spaces.py": b" " * large + b"x",
        "names.java": b"class A { " * (large // 10),
        "notebook.ipynb": b'{"cells":[' + b"[" * large,
        # The same over many short lines: nothing about them looks minified.
        "deep.py": b"(\n" * (large // 2),
        "deep.json": b"[\n" * (large // 2),
        "deep.js": b"{a:[\n" * (large // 5),
        "deep.cpp": b"a<(\n" * (large // 4),
        "deep.rs": b"fn a() {\n" * (large // 9),
        "deep.rb": b"if a\n" * (large // 5),
        "deep.c": b"#if a\n" * (large // 6),
        "deep.md": b"- a\n" * (large // 4),
        "deep.php": b"<?php {\n" * (large // 8),
        "quotes.py": b'"""\n' * (large // 4),
        "deep.sh": b"$(\n" * (large // 3),
        "deep.html": b"<b>\n" * (large // 4),
    }
    entries = [(FILE, name.encode(), repository.blob(data)) for name, data in contents.items()]
    repository.commit(repository.tree(*entries, *repository.files(plain=b"y = 1\n")))
    return repository


def swollen_objects(folder: Path) -> HostileRepository:
    """Return a repository with a blob of 128 MB in 0.5 MB, a message of 20 MB and an ignore file of 5 MB."""
    repository = HostileRepository.at(folder)
    ignore = b"".join(b"name%d*\n" % number for number in range(400_000))
    entries = repository.files(plain=b"y = 1\n", zeros=bytes(1 << 27), dot_codequarryignore=ignore)
    repository.commit(repository.tree(*entries), b"m" * 20_000_000)
    return repository


def endless_patterns(folder: Path, patterns: int = 90_000, levels: int = 0) -> HostileRepository:
    """Return a repository whose ignore file has more patterns than any real one, and 10 ** levels paths."""
    repository = HostileRepository.at(folder)
    ignore = b"".join(b"*%d*a*\n" % number for number in range(100_000, 100_000 + patterns))
    inner = (FOLDER, b"d", _ten_times(repository, levels))
    repository.commit(repository.tree(*repository.files(dot_codequarryignore=ignore), inner))
    return repository
