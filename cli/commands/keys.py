"""`codequarry keys`: who may ask the service, for what, and what they see."""

import getpass
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codequarry.cli.session.session import Json, examples, load, workplace
from codequarry.cli.terminal.console import note, safe_line, write, write_json, write_table
from codequarry.cli.terminal.progress import read_duration
from codequarry.shared.errors import UsageError

if TYPE_CHECKING:
    from codequarry.cli.session.session import Workplace
    from codequarry.shared.access.grants import Grant
    from codequarry.shared.access.keys import ApiKey

app = typer.Typer(
    help="Keys of the HTTP API: make, show, grant, rotate, revoke.", no_args_is_help=True, rich_markup_mode=None
)

# What a grant of one repository says where it shows nothing.
_STATES = {
    "pending": " (not there yet)",
    "lost": " (shows nothing: no repository had this name; grant it again, or take it away with --remove)",
}

KeyArgument = Annotated[str, typer.Argument(metavar="KEY", help="Id of a key, or its name.")]
GrantRepos = Annotated[
    list[str] | None,
    typer.Option("--repo", metavar="NAME", help="A repository, or a pattern of names in which * is any characters."),
]
GrantPaths = Annotated[
    list[str] | None, typer.Option("--path", metavar="GLOB", help="Only paths that fit, as in docs/ or src/**/*.py.")
]
NotPaths = Annotated[
    list[str] | None, typer.Option("--not-path", metavar="GLOB", help="No path that fits, as in secrets/.")
]
Expires = Annotated[
    str | None, typer.Option(metavar="WHEN", help="When it ends: 90d, 12h, or a date as 2027-01-31. Never without.")
]


@app.command(
    "create",
    epilog=examples(
        "keys create ci --scope index --repo 'team-*'",
        "keys create reader --repo core --path docs/ --not-path docs/internal/ --expires 90d",
        "keys create ops --scope admin --repo '*' --json",
    ),
)
def create(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the key is for.")],
    scopes: Annotated[
        list[str] | None, typer.Option("--scope", metavar="SCOPE", help="search (the default), index or admin.")
    ] = None,
    repos: GrantRepos = None,
    paths: GrantPaths = None,
    not_paths: NotPaths = None,
    expires: Expires = None,
    as_json: Json = False,
) -> None:
    """Make a key, and print it: it is shown this once.

    It sees what it is granted: each --repo, all of it or the paths of --path and --not-path. The scope `index` asks for
    indexing, `admin` does all; neither sees more for that.
    """
    from codequarry.shared.access.grants import PENDING
    from codequarry.shared.access.key_list import add_key
    from codequarry.shared.access.keys import new_key

    granted = _grants(repos, paths, not_paths)
    key, token = new_key(name, scopes or ["search"], granted, expires_at=_ending(expires), created_by=_user())
    with _catalog(context) as place:
        key = add_key(place.store, key)
    _tell(key, token, as_json)
    for one in key.grants:
        if one.repo_id == PENDING:
            note(f"no repository is called {safe_line(one.repos)} yet: the first one that takes the name is shown")


@app.command("list", epilog=examples("keys list", "keys list --json"))
def list_all(context: typer.Context, as_json: Json = False) -> None:
    """List the keys, expired and revoked ones too; never their secrets."""
    from codequarry.shared.access.binding import bind_index
    from codequarry.shared.access.key_list import list_keys
    from codequarry.shared.access.keys import moment

    with workplace(load(context).settings) as place:
        # An older release's grants have no repository until they are bound: they would look lost.
        bind_index(place.store)
        shown = [key.to_json(moment()) for key in list_keys(place.store)]
    if as_json:
        write_json({"keys": shown})
    elif shown:
        write_table([_row(one) for one in shown])
    else:
        note("there is no key yet: codequarry keys create NAME --repo '*'")


@app.command("show", epilog=examples("keys show ci", "keys show 4f1c2ab09d3e --json"))
def show(context: typer.Context, key: KeyArgument, as_json: Json = False) -> None:
    """Show a key: what it may do and see, its secrets' ages, when it was used."""
    from codequarry.shared.access.key_list import find_key

    with workplace(load(context).settings) as place:
        _show(find_key(place.store, key), as_json)


