"""`codequarry search`: searches the indexed code."""

import logging
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codequarry.cli.options.search_options import (
    WAIT_FOR_OTHERS_MS,
    AllBranches,
    AllVersions,
    Authors,
    Branch,
    Commit,
    Index,
    Languages,
    Paths,
    Pull,
    Repos,
    Since,
    Tag,
    Until,
    Workspace,
    version_filter,
    versions_filter,
)
from codequarry.cli.options.version_options import Names
from codequarry.cli.session.session import Json, load, log_warnings, workplace
from codequarry.cli.terminal.console import note, write_answer
from codequarry.shared.errors import UsageError

if TYPE_CHECKING:
    from codequarry.cli.session.session import Workplace
    from codequarry.search_api.answers.hits import SearchAnswer
    from codequarry.search_api.query.request import SearchRequest
    from codequarry.search_api.search.engine import SearchEngine

DEFAULT_LINES = 6
# The key of a working tree, as the option writes it into the filters.
WORKSPACE = "workspace/"
# Fewer than the API's 20, so that the best hit stays on the screen.
RESULTS_FOR_A_PERSON = 10


def search(  # one parameter per flag: the signature is the documentation
    context: typer.Context,
    query: Annotated[
        str,
        typer.Argument(
            metavar="QUERY",
            help="Words or a name; filters repo: lang: path: symbol: With --type commit or diff it may be left out.",
        ),
    ] = "",
    repo: Repos = None,
    language: Languages = None,
    path: Paths = None,
    symbol_type: Annotated[
        Names,
        typer.Option(
            "--type", metavar="TYPE", help="Only this type: function, class, …, or commit or diff (not code)."
        ),
    ] = None,
    author: Authors = None,
    since: Since = None,
    until: Until = None,
    branch: Branch = None,
    tag: Tag = None,
    commit: Commit = None,
    pull: Pull = None,
    workspace: Workspace = None,
    all_branches: AllBranches = False,
    all_versions: AllVersions = False,
    top_k: Annotated[
        int | None, typer.Option("--top-k", "--topk", "-k", metavar="N", help="Number of results: 10, with --json 20.")
    ] = None,
    other: Annotated[
        Names, typer.Option("--filter", metavar="FIELD=VALUE", help="Only chunks with this value (repeatable).")
    ] = None,
    max_per_file: Annotated[int | None, typer.Option(metavar="N", help="At most N results from one file.")] = None,
    no_tests: Annotated[bool, typer.Option("--no-tests", help="Leave out test code.")] = False,
    cursor: Annotated[str | None, typer.Option(metavar="CURSOR", help="Continue after an earlier answer.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show what each score is made of.")] = False,
    rerank: Annotated[
        bool | None,
        typer.Option("--rerank/--no-rerank", help="Score the best candidates again with the [reranking] model."),
    ] = None,
    index: Index = False,
    lines: Annotated[int, typer.Option(min=0, max=1000, metavar="N", help="Lines of code per result.")] = DEFAULT_LINES,
    as_json: Json = False,
) -> None:
    """Search the indexed repositories: the default branch of each, or many named versions at once.

    A search of several versions shows each declaration once, with the versions that have it.
    """
    filters: dict[str, Names] = {"repo": repo, "language": language, "path": path, "author": author}
    filters |= {"since": [since] if since else None, "until": [until] if until else None}
    filters |= _types(symbol_type or ())
    filters |= versions_filter(all_branches, all_versions, version_filter(branch, tag, commit, pull, workspace))
    options = {
        "top_k": top_k,
        "max_per_file": max_per_file,
        "cursor": cursor,
        "explain": True if explain else None,
        "rerank": rerank,
    }
    body: dict[str, Any] = {"query": query or _only_filters(context, symbol_type or ())}
    body |= {name: value for name, value in options.items() if value is not None}
    if no_tests:
        body["include_tests"] = False
    if given := _filters(filters, other or ()):
        body["filters"] = given
    answer = _ask(context, body, for_person=not as_json, index=index)
    if as_json:
        write_answer(answer)
        return
    from codequarry.cli.terminal.hits import remarks, show

    show(answer, query, lines)
    for remark in remarks(answer, sys.stderr.isatty()):
        note(remark)


def _only_filters(context: typer.Context, types: Sequence[str]) -> str:
    """Return a query without words, which lists the newest commits; searches of code must have words."""
    from codequarry.shared.model import COMMIT_DOCUMENTS

    if not set(types) & set(COMMIT_DOCUMENTS):
        context.fail("Missing argument 'QUERY'.")
    return " ".join(f"type:{name}" for name in types)


def _types(names: Sequence[str]) -> dict[str, Names]:
    """Return the filters of ``--type``: types of chunks of code, or what is searched instead of code."""
    from codequarry.search_api.query.commit_filters import TYPES

    return {
        "type": [name for name in names if name in TYPES] or None,
        "symbol_type": [name for name in names if name not in TYPES] or None,
    }


def _filters(flags: Mapping[str, Names], pairs: Sequence[str]) -> dict[str, list[str]]:
    """Return the filters from flags and from ``FIELD=VALUE`` pairs; the API checks the names of the fields."""
    given = {name: list(values) for name, values in flags.items() if values}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator:
            raise UsageError(f"--filter '{pair}': write FIELD=VALUE, for example kind_of_file=source")
        given.setdefault(name, []).append(value)
    return given


def _ask(context: typer.Context, body: dict[str, Any], *, for_person: bool, index: bool) -> "SearchAnswer":
    from codequarry.search_api.query.request import parse_request
    from codequarry.search_api.ranking.second_stage import second_stage
    from codequarry.search_api.search.engine import SearchEngine

    # --rerank also enables the second stage if the settings do not.
    settings = load(context, {"reranking.enabled": body.get("rerank") or None}).settings
    if for_person and not body.get("rerank", settings.reranking.enabled):
        body = {"top_k": RESULTS_FOR_A_PERSON, **body}
    if index:
        body = {**body, "wait_ms": WAIT_FOR_OTHERS_MS}
    request = parse_request(body, may_index=index, reranking=settings.reranking)
    with workplace(settings, writing=index) as place, ExitStack() as stack:
        second = second_stage(settings)
        if second is not None:
            stack.callback(second.close)
            _log_nothing_twice()
        engine = SearchEngine(place.store, place.embedder, place.settings, place.degraded, second)
        return _search_or_index(engine, place, request) if index else engine.search(request)


def _search_or_index(engine: "SearchEngine", place: "Workplace", request: "SearchRequest") -> "SearchAnswer":
    from codequarry.cli.session.requested_indexing import CommandIndexer, index_working_tree, still_indexing
    from codequarry.search_api.answers.jobs import PendingSearch
    from codequarry.search_api.jobs.on_demand import search_or_index
    from codequarry.shared.versions.refs import Ref

    for text in request.filters.get("ref", ()):
        if text.startswith(WORKSPACE):
            index_working_tree(place, Ref.of_key(text))
    answer = search_or_index(engine, CommandIndexer(place), request)
    if isinstance(answer, PendingSearch):
        raise still_indexing(answer)
    return answer


def _log_nothing_twice() -> None:
    """Log warnings, but only errors from the second stage: the answer itself reports what that stage could not do."""
    from codequarry.search_api.ranking.second_stage import LOGGER

    log_warnings()
    logging.getLogger(LOGGER).setLevel(logging.ERROR)
