"""`codequarry log`: when a symbol appeared, changed, moved and vanished."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from codequarry.cli.options.search_options import (
    Branch,
    Commit,
    Languages,
    Paths,
    Pull,
    Repos,
    Tag,
    Workspace,
    place_filters,
    version_filter,
)
from codequarry.cli.session.session import Json, Workplace, load, workplace
from codequarry.cli.terminal.console import write_answer

if TYPE_CHECKING:
    from codequarry.search_api.answers.symbol_history import SymbolHistory

DEFAULT_SECONDS = 10.0

AskGit = Annotated[
    bool | None,
    typer.Option(
        "--git/--no-git",
        help="Ask git about earlier commits, authors and messages. Default: yes, if the name means one declaration "
        "and this machine has a mirror of its repository.",
    ),
]
Seconds = Annotated[
    float, typer.Option("--git-seconds", min=0.1, max=3600, metavar="S", help="Stop asking git after S seconds.")
]


def log(
    context: typer.Context,
    symbol: Annotated[str, typer.Argument(metavar="SYMBOL", help="An exact name: load, or Store.load.")],
    repo: Repos = None,
    language: Languages = None,
    path: Paths = None,
    branch: Branch = None,
    tag: Tag = None,
    commit: Commit = None,
    pull: Pull = None,
    workspace: Workspace = None,
    git: AskGit = None,
    git_seconds: Seconds = DEFAULT_SECONDS,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, metavar="N", help="At most N events.")] = 100,
    cursor: Annotated[str | None, typer.Option(metavar="CURSOR", help="Continue after an earlier answer.")] = None,
    as_json: Json = False,
) -> None:
    """Show when a symbol appeared, changed, moved and vanished among the indexed commits, newest first.

    It is the history of the default branch, unless you name other versions. A change lies among the commits between two
    indexed heads. What happened before the first of them only git can tell: it is asked for the log of the lines.
    """
    filters = place_filters(repo, language, path, version_filter(branch, tag, commit, pull, workspace))
    with workplace(load(context).settings) as place:
        from codequarry.search_api.query.symbol_request import history_request
        from codequarry.search_api.search.engine import SearchEngine
        from codequarry.search_api.search.history.symbol_history import symbol_history

        request = history_request(symbol, filters, limit, cursor)
        engine = SearchEngine(place.store, place.embedder, place.settings, place.degraded)
        answer = _with_git(place, symbol_history(engine, request), git, git_seconds)
    if as_json:
        write_answer(answer)
        return
    from codequarry.cli.terminal.symbol_log import show_history

    show_history(answer, symbol)


def _with_git(place: Workplace, answer: "SymbolHistory", wanted: bool | None, seconds: float) -> "SymbolHistory":
    """Return the answer with what git says about it, or with the reason why git was not asked."""
    if wanted is False:
        from codequarry.cli.terminal.symbol_log import NO_GIT

        return replace(answer, beyond_reason=NO_GIT)
    if wanted is None and answer.total > 1:
        return replace(answer, beyond_reason="the name means several declarations; narrow it, or use --git")
    from codequarry.cli.session.earlier_history import ask_git

    return ask_git(place, answer, seconds)
