"""Finds the folders of a repository on this machine without git, which would read the repository's configuration.

A folder may point to a repository elsewhere only if that repository knows about the folder. Otherwise a downloaded
folder with a `.git` file could present any repository on this machine under its own name.
"""

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from codequarry.ingest.git.local_configuration import Configuration, read_configuration
from codequarry.ingest.git.plain_files import read_line
from codequarry.ingest.git.user_configuration import user_values
from codequarry.shared.errors import GitError

DOT_GIT = ".git"
POINTER = "gitdir: "


@dataclass(frozen=True, slots=True)
class LocalRepository:
    """A repository's folders: working tree (None if there is none), own folder, and the folder that worktrees share."""

    top: Path | None
    folder: Path
    common: Path
    configuration: Configuration

    @property
    def shown(self) -> Path:
        """The folder by which the user knows the repository."""
        return self.top or self.folder


def repository_at(place: Path, environment: Mapping[str, str]) -> LocalRepository:
    """Return the repository of a folder, bare or with a working tree; raise GitError if it is not usable."""
    with readable(place):
        return _with_tree(place, environment) if os.path.lexists(place / DOT_GIT) else _bare(place, environment)


def _bare(place: Path, environment: Mapping[str, str]) -> LocalRepository:
    if not _is_git_folder(place):
        raise GitError(f"{place} is not (or no longer) a git repository: give the folder of a repository")
    common = _common_of(place)
    check_owner((place, common), (place,), environment)
    return LocalRepository(None, place, common, read_configuration(place, common, environment))


def repository_around(place: Path, environment: Mapping[str, str]) -> LocalRepository | None:
    """Return the repository whose working tree contains a folder, or None if there is none."""
    with readable(place):
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
def readable(place: Path | str) -> Iterator[None]:
    """Raise GitError instead of OSError if part of the repository at ``place`` can't be read."""
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
    """Return the repository's own folder, to which a link or a file may point."""
    dot_git = place / DOT_GIT
    if dot_git.is_symlink():
        return dot_git.resolve()
    if dot_git.is_dir():
        return dot_git
    line = read_line(dot_git) or ""
    folder = (place / line.removeprefix(POINTER)).resolve()
    if not line.startswith(POINTER) or not folder.is_dir():
        raise GitError(f"{dot_git} does not name a repository; clone it again, or see `git worktree repair`")
    return folder


def _common_of(folder: Path) -> Path:
    line = read_line(folder / "commondir")
    if line is None:
        return folder
    common = (folder / line).resolve()
    # `git worktree add` creates COMMON/worktrees/NAME.
    if folder.resolve().parent != common / "worktrees":
        raise GitError(f"{folder} names {common} as its repository, but it is not one of that repository's worktrees")
    return common


def _top(place: Path, folder: Path, configuration: Configuration) -> Path | None:
    named = configuration.text("core.worktree")
    if named is None:
        return None if configuration.is_on("core.bare") and folder == place / DOT_GIT else place.resolve()
    top = (folder / named).resolve()
    if not top.is_relative_to(place.resolve()):
        raise GitError(f"the files of {place} are in {top} (core.worktree in its configuration): index that folder")
    return top


def _check_pointed_at(place: Path, folder: Path, configuration: Configuration) -> None:
    """Raise GitError if the repository to which a folder points does not know about that folder."""
    back = read_line(folder / "gitdir")
    if back is not None:
        knows = (folder / back).parent.resolve() == place.resolve()
    elif configuration.text("core.worktree") is not None:
        knows = True  # `_top` has checked it
    else:  # as created by `git init --separate-git-dir`
        knows = folder.name != DOT_GIT and not configuration.is_on("core.bare")
    if not knows:
        raise GitError(
            f"{place / DOT_GIT} points to the repository {folder}, which belongs to another working tree: index that "
            "tree; if this worktree was moved, run `git worktree repair` first"
        )


ANY = "*"


def check_owner(paths: Iterable[Path], names: Sequence[Path], environment: Mapping[str, str]) -> None:
    """Raise GitError if any of ``paths`` belongs to another user and our user's git configuration does not trust it.

    ``names`` are the folders by which ``safe.directory`` may name the repository; errors show the first.
    """
    ours = _our_users()
    if all(path.lstat().st_uid in ours for path in paths) or _is_trusted(names, environment):
        return
    shown = names[0]
    raise GitError(
        f"detected dubious ownership in repository at '{shown}', which belongs to another user; to add an exception: "
        f"git config --global --add safe.directory {shlex.quote(str(shown))}"
    )


def _our_users() -> frozenset[int]:
    """Return the ids of our user and, if that is root, of the user who ran sudo."""
    own = os.geteuid()
    caller = os.environ.get("SUDO_UID", "")
    return frozenset({own, int(caller)} if own == 0 and caller.isdecimal() else {own})


def _is_trusted(names: Sequence[Path], environment: Mapping[str, str]) -> bool:
    known = {os.path.realpath(name) for name in names}
    trusted = False
    # An empty value resets the list.
    for value in user_values("safe.directory", environment, "--type=path"):
        if not value:
            trusted = False
        elif value == ANY:
            trusted = True
        elif value.endswith("/*"):
            above = os.path.realpath(value[:-2])
            trusted |= any(name.startswith(f"{above.rstrip('/')}/") for name in known)
        else:
            trusted |= os.path.realpath(value) in known
    return trusted
