"""Bare repositories as an attacker writes them, with objects that no ordinary git command makes."""

import subprocess
import zlib
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path

FILE, FOLDER, LINK = "100644", "40000", "120000"
# The file that programs leave beside a repository if they run, which they must not.
RAN = "ran"


@dataclass(frozen=True, slots=True)
class HostileRepository:
    """A bare repository whose objects are written byte by byte."""

    folder: Path

    @classmethod
    def at(cls, folder: Path) -> "HostileRepository":
        """Make an empty repository."""
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(folder)], check=True)
        return cls(folder)

    def blob(self, data: bytes) -> str:
        """Write a blob."""
        return self.write(b"blob", data)

    def tree(self, *entries: tuple[str, bytes, str]) -> str:
        """Write a tree of modes, names and objects, without checks or sorting."""
        lines = (mode.encode() + b" " + name + b"\0" + bytes.fromhex(object_) for mode, name, object_ in entries)
        return self.write(b"tree", b"".join(lines))

    def commit(self, tree: str, message: bytes = b"c\n") -> str:
        """Write a commit and make it the tip of main."""
        person = b"a <a@example.org> 1700000000 +0000"
        head = b"tree " + tree.encode() + b"\nauthor " + person + b"\ncommitter " + person + b"\n\n"
        commit = self.write(b"commit", head + message)
        (self.folder / "refs" / "heads" / "main").write_text(commit + "\n")
        return commit

    def files(self, **contents: bytes) -> list[tuple[str, bytes, str]]:
        """Write blobs and return their entries; `dot_` at the beginning of a name stands for a dot."""
        named = {name.replace("dot_", ".").encode(): data for name, data in contents.items()}
        return [(FILE, name, self.blob(data)) for name, data in sorted(named.items())]

    def write(self, kind: bytes, data: bytes) -> str:
        """Write an object and return its name."""
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
    """Write a tree that holds another tree ten times, which holds a third tree ten times, and so on."""
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
    """Return a repository with a file ten thousand folders deep."""
    repository = HostileRepository.at(folder)
    inner = repository.tree(*repository.files(a=b"x = 1\n"))
    for _ in range(10_000):
        inner = repository.tree((FOLDER, b"d", inner))
    repository.commit(repository.tree((FOLDER, b"d", inner), *repository.files(plain=b"y = 1\n")))
    return repository


def strange_names(folder: Path) -> HostileRepository:
    """Return a repository with file names that no file system accepts, and one ordinary file."""
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
    """Return a repository of files that have a single line, or nest deeper than any parser's stack."""
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
        # The same over many short lines, so that nothing looks minified.
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


def many_refs(folder: Path) -> HostileRepository:
    """Return a repository with a million branches."""
    repository = HostileRepository.at(folder)
    commit = repository.commit(repository.tree(*repository.files(plain=b"y = 1\n")))
    lines = (f"{commit} refs/heads/b{number:07}\n" for number in range(1_000_000))
    with (folder / "packed-refs").open("w") as file:
        file.write("# pack-refs with: peeled fully-peeled sorted \n")
        file.writelines(lines)
    return repository


def nested_tags(folder: Path) -> HostileRepository:
    """Return a repository whose tag `deep` is a tag of a tag of a tag, ten thousand times."""
    repository = HostileRepository.at(folder)
    inner, kind = repository.commit(repository.tree(*repository.files(plain=b"y = 1\n"))), b"commit"
    for number in range(10_000):
        head = b"object %b\ntype %b\ntag t%d\n" % (inner.encode(), kind, number)
        inner = repository.write(b"tag", head + b"tagger a <a@example.org> 1700000000 +0000\n\nt\n")
        kind = b"tag"
    (folder / "refs" / "tags" / "deep").write_text(inner + "\n")
    return repository


def disorder(folder: Path) -> HostileRepository:
    """Return a repository whose tree has duplicate, unsorted entries, wrong modes, and links to themselves."""
    repository = HostileRepository.at(folder)
    first, second = repository.blob(b"x = 1\n"), repository.blob(b"x = 2\n")
    inside = repository.tree((FILE, b"z.py", first), (FILE, b"a.py", second), (FILE, b"z.py", second))
    entries = [
        (FILE, b"z.py", first),
        (FILE, b"a.py", second),
        (FILE, b"a.py", first),
        (FOLDER, b"twice", inside),
        (FILE, b"twice", first),
        (LINK, b"loop", repository.blob(b"loop")),
        (LINK, b"round", repository.blob(b"twice/../round")),
        (LINK, b"out", repository.blob(b"/etc/passwd")),
        ("160000", b"module", "1" * 40),
        ("100600", b"mode.py", first),
        ("0", b"none.py", first),
    ]
    repository.commit(repository.tree(*entries, *repository.files(plain=b"y = 1\n")))
    return repository


