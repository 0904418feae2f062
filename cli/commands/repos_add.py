"""`codequarry repos add` and `codequarry repos rename`."""

from typing import TYPE_CHECKING, Annotated

import typer

from codequarry.cli.commands.sync import Detach
from codequarry.cli.options.version_options import Names, ref_from_options
from codequarry.cli.session.session import Json, load, workplace
from codequarry.cli.terminal import progress
from codequarry.cli.terminal.console import count, note, write_json, write_table
from codequarry.cli.terminal.failures import FAILED
from codequarry.shared.errors import UsageError

if TYPE_CHECKING:
    from codequarry.cli.session.session import Workplace
    from codequarry.shared.jobs.job import Job
    from codequarry.shared.settings.config import SettingsModel
    from codequarry.shared.settings.triggers import RepositoryGroup
    from codequarry.shared.versions.refs import Ref

Patterns = list[str] | None


def add(
    context: typer.Context,
    origin: Annotated[str | None, typer.Argument(metavar="[PATH_OR_URL]", help="A folder or a git URL.")] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Name in the index; default: the origin's.")] = None,
    branch: Annotated[Names, typer.Option(metavar="B", help="Also index this branch.")] = None,
    tag: Annotated[Names, typer.Option(metavar="T", help="Also index this tag.")] = None,
    github_org: Annotated[
        str | None, typer.Option(metavar="ORG", help="All repositories of this GitHub organisation or user.")
    ] = None,
    gitlab_group: Annotated[
        str | None, typer.Option(metavar="GROUP", help="All projects of this GitLab group and its subgroups.")
    ] = None,
    api_url: Annotated[
        str | None, typer.Option(metavar="URL", help="API of your own server, like https://git.example/api/v4.")
    ] = None,
    include: Annotated[Patterns, typer.Option(metavar="PATTERN", help="Only names that match (repeatable).")] = None,
    exclude: Annotated[Patterns, typer.Option(metavar="PATTERN", help="Exclude matching names (repeatable).")] = None,
    archived: Annotated[bool, typer.Option("--archived", help="Include archived repositories.")] = False,
    forks: Annotated[bool, typer.Option("--forks", help="Include forks.")] = False,
    token_variable: Annotated[
        str | None, typer.Option(metavar="VAR", help="Environment variable that holds the token for the API.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be added.")] = False,
    detach: Detach = False,
    as_json: Json = False,
) -> None:
    """Add and index a repository, or all repositories of an organisation or group.

    The command runs the jobs itself, unless a queue wakes workers or --detach leaves them to codequarry serve.
    Repositories that are already indexed are brought up to date.
    """
    given = [source for source in (origin, github_org, gitlab_group) if source]
    if len(given) != 1:
        raise UsageError("give exactly one of PATH_OR_URL, --github-org and --gitlab-group")
    if origin is None and (name or branch or tag):
        raise UsageError("--name, --branch and --tag are for a single repository")
    settings = load(context).settings
    ref = ref_from_options(branch=branch, tag=tag)
    places = [origin] if origin else []
    if not origin:
        group = _group(github_org, gitlab_group, api_url, include, exclude, archived, forks, token_variable)
        places = _listed(group, settings)
    if dry_run:
        _show_places(places, as_json)
        return
    with workplace(settings, writing=True) as place:
        from codequarry.cli.session.job_execution import finish

        jobs, went_well = finish([_submit(place, url, name, ref) for url in places], place, detach=detach)
    if as_json:
        from codequarry.search_api.answers.jobs import job_status
        from codequarry.search_api.answers.json import to_json

        write_json({"jobs": [to_json(job_status(job)) for job in jobs]})
    if not went_well:
        raise typer.Exit(FAILED)


def rename(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of an indexed repository.")],
    new_name: Annotated[str, typer.Argument(metavar="NEW_NAME", help="New name of the repository.")],
    as_json: Json = False,
) -> None:
    """Rename a repository.

    It is indexed again under the new name, reusing all embeddings, and its older commits are copied. Then the old name
    is removed. All commits stay searchable until they expire. Grants follow the rename. If interrupted, run it again.
    """
    settings = load(context).settings
    with workplace(settings, writing=True) as place, progress.shown() as observe:
        from codequarry.ingest.request.index_request import Workshop
        from codequarry.ingest.run.rename import rename_repository

        workshop = Workshop(place.store, place.embedder, settings)
        renamed = rename_repository(name, new_name, workshop, observe)
    if as_json:
        write_json(
            {
                "renamed": name,
                "name": renamed.name,
                "versions": list(renamed.versions),
                "lost": list(renamed.lost),
                "commits": renamed.commits,
            }
        )
        return
    commits = f" and {count(renamed.commits, 'searchable commit')}" if renamed.commits else ""
    note(f"{name} is now {renamed.name}, with {', '.join(renamed.versions) or 'nothing indexed yet'}{commits}")
    for version in renamed.lost:
        note(f"{version} has ended, because the origin no longer has it; its commits stay searchable until they expire")


def _group(
    github_org: str | None,
    gitlab_group: str | None,
    api_url: str | None,
    include: Patterns,
    exclude: Patterns,
    archived: bool,
    forks: bool,
    token_variable: str | None,
) -> "RepositoryGroup":
    from pydantic import ValidationError

    from codequarry.shared.settings.triggers import RepositoryGroup

    try:
        return RepositoryGroup(
            github_org=github_org,
            gitlab_group=gitlab_group,
            api_url=api_url,
            include=tuple(include or ()),
            exclude=tuple(exclude or ()),
            archived=archived,
            forks=forks,
            token_variable=token_variable,
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise UsageError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def _listed(group: "RepositoryGroup", settings: "SettingsModel") -> list[str]:
    from codequarry.ingest.remotes.hosting.groups import list_group

    found = [listed.origin for listed in list_group(group, settings)]
    if not found:
        note("no repository matches; archived ones need --archived, forks need --forks, empty ones are left out")
    return found


def _show_places(places: list[str], as_json: bool) -> None:
    if as_json:
        write_json({"origins": places})
    else:
        write_table([(place,) for place in places])


def _submit(place: "Workplace", text: str, name: str | None, ref: "Ref | None") -> "Job":
    from codequarry.ingest.git.origins import parse_origin
    from codequarry.shared.jobs.job import PRIORITIES
    from codequarry.shared.jobs.job_list import submit
    from codequarry.shared.repositories.followed_versions import version_request
    from codequarry.shared.repositories.naming import claim

    repository, name_note = claim(place.store, parse_origin(text), name, "")
    if name_note:
        note(f"note: {name_note}")
    return submit(place.store, version_request(repository, ref, "command", PRIORITIES["import"]))[0]
