"""`codequarry where`: which versions have a symbol."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from codequarry.cli.options.search_options import (
    AllBranches,
    AllVersions,
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
    versions_filter,
)
from codequarry.cli.session.session import Json, load, workplace
from codequarry.cli.terminal.console import count, note, safe_line, write, write_answer

if TYPE_CHECKING:
    from codequarry.search_api.answers.symbol_versions import DeclaredSymbol, SymbolVersions

# Enough to tell a few texts of one declaration apart.
HASH_DIGITS = 8
# --json names every version.
MOST_NAMES = 8
DEFAULT_DECLARATIONS = 20


def where(
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
    all_branches: AllBranches = False,
    all_versions: AllVersions = False,
    limit: Annotated[
        int, typer.Option(min=1, max=200, metavar="N", help="At most N declarations.")
    ] = DEFAULT_DECLARATIONS,
    cursor: Annotated[str | None, typer.Option(metavar="CURSOR", help="Continue after an earlier answer.")] = None,
    as_json: Json = False,
) -> None:
    """Show which indexed versions have a symbol, with which text, and which lack it.

    All branches, tags, pull requests and single commits are asked unless you name a version or a pattern. Each text of
    a declaration has one line, with the first digits of its hash and the versions that have it.
    """
    versions = versions_filter(all_branches, all_versions, version_filter(branch, tag, commit, pull, workspace))
    answer = _ask(context, symbol, place_filters(repo, language, path, versions), limit, cursor)
    if as_json:
        write_answer(answer)
        return
    for place, declaration in enumerate(answer.declarations):
        if place:
            write()
        _show(declaration)
    if not answer.declarations:
        note(f"no declaration of {safe_line(symbol)} in {count(answer.versions_searched, 'version')}")
    elif answer.next_cursor and sys.stderr.isatty():
        note(f"more: --cursor {answer.next_cursor}")


def _ask(
    context: typer.Context, symbol: str, filters: dict[str, list[str]], limit: int, cursor: str | None
) -> "SymbolVersions":
    from codequarry.search_api.query.symbol_request import versions_request
    from codequarry.search_api.search.engine import SearchEngine
    from codequarry.search_api.search.symbol_versions import symbol_versions

    request = versions_request(symbol, filters, limit, cursor)
    with workplace(load(context).settings) as place:
        engine = SearchEngine(place.store, place.embedder, place.settings, place.degraded)
        return symbol_versions(engine, request)


def _show(declaration: "DeclaredSymbol") -> None:
    from codequarry.cli.terminal.hits import named

    place = f"{safe_line(declaration.repo)}  {safe_line(declaration.path)}"
    write(f"{place}  {safe_line(declaration.symbol)}  {declaration.symbol_type}")
    for text in declaration.texts:
        lines = f"{text.start_line}-{text.end_line}"
        shared = "  (with other declarations)" if text.shared else ""
        write(f"    {text.content_hash[:HASH_DIGITS]}  {lines:>11}  {named(text.versions, MOST_NAMES)}{shared}")
    lacks: dict[str, list[str]] = {}
    for version in declaration.lacking:
        lacks.setdefault(version.lack, []).append(safe_line(version.ref))
    for lack, refs in lacks.items():
        more = f" and {len(refs) - MOST_NAMES} more" if len(refs) > MOST_NAMES else ""
        write(f"    lacking   {'':>11}  {', '.join(refs[:MOST_NAMES])}{more}  ({lack})")
