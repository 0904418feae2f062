"""Options that name one version of a repository."""

from typing import TYPE_CHECKING

from codequarry.shared.errors import UsageError

if TYPE_CHECKING:
    from codequarry.shared.refs import Ref


def asked_ref(
    *,
    branch: str | None = None,
    tag: str | None = None,
    commit: str | None = None,
    pull: int | None = None,
    workspace: str | None = None,
) -> "Ref | None":
    """Return the version that was asked for, None where no option was given; UsageError where several were."""
    from pathlib import Path

    from codequarry.shared.refs import Ref, commit_digits

    given = {"--branch": branch, "--tag": tag, "--commit": commit, "--pull": pull, "--workspace": workspace}
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)} exclude each other: name one version")
    if branch is not None:
        return Ref("branch", branch)
    if tag is not None:
        return Ref("tag", tag)
    if commit is not None:
        return Ref("commit", commit_digits(commit))
    if pull is not None:
        return Ref("pull", str(pull))
    if workspace is not None:
        return Ref("workspace", str(Path(workspace).expanduser().resolve()))
    return None
