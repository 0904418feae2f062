"""Options that name one version of a repository."""

import os
from typing import TYPE_CHECKING

from codequarry.shared.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from codequarry.shared.versions.refs import Ref


# An option that may be given once is a list too: otherwise its last value would silently replace the others.
Names = list[str] | None
PullNumbers = list[int] | None
_WORKSPACE = "workspace:"


def ref_from_options(
    *, branch: Names = None, tag: Names = None, commit: Names = None, pull: PullNumbers = None, workspace: Names = None
) -> "Ref | None":
    """Return the version that the options name, or None; raise UsageError if they name several."""
    found = refs_from_options(branch=branch, tag=tag, commit=commit, pull=pull, workspace=workspace)
    given = {"--branch": branch, "--tag": tag, "--commit": commit, "--pull": pull, "--workspace": workspace}
    named = [name for name, values in given.items() if values]
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)} are mutually exclusive: name one version")
    if len(found) > 1:
        raise UsageError(f"{named[0]} is given {len(found)} times: name one version")
    return next(iter(found), None)


def refs_from_options(
    *, branch: Names = None, tag: Names = None, commit: Names = None, pull: PullNumbers = None, workspace: Names = None
) -> "list[Ref]":
    """Return the versions that the options name; raise UsageError for a commit that can't be one."""
    from codequarry.shared.versions.refs import Ref, commit_digits

    found = [Ref("branch", _as_text(name)) for name in branch or ()]
    found += [Ref("tag", _as_text(name)) for name in tag or ()]
    found += [Ref("commit", commit_digits(digits)) for digits in commit or ()]
    found += [Ref("pull", str(number)) for number in pull or ()]
    return found + [Ref("workspace", _top_folder(folder)) for folder in workspace or ()]


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
    from codequarry.shared.paths import printable

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
