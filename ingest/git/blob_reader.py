"""Reads many blobs of a mirror."""

import git as gitpython  # takes a tenth of a second to load, which only the processes that read files should take

from codequarry.ingest.git.objects import SHA1_HEX, Mirror, remedy_for
from codequarry.shared.errors import GitError


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
            return self._mirror.read_blob(blob)
        try:
            return self._git.get_object_data(blob)[3]
        except (ValueError, OSError, gitpython.GitCommandError) as error:
            why = str(error).partition("\n")[0]
            raise GitError(f"blob {blob} cannot be read ({why}); {remedy_for(self._git.working_dir)}") from error

    def close(self) -> None:
        """End the git process."""
        self._git.clear_cache()

    def __enter__(self) -> "BlobReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
