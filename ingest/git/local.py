"""Where a repository on this machine keeps its things; found by us, since git would read its configuration first.

A folder may point at a repository elsewhere only if that one knows of the folder. Else a downloaded folder with a
`.git` file could show us, under its own name, any repository of this machine.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from codequarry.ingest.git.local_configuration import Configuration, read_configuration
from codequarry.ingest.git.ownership import check_owner
from codequarry.ingest.git.plain_files import read_line
from codequarry.shared.errors import GitError

DOT_GIT = ".git"
POINTER = "gitdir: "


@dataclass(frozen=True, slots=True)
class LocalRepository:
    """A repository's folders: the working tree (None if it has none), its own, and what its working trees share."""

    top: Path | None
    folder: Path
    common: Path
    configuration: Configuration

    @property
    def shown(self) -> Path:
        """The folder that a person knows it by."""
        return self.top or self.folder


def repository_at(place: Path, environment: Mapping[str, str]) -> LocalRepository:
    """Return the repository of a folder that has one, bare or with a working tree; GitError says what is wrong."""
    with _readable(place):
        return _with_tree(place, environment) if os.path.lexists(place / DOT_GIT) else _bare(place, environment)


def _bare(place: Path, environment: Mapping[str, str]) -> LocalRepository:
    if not _is_git_folder(place):
        raise GitError(f"{place} is no git repository (any more): give the folder of one")
    common = _common_of(place)
    check_owner((place, common), (place,), environment)
    return LocalRepository(None, place, common, read_configuration(place, common, environment))


def repository_around(place: Path, environment: Mapping[str, str]) -> LocalRepository | None:
    """Return the repository in whose working tree a folder lies; None if there is none."""
    with _readable(place):
        return _around(place, environment)


def _around(place: Path, environment: Mapping[str, str]) -> LocalRepository | None:
    device = place.stat().st_dev
    for folder in (place, *place.parents):
        if folder.stat().st_dev != device or _is_git_folder(folder):
            return None
        if _is_git_folder(folder / DOT_GIT) or (folder / DOT_GIT).is_file():
            found = _with_tree(folder, environment)
            return found if found.top and place.is_relative_to(found.top) else None
    return None


@contextmanager
def _readable(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise GitError(f"{place} can't be read: {error.strerror}: {error.filename}") from None


def _is_git_folder(folder: Path) -> bool:
    has_objects = (folder / "objects").is_dir() or os.path.lexists(folder / "commondir")
    return os.path.lexists(folder / "HEAD") and has_objects


def _with_tree(place: Path, environment: Mapping[str, str]) -> LocalRepository:
    folder = _folder_of(place)
    common = _common_of(folder)
    check_owner((place, place / DOT_GIT, folder, common), (place, folder), environment)
    configuration = read_configuration(folder, common, environment)
    top = _top(place, folder, configuration)
    if folder != place / DOT_GIT:
        _check_pointed_at(place, folder, configuration)
    return LocalRepository(top, folder, common, configuration)


def _folder_of(place: Path) -> Path:
    """Return the repository's own folder, which a link or a file may name."""
    dot_git = place / DOT_GIT
    if dot_git.is_symlink():
        return dot_git.resolve()
    if dot_git.is_dir():
        return dot_git
    line = read_line(dot_git) or ""
    folder = (place / line.removeprefix(POINTER)).resolve()
    if not line.startswith(POINTER) or not folder.is_dir():
        raise GitError(f"{dot_git} names no folder of a repository; clone it again, or see `git worktree repair`")
    return folder


def _common_of(folder: Path) -> Path:
    line = read_line(folder / "commondir")
    if line is None:
        return folder
    common = (folder / line).resolve()
    # `git worktree add` makes COMMON/worktrees/NAME.
    if folder.resolve().parent != common / "worktrees":
        raise GitError(f"{folder} says that its repository is {common}, which knows nothing of it")
    return common


def _top(place: Path, folder: Path, configuration: Configuration) -> Path | None:
    named = configuration.text("core.worktree")
    if named is None:
        return None if configuration.is_on("core.bare") and folder == place / DOT_GIT else place.resolve()
    top = (folder / named).resolve()
    if not top.is_relative_to(place.resolve()):
        raise GitError(f"the configuration of {place} says that its files are in {top} (core.worktree): index that")
    return top


def _check_pointed_at(place: Path, folder: Path, configuration: Configuration) -> None:
    """Raise GitError if the repository to which a folder points does not know of that folder."""
    back = read_line(folder / "gitdir")
    if back is not None:
        knows = (folder / back).parent.resolve() == place.resolve()
    elif configuration.text("core.worktree") is not None:
        knows = True  # `_top` has compared it
    else:  # as `git init --separate-git-dir` leaves it
        knows = folder.name != DOT_GIT and not configuration.is_on("core.bare")
    if not knows:
        raise GitError(
            f"{place / DOT_GIT} points at the repository {folder}, which belongs to another working tree: index that; "
            "of a worktree that was moved, run `git worktree repair` first"
        )
