"""Reads a mirror's blobs and history from git objects, never from a working tree."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import git as gitpython

from codequarry.ingest.git.process import run_git
from codequarry.shared.errors import GitError

SHA1_HEX = 40


@dataclass(frozen=True, slots=True)
class Mirror:
    """A bare copy of a repository, and the environment in which git reads it."""

    folder: Path
    environment: Mapping[str, str] = field(repr=False)

    def run(self, *arguments: str, what: str) -> bytes:
        """Run a git command that reads the mirror."""
        return run_git((f"--git-dir={self.folder}", *arguments), self.environment, what=what)

    def commit_of(self, revision: str) -> str | None:
        """Return the commit that a revision names, with tags peeled, or None if the mirror lacks it."""
        if not (self.folder / "HEAD").exists():
            return None
        verify = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        try:
            return self.run(*verify, what=revision).decode().strip()
        except GitError:
            return None


def _remedy(folder: object) -> str:
    """Return what to do if our own copy is damaged, for example by a power cut."""
    return f"if {folder} is damaged, delete it and run again to fetch it again"


class BlobReader:
    """Reads blobs through one ``git cat-file --batch`` process that stays open."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._git = gitpython.Git(mirror.folder)
        self._git.update_environment(**mirror.environment, GIT_DIR=str(mirror.folder))

    def read(self, blob: str) -> bytes:
        """Return a blob's bytes; the caller has checked its size."""
        if len(blob) != SHA1_HEX:
            # GitPython reads only SHA-1 names. Other repositories are so rare that a process per blob is acceptable.
            what = f"blob {blob} cannot be read; {_remedy(self._mirror.folder)}"
            return self._mirror.run("cat-file", "blob", blob, what=what)
        try:
            return self._git.get_object_data(blob)[3]
        except (ValueError, OSError, gitpython.GitCommandError) as error:
            why = str(error).partition("\n")[0]
            raise GitError(f"blob {blob} cannot be read ({why}); {_remedy(self._git.working_dir)}") from error

    def close(self) -> None:
        """End the git process."""
        self._git.clear_cache()

    def __enter__(self) -> "BlobReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
