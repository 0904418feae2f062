"""Options that select repositories, languages, paths and versions."""

from typing import TYPE_CHECKING, Annotated

import typer

from codequarry.cli.options.version_options import Names, PullNumbers, ref_from_options, refs_from_options
from codequarry.shared.errors import UsageError

if TYPE_CHECKING:
    from codequarry.search_api.query.version_query import VersionQuery

# How long --index waits for a job of another process. A job in the command's own process takes as long as it needs.
WAIT_FOR_OTHERS_MS = 60_000

Repos = Annotated[Names, typer.Option("--repo", metavar="NAME", help="Only this repository (repeatable).")]
Languages = Annotated[
    Names, typer.Option("--language", "--lang", metavar="NAME", help="Only this language (repeatable).")
]
Paths = Annotated[
    Names, typer.Option("--path", metavar="GLOB", help="Only paths that match; '!GLOB' excludes (repeatable).")
]
Authors = Annotated[
    Names,
    typer.Option(
        "--author",
        metavar="NAME",
        help="Only files last changed by this author, or their commits (repeatable).",
    ),
]
Since = Annotated[
    str | None,
    typer.Option("--since", metavar="DAY", help="Only files last changed, or commits made, since this day."),
]
Until = Annotated[
    str | None, typer.Option("--until", metavar="DAY", help="Only files last changed, or commits made, up to that day.")
]
Branch = Annotated[
    Names, typer.Option("--branch", metavar="B", help="An indexed branch, or a pattern such as 'feature/*'.")
]
Tag = Annotated[Names, typer.Option("--tag", metavar="T", help="An indexed tag, or a pattern such as 'v2.*'.")]
AllBranches = Annotated[bool, typer.Option("--all-branches", help="Every indexed branch.")]
AllVersions = Annotated[
    bool, typer.Option("--all-versions", help="Every indexed branch, tag, pull request and single commit.")
]
Commit = Annotated[
    Names, typer.Option("--commit", metavar="SHA", help="Any commit in the index, in full or abbreviated.")
]
Pull = Annotated[PullNumbers, typer.Option("--pull", metavar="N", min=1, help="An indexed pull or merge request.")]
Workspace = Annotated[Names, typer.Option("--workspace", metavar="PATH", help="An indexed working tree.")]


Index = Annotated[bool, typer.Option("--index", help="First index the named versions that are missing or outdated.")]


def version_filter(
    branch: Names, tag: Names, commit: Names, pull: PullNumbers, workspace: Names
) -> dict[str, list[str]]:
    """Return the search filter for the versions that the options name, or no filter if they name none."""
    refs = refs_from_options(branch=branch, tag=tag, commit=commit, pull=pull, workspace=workspace)
    if not refs:
        return {}
    if commit and len(commit) == len(refs):
        return {"commit": [ref.value for ref in refs]}
    # The filters "commit" and "ref" together would mean a commit that lies on a version.
    return {"ref": [ref.key for ref in refs]}


def place_filters(repo: Names, language: Names, path: Names, versions: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the filters that the options for places name, and those for ``versions``."""
    given = {"repo": repo, "language": language, "path": path}
    return {name: list(values) for name, values in given.items() if values} | versions


def versions_filter(all_branches: bool, all_versions: bool, named: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the search filter for all branches or versions, or else for the versions that are ``named``."""
    if (all_branches or all_versions) + bool(named) + (all_branches and all_versions) > 1:
        raise UsageError("name versions or patterns, or use either --all-branches or --all-versions")
    return {"branch": ["*"]} if all_branches else {"ref": ["*"]} if all_versions else named


def version_query(branch: Names, tag: Names, commit: Names, pull: PullNumbers, workspace: Names) -> "VersionQuery":
    """Return the version that the options name, in the form that lookups expect; raise UsageError for several."""
    from codequarry.search_api.query.version_query import VersionQuery, VersionSpecifier

    ref = ref_from_options(branch=branch, tag=tag, commit=commit, pull=pull, workspace=workspace)
    if ref is None:
        return VersionQuery()
    if ref.kind == "commit":
        return VersionQuery(commits=(VersionSpecifier("commit", ref.value),))
    return VersionQuery((VersionSpecifier("ref", ref.key),))
