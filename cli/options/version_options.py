"""Options that name one version of a repository."""

import os
from typing import TYPE_CHECKING

from codequarry.shared.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from codequarry.shared.versions.refs import Ref


_WORKSPACE = "workspace:"


def ref_from_options(
    *,
    branch: str | None = None,
    tag: str | None = None,
    commit: str | None = None,
    pull: int | None = None,
    workspace: str | None = None,
) -> "Ref | None":
    """Return the version that the options name, or None; raise UsageError if they name several."""
    from codequarry.shared.versions.refs import Ref, commit_digits

    given = {"--branch": branch, "--tag": tag, "--commit": commit, "--pull": pull, "--workspace": workspace}
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)} are mutually exclusive: name one version")
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
    """Return the top folder of a folder's working tree, without a git process, which would delay a search."""
    from pathlib import Path

    folder = Path(named).expanduser().resolve()
    if not folder.exists():  # a deleted working tree is named by its former path
        return str(folder)
    return str(next((place for place in (folder, *folder.parents) if _is_top(place)), folder))


def _is_top(folder: "Path") -> bool:
    """Return whether a folder has a ``.git`` folder, or the ``.git`` file of a linked working tree or submodule."""
    entry = folder / ".git"
    # Git ignores an empty folder with that name.
    return entry.is_file() or (entry / "HEAD").exists()


def _as_text(name: str) -> str:
    """Return a name as the index stores it: escaped if it is not UTF-8."""
    from codequarry.ingest.git.paths import printable

    try:
        name.encode()
    except UnicodeEncodeError:
        return printable(os.fsencode(name))
    return name


def in_full(version: str | None) -> str | None:
    """Return a version as the index knows it: the folder of ``workspace:FOLDER`` becomes its working tree's top."""
    folder = version.removeprefix(_WORKSPACE) if version and version.startswith(_WORKSPACE) else None
    return version if folder is None else _WORKSPACE + _top_folder(folder)


def in_full_range(versions: str) -> str:
    """Return a range with both versions in full; raise UsageError if it is not a range."""
    from codequarry.search_api.query.diff_request import read_range

    before, after, from_merge_base = read_range(versions)
    return f"{in_full(before)}{'...' if from_merge_base else '..'}{in_full(after)}"