@app.command(
    "grant",
    epilog=examples(
        "keys grant ci --repo site", "keys grant ci --repo core --path src/", "keys grant ci --remove --repo site"
    ),
)
def grant(
    context: typer.Context,
    key: KeyArgument,
    repos: GrantRepos = None,
    paths: GrantPaths = None,
    not_paths: NotPaths = None,
    remove: Annotated[
        bool, typer.Option("--remove", help="Take away every grant of these names or patterns, as they were written.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Let a key see more repositories or paths, or take some away. The service follows within seconds."""
    from codequarry.shared.access.key_list import find_key, grant_to_key
    from codequarry.shared.access.keys import withdrawn

    if remove and (paths or not_paths):
        raise UsageError("--remove takes grants of whole --repo patterns; make the one with the paths anew")
    wanted = _grants(repos, paths, not_paths)
    if remove:
        _change(context, key, lambda known: withdrawn(known, [one.repos for one in wanted]), as_json)
    else:
        with _catalog(context) as place:
            _show(grant_to_key(place.store, find_key(place.store, key).id, wanted), as_json)


@app.command(
    "rotate", epilog=examples("keys rotate ci", "keys rotate ci --keep 0s", "keys rotate ci --expires 90d --json")
)
def rotate(
    context: typer.Context,
    key: KeyArgument,
    keep: Annotated[str, typer.Option(metavar="TIME", help="How long the old secret goes on: 24h, 30m, 0s.")] = "24h",
    expires: Expires = None,
    as_json: Json = False,
) -> None:
    """Give a key a new secret, and print it this once; both are valid until the old one ends."""
    from codequarry.shared.access.key_list import change_key, find_key
    from codequarry.shared.access.keys import rotated

    made: list[str] = []

    def change(known: "ApiKey") -> "ApiKey":
        changed, token = rotated(known, read_duration(keep), _ending(expires))
        made[:] = [token]
        return changed

    with _catalog(context) as place:
        changed = change_key(place.store, find_key(place.store, key).id, change)
    _tell(changed, made[0], as_json)


@app.command("revoke", epilog=examples("keys revoke ci", "keys revoke 4f1c2ab09d3e --json"))
def revoke(context: typer.Context, key: KeyArgument, as_json: Json = False) -> None:
    """End a key for good. The service refuses it within seconds; it stays in the list."""
    from codequarry.shared.access.keys import revoked

    _change(context, key, revoked, as_json)


@contextmanager
def _catalog(context: typer.Context) -> "Iterator[Workplace]":
    """Open the index to change its catalog: whatever model it was made with, and before anything is indexed too."""
    from codequarry.shared.access.binding import bind_index
    from codequarry.shared.data_folder import private_folder

    settings = load(context).settings
    if settings.store == "embedded":
        private_folder(settings.home)
    with workplace(settings) as place:
        bind_index(place.store)
        yield place


def _user() -> str:
    """Return who runs the command; in a container nobody may know."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def _change(context: typer.Context, asked: str, change: "Callable[[ApiKey], ApiKey]", as_json: bool) -> None:
    from codequarry.shared.access.key_list import change_key, find_key

    with _catalog(context) as place:
        _show(change_key(place.store, find_key(place.store, asked).id, change), as_json)


def _grants(repos: Sequence[str] | None, paths: Sequence[str] | None, not_paths: Sequence[str] | None) -> "list[Grant]":
    from codequarry.shared.access.grants import Grant
    from codequarry.shared.model import PathGlobs

    if not repos:
        raise UsageError("say which repositories: --repo NAME, or --repo '*' for all of them")
    return [Grant(repo, PathGlobs(tuple(paths or ()), tuple(not_paths or ()))) for repo in repos]


def _ending(text: str | None) -> str:
    """Return a moment in time as keys record it, "" for none; UsageError where it can't be read or is over."""
    from codequarry.shared.access.keys import moment

    if not text:
        return ""
    try:
        ends = datetime.fromisoformat(text)
    except ValueError:
        return moment(read_duration(text))
    at = (ends if ends.tzinfo else ends.replace(tzinfo=UTC)).astimezone(UTC)
    if at - datetime.now(UTC) <= timedelta():
        raise UsageError(f"'{text}' is over already")
    return at.isoformat(timespec="seconds")


def _tell(key: "ApiKey", token: str, as_json: bool) -> None:
    """Print a new secret: alone on stdout, so that it can be piped to where it is kept."""
    from codequarry.shared.access.keys import moment

    if as_json:
        write_json({**key.to_json(moment()), "key": token})
        return
    note(f"key {safe_line(key.name)} ({key.id}), shown this once:")
    write(token)


def _show(key: "ApiKey", as_json: bool) -> None:
    from codequarry.shared.access.keys import moment

    shown = key.to_json(moment())
    if as_json:
        write_json(shown)
        return
    write_table(_lines(shown))


def _lines(one: Mapping[str, Any]) -> list[tuple[str, str]]:
    made = f"{one['created_at']} by {one['created_by'] or 'somebody'}"
    lines = [("id", one["id"]), ("name", one["name"]), ("state", one["state"]), ("scopes", ", ".join(one["scopes"]))]
    lines += [("sees", _grant(grant)) for grant in one["grants"]] or [("sees", "nothing")]
    lines += [
        ("secret", f"of {own['created_at']}, until {own['expires_at'] or 'the key ends'}") for own in one["secrets"]
    ]
    return [*lines, ("made", made), ("ends", one["expires_at"] or "never"), ("used", one["last_used_at"] or "not yet")]


def _grant(grant: Mapping[str, Any]) -> str:
    only = f", only {' '.join(grant['include'])}" if grant["include"] else ""
    without = f", not {' '.join(grant['exclude'])}" if grant["exclude"] else ""
    return f"{grant['repos']}{only}{without}{_STATES.get(grant['state'], '')}"


def _row(one: Mapping[str, Any]) -> tuple[str, ...]:
    seen = "; ".join(map(_grant, one["grants"])) or "nothing"
    return one["id"], one["name"], one["state"], ",".join(one["scopes"]), one["last_used_at"] or "not used", seen
