"""A mirror of a repository, whose git objects are read, never a working tree."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

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

    def read_blob(self, blob: str) -> bytes:
        """Return one blob's bytes; for many, a BlobReader is faster. Raise GitError if git can't read it."""
        return self.run("cat-file", "blob", blob, what=f"blob {blob} cannot be read; {remedy_for(self.folder)}")


def remedy_for(folder: object) -> str:
    """Return what to do if our own copy is damaged, for example by a power cut."""
    return f"if {folder} is damaged, delete it and run again to fetch it again"
