"""Options that select repositories, languages, paths and one version."""

from typing import TYPE_CHECKING, Annotated

import typer

from codequarry.cli.options.version_options import ref_from_options
from codequarry.shared.errors import UsageError

if TYPE_CHECKING:
    from codequarry.search_api.query.version_query import VersionQuery

Names = list[str] | None

Repos = Annotated[Names, typer.Option("--repo", metavar="NAME", help="Only this repository (repeatable).")]
Languages = Annotated[
    Names, typer.Option("--language", "--lang", metavar="NAME", help="Only this language (repeatable).")
]
Paths = Annotated[
    Names, typer.Option("--path", metavar="GLOB", help="Only paths that match; '!GLOB' excludes (repeatable).")
]
Branch = Annotated[
    str | None, typer.Option("--branch", metavar="B", help="An indexed branch, or a pattern such as 'feature/*'.")
]
Tag = Annotated[str | None, typer.Option("--tag", metavar="T", help="An indexed tag, or a pattern such as 'v2.*'.")]
AllBranches = Annotated[bool, typer.Option("--all-branches", help="Every indexed branch.")]
AllVersions = Annotated[
    bool, typer.Option("--all-versions", help="Every indexed branch, tag, pull request and single commit.")
]
Commit = Annotated[
    str | None, typer.Option("--commit", metavar="SHA", help="Any commit in the index, in full or abbreviated.")
]
Pull = Annotated[int | None, typer.Option("--pull", metavar="N", min=1, help="An indexed pull or merge request.")]
Workspace = Annotated[str | None, typer.Option("--workspace", metavar="PATH", help="An indexed working tree.")]


def version_filter(
    branch: str | None, tag: str | None, commit: str | None, pull: int | None, workspace: str | None
) -> dict[str, str]:
    """Return the search filter for the version that the options name, or no filter if they name none."""
    ref = ref_from_options(branch=branch, tag=tag, commit=commit, pull=pull, workspace=workspace)
    if ref is None:
        return {}
    return {"commit": ref.value} if ref.kind == "commit" else {"ref": ref.key}


def versions_filter(all_branches: bool, all_versions: bool, one: dict[str, str]) -> dict[str, str]:
    """Return the search filter for all branches or versions, or else for the ``one`` version that is named."""
    if (all_branches or all_versions) + bool(one) + (all_branches and all_versions) > 1:
        raise UsageError("name one version or pattern, or use either --all-branches or --all-versions")
    return {"branch": "*"} if all_branches else {"ref": "*"} if all_versions else one


def version_query(
    branch: str | None, tag: str | None, commit: str | None, pull: int | None, workspace: str | None
) -> "VersionQuery":
    """Return the version that the options name, in the form that lookups expect."""
    from codequarry.search_api.query.version_query import VersionQuery, VersionSpecifier

    asked = version_filter(branch, tag, commit, pull, workspace)
    names = tuple(VersionSpecifier("ref", text) for name, text in asked.items() if name == "ref")
    return VersionQuery(
        names, tuple(VersionSpecifier("commit", text) for name, text in asked.items() if name == "commit")
    )
