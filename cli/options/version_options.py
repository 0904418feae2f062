"""Options that name one version of a repository."""

import os
from typing import TYPE_CHECKING

from codequarry.shared.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from codequarry.shared.versions.refs import Ref


def ref_from_options(
    *,
    branch: str | None = None,
    tag: str | None = None,
    commit: str | None = None,
    pull: int | None = None,
    workspace: str | None = None,
) -> "Ref | None":
    """Return the version that was asked for, None where no option was given; UsageError where several were.

    A working tree may be named by any folder in it; one whose folder is gone, by what its path was.
    """
    from codequarry.shared.versions.refs import Ref, commit_digits

    given = {"--branch": branch, "--tag": tag, "--commit": commit, "--pull": pull, "--workspace": workspace}
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)} exclude each other: name one version")
    if branch is not None:
        return Ref("branch", _as_text(branch))
    if tag is not None:
        return Ref("tag", _as_text(tag))
    if commit is not None:
        return Ref("commit", commit_digits(commit))
    if pull is not None:
        return Ref("pull", str(pull))
    if workspace is not None:
        return Ref("workspace", _top_folder(workspace))
    return None


def _top_folder(named: str) -> str:
    """Return the top folder of the working tree that a folder lies in, as ``git rev-parse --show-toplevel`` does.

    Without git: a search shall not wait for a process. The folder itself where there is no such tree.
    """
    from pathlib import Path

    folder = Path(named).expanduser().resolve()
    if not folder.exists():
        return str(folder)
    return str(next((one for one in (folder, *folder.parents) if _is_top(one)), folder))


def _is_top(folder: "Path") -> bool:
    """Tell whether git keeps its own things here: a folder, or in linked working trees and submodules a file."""
    own = folder / ".git"
    # An empty folder of that name is nothing to git.
    return own.is_file() or (own / "HEAD").exists()


def _as_text(name: str) -> str:
    """Return what was typed as the index writes it, where it is not UTF-8."""
    from codequarry.ingest.git.paths import printable

    try:
        name.encode()
    except UnicodeEncodeError:
        return printable(os.fsencode(name))
    return name
