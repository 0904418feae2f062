"""`codequarry symbols`: the definitions of a symbol."""

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
from codequarry.cli.session.session import Json, load, workplace
from codequarry.cli.terminal.console import note, safe_line, write, write_answer

if TYPE_CHECKING:
    from codequarry.search_api.answers.relations import SymbolDefinition


def symbols(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="An exact name: load, or Store.load.")],
    repo: Repos = None,
    language: Languages = None,
    path: Paths = None,
    branch: Branch = None,
    tag: Tag = None,
    commit: Commit = None,
    pull: Pull = None,
    workspace: Workspace = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=1000, metavar="N", help="At most N definitions.")
    ] = 100,
    cursor: Annotated[str | None, typer.Option(metavar="CURSOR", help="Continue after an earlier answer.")] = None,
    as_json: Json = False,
) -> None:
    """Show the definitions of a symbol: functions, types, members, constants, with signature and lines.

    The default branch of each repository is asked unless you name another version.
    """
    filters = place_filters(repo, language, path, version_filter(branch, tag, commit, pull, workspace))
    with workplace(load(context).settings) as place:
        from codequarry.search_api.query.relations_request import definitions_request
        from codequarry.search_api.search.engine import SearchEngine
        from codequarry.search_api.search.relations.defined_symbols import defined_symbols

        request = definitions_request(name, filters, limit, cursor)
        engine = SearchEngine(place.store, place.embedder, place.settings, place.degraded)
        answer = defined_symbols(engine, request)
    if as_json:
        write_answer(answer)
        return
    for found in answer.definitions:
        _show(found)
    if not answer.definitions:
        note(f"nothing defines {safe_line(name)} in these versions")
    elif answer.next_cursor:
        note(f"{answer.total:,} definitions in total; more: --cursor {answer.next_cursor}")


def _show(found: "SymbolDefinition") -> None:
    place = f"{safe_line(found.repo)}  {safe_line(found.path)}:{found.start_line}-{found.end_line}"
    write(f"{place}  {safe_line(found.qualified_name)}  {found.symbol_kind}")
    if found.signature:
        write(f"    {safe_line(found.signature)}")
