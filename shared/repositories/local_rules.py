"""Rules for local folders that a request names: git must not read anything outside the configured roots.

Links, ``.git`` files, worktrees and alternates can lead git to folders that the requesting user may not read.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

# Git itself follows alternates through at most five repositories.
MAX_FOLDERS = 10
# Files that name a folder have one line, and lists of alternates a few.
MAX_FILE_BYTES = 100_000
_GITDIR = "gitdir: "


def permitted_folder(path: str, roots: Sequence[Path]) -> Path | None:
    """Return a folder with its links resolved, or None if it or anything that git would read is outside the roots."""
    with suppress(OSError, ValueError, RuntimeError):
        known = [root.expanduser().resolve() for root in roots]
        folder = Path(path)
        if folder.is_absolute() and _is_below(folder, known) and _stays_below(folder.resolve(), known):
            return folder.resolve()
    return None


def _is_below(path: Path, roots: Sequence[Path]) -> bool:
    real = path.resolve()
    return any(real.is_relative_to(root) for root in roots)


def _stays_below(folder: Path, roots: Sequence[Path]) -> bool:
    """Return whether all folders that git reads for a repository, and the targets of their links, are below a root."""
    waiting, seen = list(_git_folders(folder)), set[Path]()
    while waiting:
        git_folder = waiting.pop().resolve()
        if git_folder in seen:
            continue
        seen.add(git_folder)
        if len(seen) > MAX_FOLDERS or not _is_below(git_folder, roots):
            return False
        if not all(_is_below(link, roots) for link in _links(git_folder)):
            return False
        waiting += _named_by(git_folder)
    return True


def _git_folders(folder: Path) -> Iterator[Path]:
    """Yield the git folder of a checkout, or the folder itself if it is a bare repository."""
    place = folder / ".git"
    if place.is_file():
        text = _read(place)
        yield folder / text.removeprefix(_GITDIR).strip()
    elif place.is_dir():
        yield place
    elif (folder / "HEAD").exists():
        yield folder


def _named_by(git_folder: Path) -> Iterator[Path]:
    if (git_folder / "commondir").is_file():
        yield git_folder / _read(git_folder / "commondir").strip()
    objects = git_folder / "objects" if git_folder.name != "objects" else git_folder
    alternates = objects / "info" / "alternates"
    if alternates.is_file():
        for line in _read(alternates).splitlines():
            if line.strip() and not line.startswith("#"):
                yield objects / line.strip()


def _links(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(parent, name)
            if path.is_symlink():
                yield path


def _read(path: Path) -> str:
    with path.open(encoding="utf-8", errors="surrogateescape") as file:
        return file.read(MAX_FILE_BYTES)
