"""`codequarry repos`: the repositories of the index."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from codequarry.cli.commands import repos_add, repos_collect
from codequarry.cli.options.version_options import Names, PullNumbers, ref_from_options
from codequarry.cli.session.session import Json, examples, load, workplace
from codequarry.cli.terminal.console import count, note, short, write_answer, write_json, write_table
from codequarry.shared.errors import UsageError

if TYPE_CHECKING:
    from codequarry.search_api.answers.repositories import IndexedRepository, IndexedVersion
    from codequarry.shared.versions.refs import Ref

app = typer.Typer(
    help="Add, list, rename and remove repositories, and expire old commits.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("list", epilog=examples("repos list", "repos list --json"))
def list_repos(context: typer.Context, as_json: Json = False) -> None:
    """List the repositories, their versions and their state."""
    from codequarry.search_api.answers.repositories import Repositories
    from codequarry.search_api.versions.catalog import Catalog
    from codequarry.search_api.versions.local_heads import LocalHeads
    from codequarry.search_api.versions.repositories import describe

    with workplace(load(context).settings) as place:
        described = describe(Catalog(place.store, local_heads=LocalHeads(place.settings)))
    if as_json:
        write_answer(Repositories(described))
        return
    if not described:
        note("nothing is indexed yet: codequarry index PATH_OR_URL")
        return
    write_table([row for repository in described for row in _rows(repository)], right=(3, 4))


@app.command("rm", epilog=examples("repos rm flask --yes", "repos rm flask --branch experiment"))
def remove(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of an indexed repository.")],
    branch: Annotated[Names, typer.Option(metavar="B", help="Only this branch.")] = None,
    tag: Annotated[Names, typer.Option(metavar="T", help="Only this tag.")] = None,
    commit: Annotated[Names, typer.Option(metavar="SHA", help="Only the version indexed as this commit.")] = None,
    pull: Annotated[PullNumbers, typer.Option(metavar="N", min=1, help="Only this pull request.")] = None,
    workspace: Annotated[Names, typer.Option(metavar="PATH", help="Only this working tree.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    as_json: Json = False,
) -> None:
    """Remove a repository, or one version of it.

    A repository is removed with its chunks, its mirror, and the vectors that no other repository uses. A version is
    removed with its earlier commits; `codequarry index` can index it again, so removing it needs no confirmation.
    """
    ref = ref_from_options(branch=branch, tag=tag, commit=commit, pull=pull, workspace=workspace)
    if ref is not None:
        _remove_version(context, name, ref, as_json)
        return
    if not yes and not sys.stdin.isatty():
        raise UsageError(f"removing {name} cannot be undone; use --yes to confirm it without a terminal")
    with workplace(load(context).settings) as place:
        if not yes and not typer.confirm(f"Remove {name} and all its chunks from the index?", err=True):
            raise typer.Abort
        from codequarry.ingest.removal.removal import remove_repository
        from codequarry.shared.jobs.job_list import cancel_jobs_of

        cancel_jobs_of(place.store, name)
        remove_repository(name, place.store, place.settings)
    if as_json:
        write_json({"removed": name})
    else:
        note(f"removed {name}")


def _remove_version(context: typer.Context, name: str, ref: "Ref", as_json: bool) -> None:
    with workplace(load(context).settings) as place:
        from codequarry.ingest.removal.removal import remove_version

        removed = remove_version(name, ref, place.store, place.settings)
    if as_json:
        write_json({"removed": name, "ref": removed.name})
    else:
        note(f"removed {removed.name} of {name}")


_ADD = examples(
    "repos add https://github.com/pallets/flask --tag 3.0.0",
    "repos add --github-org pallets --exclude '*-sphinx-*' --dry-run",
    "repos add --gitlab-group team/backend --api-url https://git.example/api/v4",
)
app.command("add", epilog=_ADD)(repos_add.add)
app.command("rename", epilog=examples("repos rename flask web-flask"))(repos_add.rename)
_COLLECT = examples("repos collect", "repos collect flask --dry-run", "repos collect --gone")
app.command("collect", epilog=_COLLECT)(repos_collect.collect)


def _rows(repository: "IndexedRepository") -> Iterator[tuple[object, ...]]:
    """Yield a row for the repository at its default branch, and a row for each other version."""
    state = repository.state if repository.percent is None else f"{repository.state} {repository.percent} %"
    failed = {failure.ref: f"failed: {failure.reason}" for failure in repository.failures}
    how = failed.pop(repository.branch, "") or _behind(repository) or state
    yield (repository.name, repository.branch, *_extent(repository), how, repository.origin)
    for version in repository.versions:
        if (version.kind, version.ref) != ("branch", repository.branch):
            why = failed.pop(version.ref, "") or _gone(version)
            yield ("", version.ref, *_extent(version), why or _behind(version) or version.kind, "")
    for ref, why in failed.items():
        yield ("", ref, "-", "", "", why, "")


def _gone(version: "IndexedVersion") -> str:
    from codequarry.ingest.garbage_collection.deleted_workspaces import is_deleted
    from codequarry.shared.versions.refs import Ref

    if version.kind != "workspace":
        return ""
    return "no such folder here" if is_deleted(Ref("workspace", version.ref.removeprefix("workspace:"))) else ""


def _extent(shown: "IndexedRepository | IndexedVersion") -> tuple[str, str, str]:
    # The command line acts as the owner, who sees all counts.
    return short(shown.indexed_commit or "-"), count(shown.files or 0, "file"), count(shown.chunks or 0, "chunk")


def _behind(shown: "IndexedRepository | IndexedVersion") -> str:
    from codequarry.search_api.answers.freshness import describe_lag

    return describe_lag(shown.indexed_commit, shown.head_commit, shown.commits_behind)
