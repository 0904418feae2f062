"""Reads the files in a package from its registry: wheels, crates, tarballs, jars, Debian packages."""

import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

# Larger files are generated, minified or data.
MAX_BYTES = 400_000
# The errors of a broken archive.
BROKEN = (OSError, tarfile.TarError, zipfile.BadZipFile)


def files_of(archive: Path, wanted: frozenset[str]) -> Iterator[tuple[str, bytes]]:
    """Yield path and bytes of each file with a wanted suffix or name; raise one of BROKEN if the archive is broken."""
    if archive.suffix == ".deb":
        yield from _tar_stream(archive, wanted)
    elif zipfile.is_zipfile(archive):
        yield from _zip(archive, wanted)
    else:
        with tarfile.open(archive) as tar:
            yield from _tar(tar, wanted)


def is_wanted(path: str, wanted: frozenset[str]) -> bool:
    """Return whether the name of a path is wanted or has a wanted suffix."""
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
    # dpkg-deb knows all compressions of Debian packages. It also complains if its output is not read to the end.
    command = ["dpkg-deb", "--fsys-tarfile", str(archive)]
    with (
        tempfile.TemporaryFile() as messages,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=messages) as process,
    ):
        assert process.stdout is not None
        broken = None
        try:
            with tarfile.open(fileobj=process.stdout, mode="r|") as tar:
                yield from _tar(tar, wanted)
        except tarfile.TarError as error:
            broken = error
        while process.stdout.read(1 << 20):
            pass  # the end of the tarball
        if process.wait():
            messages.seek(0)
            raise OSError(messages.read().decode(errors="replace").strip()) from broken
        if broken:
            raise broken
