"""What is wrong with a repository on this machine that git can't read completely, and what its user can do."""

import re
from pathlib import Path

from codequarry.ingest.git.local import LocalRepository

# In git's errors about missing and damaged objects, as shown by ``process.explain``.
_SYMPTOMS = re.compile(
    r"died with error|ot our ref|ould not read|nable to read|bad (tree|object)|traverse parents|corrupt|inflate|unpack"
)
PARTIAL = "it is a partial clone: complete it with `git fetch --refetch` or index its origin"


def diagnosis(repository: LocalRepository, complaint: str) -> str:
    """Return what git's complaint means and what to do about it, or "" if objects are not what it is about."""
    if repository.configuration.is_partial_clone():
        return PARTIAL
    if not _SYMPTOMS.search(complaint):
        return ""
    common = repository.common
    grafts = common / "info" / "grafts"
    if _has_content(grafts):
        return f"{grafts} hides commits that are missing, and grafts are not followed: fetch them, or index the origin"
    if any((common / "refs" / "replace").glob("*")):
        missing = "it has replacements (refs/replace), which are not followed, and what they replace is missing"
        return f"{missing} or damaged: fetch it, or index the origin"
    if _has_content(common / "shallow"):
        return (
            "it is a shallow clone: its objects are missing or damaged, so complete it with `git fetch --refetch` or "
            "`git fetch --unshallow`, or clone it again"
        )
    return f"its objects are missing or damaged: run `git fsck --full` in {repository.shown}, or clone it again"


def _has_content(path: Path) -> bool:
    try:
        return path.lstat().st_size > 0
    except OSError:
        return False
