"""The files in a package as its registry gives it: wheels, crates, tarballs, jars, Debian packages."""

import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

# A larger file is generated, minified or data.
MAX_BYTES = 400_000
# What an archive that is broken raises.
BROKEN = (OSError, tarfile.TarError, zipfile.BadZipFile)


def files_of(archive: Path, wanted: frozenset[str]) -> Iterator[tuple[str, bytes]]:
    """Yield path and bytes of each file whose lower-case suffix, or whole name where it has none, is wanted.

    Paths are as in the archive. Raise one of BROKEN for one that is.
    """
    if archive.suffix == ".deb":
        yield from _tar_stream(archive, wanted)
    elif zipfile.is_zipfile(archive):
        yield from _zip(archive, wanted)
    else:
        with tarfile.open(archive) as tar:
            yield from _tar(tar, wanted)


def is_wanted(path: str, wanted: frozenset[str]) -> bool:
    """Tell whether a path ends in a wanted suffix, or is called so."""
    name = path.rsplit("/", 1)[-1].lower()
    return name in wanted or any(name.endswith(suffix) for suffix in wanted if suffix.startswith("."))


def _zip(archive: Path, wanted: frozenset[str]) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(archive) as file:
        for info in file.infolist():
            if not info.is_dir() and info.file_size <= MAX_BYTES and is_wanted(info.filename, wanted):
                yield info.filename, file.read(info)


def _tar(tar: tarfile.TarFile, wanted: frozenset[str]) -> Iterator[tuple[str, bytes]]:
    for member in tar:
        if member.isfile() and member.size <= MAX_BYTES and is_wanted(member.name, wanted):
            opened = tar.extractfile(member)
            if opened is not None:
                yield member.name, opened.read()


def _tar_stream(archive: Path, wanted: frozenset[str]) -> Iterator[tuple[str, bytes]]:
    # A Debian package holds a tarball in any of four compressions; its own tool knows them all. What it says is kept
    # for where it fails: it complains as well where nobody reads to the end.
    command = ["dpkg-deb", "--fsys-tarfile", str(archive)]
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said) as process,
    ):
        assert process.stdout is not None
        broken = None
        try:
            with tarfile.open(fileobj=process.stdout, mode="r|") as tar:
                yield from _tar(tar, wanted)
        except tarfile.TarError as error:
            broken = error
        while process.stdout.read(1 << 20):
            pass  # what a tarball ends with
        if process.wait():
            said.seek(0)
            raise OSError(said.read().decode(errors="replace").strip()) from broken
        if broken:
            raise broken
