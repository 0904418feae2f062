"""Options that select repositories, languages, paths and versions."""

from typing import TYPE_CHECKING, Annotated

import typer

from codequarry.cli.options.version_options import Names, PullNumbers, ref_from_options, refs_from_options

if TYPE_CHECKING:
    from codequarry.search_api.query.version_query import VersionQuery

Repos = Annotated[Names, typer.Option("--repo", metavar="NAME", help="Only this repository (repeatable).")]
Languages = Annotated[
    Names, typer.Option("--language", "--lang", metavar="NAME", help="Only this language (repeatable).")
]
Paths = Annotated[
    Names, typer.Option("--path", metavar="GLOB", help="Only paths that match; '!GLOB' excludes (repeatable).")
]
Branch = Annotated[Names, typer.Option("--branch", metavar="B", help="An indexed branch.")]
Tag = Annotated[Names, typer.Option("--tag", metavar="T", help="An indexed tag.")]
Commit = Annotated[
    Names, typer.Option("--commit", metavar="SHA", help="Any commit in the index, in full or abbreviated.")
]
Pull = Annotated[PullNumbers, typer.Option("--pull", metavar="N", min=1, help="An indexed pull or merge request.")]
Workspace = Annotated[Names, typer.Option("--workspace", metavar="PATH", help="An indexed working tree.")]


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


def version_query(branch: Names, tag: Names, commit: Names, pull: PullNumbers, workspace: Names) -> "VersionQuery":
    """Return the version that the options name, in the form that lookups expect; raise UsageError for several."""
    from codequarry.search_api.query.version_query import VersionQuery, VersionSpecifier

    ref = ref_from_options(branch=branch, tag=tag, commit=commit, pull=pull, workspace=workspace)
    if ref is None:
        return VersionQuery()
    if ref.kind == "commit":
        return VersionQuery(commits=(VersionSpecifier("commit", ref.value),))
    return VersionQuery((VersionSpecifier("ref", ref.key),))