def attributes(folder: Path) -> HostileRepository:
    """Return a repository whose attributes ask for programs that its own configuration names."""
    repository = HostileRepository.at(folder)
    lines = b"* filter=evil diff=evil merge=evil export-subst ident text eol=crlf working-tree-encoding=UTF-16\n"
    entries = repository.files(dot_gitattributes=lines, plain=b"y = '$Format:%H$ $Id$'\n")
    repository.commit(repository.tree(*entries))
    ran = folder.parent / RAN
    program = f"touch {ran}"
    with (folder / "config").open("a") as file:
        for section in ('filter "evil"', 'diff "evil"', 'merge "evil"'):
            file.write(f"[{section}]\n")
            for name in ("clean", "smudge", "process", "textconv", "command", "driver"):
                file.write(f"\t{name} = {program}\n")
        file.write(f"\trequired = true\n[core]\n\tattributesFile = {folder}/evil\n\thooksPath = {folder}/hooks\n")
        file.write(f"[uploadpack]\n\tpackObjectsHook = {program}\n[core]\n\tfsmonitor = {program}\n")
    (folder / "info" / "attributes").write_text("* filter=evil\n")
    hook = folder / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{program}\n")
    hook.chmod(0o755)
    return repository


def streamed_blob(folder: Path) -> HostileRepository:
    """Return a repository with a blob of 640 MB in 0.6 MB; git never holds more than 512 MB in memory."""
    repository = HostileRepository.at(folder)
    size, part = 640 << 20, bytes(1 << 20)
    head = b"blob %d\0" % size
    name, packer = sha1(head), zlib.compressobj(9)
    packed = [packer.compress(head)]
    for _ in range(size // len(part)):
        name.update(part)
        packed.append(packer.compress(part))
    path = folder / "objects" / name.hexdigest()[:2] / name.hexdigest()[2:]
    path.parent.mkdir()
    path.write_bytes(b"".join([*packed, packer.flush()]))
    zeros = (FILE, b"zeros.py", name.hexdigest())
    repository.commit(repository.tree(*repository.files(plain=b"y = 1\n"), zeros))
    return repository


def delta_bomb(folder: Path) -> HostileRepository:
    """Return a repository with a file of 4 GB; each delta in its pack is sixteen copies of the object before."""
    repository = HostileRepository.at(folder)
    base = bytes(1 << 20)
    size, packed = len(base), [(b"", _object_head(3, len(base)) + zlib.compress(base))]
    for _ in range(3):
        delta = _number(size) + _number(size * 16) + _copies(size, 16)
        packed.append((delta, b""))
        size *= 16
    pack, places = b"PACK" + (2).to_bytes(4, "big") + len(packed).to_bytes(4, "big"), []
    for delta, whole in packed:
        places.append(len(pack))
        if delta:
            back = _offset(places[-1] - places[-2])
            whole = _object_head(6, len(delta)) + back + zlib.compress(delta)
        pack += whole
    pack += sha1(pack).digest()
    # The name of the last object is only known after making it. Any name will do until the object is read.
    names = [sha1(b"blob %d\0" % len(base) + base).digest(), *(sha1(b"%d" % at).digest() for at in range(1, 4))]
    _write_pack(folder / "objects" / "pack", pack, places, names)
    bomb = (FILE, b"bomb.py", names[-1].hex())
    repository.commit(repository.tree(bomb, *repository.files(plain=b"y = 1\n")))
    return repository


def _object_head(kind: int, size: int) -> bytes:
    head, size = [(kind << 4) | (size & 15)], size >> 4
    while size:
        head[-1] |= 128
        head, size = [*head, size & 127], size >> 7
    return bytes(head)


def _number(size: int) -> bytes:
    digits = [size & 127]
    while size := size >> 7:
        digits[-1] |= 128
        digits.append(size & 127)
    return bytes(digits)


def _offset(back: int) -> bytes:
    digits = [back & 127]
    while back := back >> 7:
        back -= 1
        digits.insert(0, 128 | (back & 127))
    return bytes(digits)


def _copies(size: int, times: int) -> bytes:
    """Return the delta instructions that copy all of the base this many times, at most 16 MB at once."""
    most = (1 << 24) - 1
    once = b""
    for start in range(0, size, most):
        count = min(most, size - start)
        once += b"\xff" + start.to_bytes(4, "little") + count.to_bytes(3, "little")
    return once * times


def _write_pack(folder: Path, pack: bytes, places: list[int], names: list[bytes]) -> None:
    """Write a pack and its index (version 2)."""
    order = sorted(range(len(names)), key=names.__getitem__)
    ends = [*places[1:], len(pack) - 20]
    fan = b"".join(sum(name[0] <= first for name in names).to_bytes(4, "big") for first in range(256))
    sums = b"".join(zlib.crc32(pack[places[at] : ends[at]]).to_bytes(4, "big") for at in order)
    index = b"\xfftOc" + (2).to_bytes(4, "big") + fan + b"".join(names[at] for at in order) + sums
    index += b"".join(places[at].to_bytes(4, "big") for at in order) + pack[-20:]
    name = pack[-20:].hex()
    (folder / f"pack-{name}.pack").write_bytes(pack)
    (folder / f"pack-{name}.idx").write_bytes(index + sha1(index).digest())
