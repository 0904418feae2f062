"""`codequarry refs`, `callers`, `callees`, `parents` and `children`: the neighbours of a symbol."""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

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
from codequarry.cli.options.version_options import Names
from codequarry.cli.session.session import Json, load, workplace
from codequarry.cli.terminal.console import write_answer

SymbolArgument = Annotated[str, typer.Argument(metavar="NAME", help="An exact name: load, or Store.load.")]
Depth = Annotated[int, typer.Option("--depth", "-d", min=1, max=5, metavar="N", help="How many edges to follow.")]
Confidence = Annotated[
    float | None,
    typer.Option(
        "--min-confidence", min=0, max=1, metavar="C", help="Leave out edges that are less sure (0.3; co_change 0)."
    ),
]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, metavar="N", help="At most N edges.")]
PageCursor = Annotated[str | None, typer.Option("--cursor", metavar="CURSOR", help="Continue after an earlier answer.")]
Kinds = Annotated[
    Names, typer.Option("--kind", metavar="KIND", help="Only edges of this kind, such as call (repeatable).")
]

# A file also has its imports as parents, and what imports it as children.
_TYPES = ("inherits", "implements")
_VERSIONS = """The default branch of each repository is asked unless you name another version. Each edge has a place, a
kind, and how sure it is that this symbol is meant (from 0 to 1)."""


def _command(direction: str, kinds: tuple[str, ...], about: str) -> Callable[..., None]:
    """Return a command that shows the edges of some kinds in one direction."""

    def command(
        context: typer.Context,
        name: SymbolArgument,
        repo: Repos = None,
        language: Languages = None,
        path: Paths = None,
        branch: Branch = None,
        tag: Tag = None,
        commit: Commit = None,
        pull: Pull = None,
        workspace: Workspace = None,
        depth: Depth = 1,
        min_confidence: Confidence = None,
        limit: Limit = 100,
        cursor: PageCursor = None,
        as_json: Json = False,
    ) -> None:
        filters = place_filters(repo, language, path, version_filter(branch, tag, commit, pull, workspace))
        _run(context, name, filters, direction, kinds, depth, min_confidence, limit, cursor, as_json)

    command.__doc__ = f"{about}\n\n{_VERSIONS}"
    return command


def refs(
    context: typer.Context,
    name: SymbolArgument,
    kind: Kinds = None,
    repo: Repos = None,
    language: Languages = None,
    path: Paths = None,
    branch: Branch = None,
    tag: Tag = None,
    commit: Commit = None,
    pull: Pull = None,
    workspace: Workspace = None,
    depth: Depth = 1,
    min_confidence: Confidence = None,
    limit: Limit = 100,
    cursor: PageCursor = None,
    as_json: Json = False,
) -> None:
    """Show the places that refer to a symbol: calls, imports, types, subclasses, decorators, mentions.

    With --kind co_change, the files that changed in the same commits as the file, or as the file of the symbol.

    The default branch of each repository is asked unless you name another version. Each edge has a place, a kind, and
    how sure it is that this symbol is meant (from 0 to 1).
    """
    filters = place_filters(repo, language, path, version_filter(branch, tag, commit, pull, workspace))
    _run(context, name, filters, "in", tuple(kind or ()), depth, min_confidence, limit, cursor, as_json)


callers = _command(
    "in", ("call", "decorates", "link"), "Show what calls a function, method or class, or links to a file."
)
callees = _command("out", ("call", "link"), "Show what a function, method or class calls, or what a file links to.")
parents = _command(
    "out", _TYPES, "Show the types that a type inherits from or implements, or for a file, also what it imports."
)
children = _command(
    "in", _TYPES, "Show the types that inherit from a type or implement it, or for a file, the imports of it."
)


def _run(
    context: typer.Context,
    name: str,
    filters: dict[str, list[str]],
    direction: str,
    kinds: tuple[str, ...],
    depth: int,
    min_confidence: float | None,
    limit: int,
    cursor: str | None,
    as_json: bool,
) -> None:
    with workplace(load(context).settings) as place:
        from codequarry.search_api.query.relations_request import graph_request
        from codequarry.search_api.search.engine import SearchEngine
        from codequarry.search_api.search.relations.edges import find_edges

        request = graph_request(
            name,
            filters,
            direction=direction,
            kinds=kinds,
            depth=depth,
            min_confidence=min_confidence,
            limit=limit,
            cursor=cursor,
        )
        if kinds == _TYPES and request.file is not None:
            request = replace(request, kinds=(*request.kinds, "import"))
        engine = SearchEngine(place.store, place.embedder, place.settings, place.degraded)
        answer = find_edges(engine, request)
    if as_json:
        write_answer(answer)
        return
    from codequarry.cli.terminal.edge_tree import show_edges

    show_edges(answer, name, incoming=direction == "in")
