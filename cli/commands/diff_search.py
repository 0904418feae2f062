"""`codequarry diff-search`: how the hits of a query differ between two versions."""

import sys
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codequarry.cli.options.search_options import WAIT_FOR_OTHERS_MS, Index, Repos
from codequarry.cli.session.session import Json, load, workplace
from codequarry.cli.terminal.console import note, safe_line, write, write_answer
from codequarry.cli.terminal.hits import degradations, headline
from codequarry.shared.control_characters import visible

if TYPE_CHECKING:
    from codequarry.cli.session.session import Workplace
    from codequarry.search_api.answers.comparison import ComparisonAnswer, Difference
    from codequarry.search_api.answers.hits import CodeChunk
    from codequarry.search_api.query.diff_request import DiffRequest
    from codequarry.search_api.search.engine import SearchEngine

DEFAULT_LINES = 8
RESULTS_FOR_A_PERSON = 10
# Lines of the header of a unified diff.
HEADER_LINES = 2
_COLOURS = {"added": "green", "removed": "red", "moved": "blue", "changed": "yellow"}


def diff_search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Words or a name; filters repo: lang: path: symbol:")],
    before: Annotated[str, typer.Option("--from", metavar="A", help="A branch, tag, pull/12 or commit.")],
    after: Annotated[str, typer.Option("--to", metavar="B", help="The version to compare with.")],
    repo: Repos = None,
    top_k: Annotated[
        int | None, typer.Option("--top-k", "--topk", "-k", metavar="N", help="Number of results: 10, with --json 20.")
    ] = None,
    max_per_file: Annotated[int | None, typer.Option(metavar="N", help="At most N results from one file.")] = None,
    no_tests: Annotated[bool, typer.Option("--no-tests", help="Leave out test code.")] = False,
    show_all: Annotated[bool, typer.Option("--all", help="Also show code that is the same in both.")] = False,
    index: Index = False,
    lines: Annotated[int, typer.Option(min=0, max=1000, metavar="N", help="Lines of code per result.")] = DEFAULT_LINES,
    as_json: Json = False,
) -> None:
    """Compare the hits of a query in two indexed versions: what was added, removed, moved or changed."""
    options = {
        "top_k": RESULTS_FOR_A_PERSON if top_k is None and not as_json else top_k,
        "max_per_file": max_per_file,
        "filters": {"repo": repo} if repo else None,
        "include_tests": False if no_tests else None,
        "all": show_all or None,
    }
    body = {"query": query, "from": before, "to": after}
    answer = _ask(context, body | {name: value for name, value in options.items() if value is not None}, index=index)
    if as_json:
        write_answer(answer)
        return
    several = len({entry.repo for entry in answer.freshness}) > 1
    for number, difference in enumerate(answer.results):
        if number:
            write()
        _show(difference, lines, several)
    for remark in _remarks(answer):
        note(remark)


def _ask(context: typer.Context, body: Mapping[str, Any], *, index: bool) -> "ComparisonAnswer":
    from codequarry.search_api.query.diff_request import parse_diff
    from codequarry.search_api.search.comparison import compare
    from codequarry.search_api.search.engine import SearchEngine

    request = parse_diff({**body, "wait_ms": WAIT_FOR_OTHERS_MS} if index else body, may_index=index)
    with workplace(load(context).settings, writing=index) as place:
        engine = SearchEngine(place.store, place.embedder, place.settings, place.degraded)
        return _compare_or_index(engine, place, request) if index else compare(engine, request)


def _compare_or_index(engine: "SearchEngine", place: "Workplace", request: "DiffRequest") -> "ComparisonAnswer":
    from codequarry.cli.session.requested_indexing import CommandIndexer, still_indexing
    from codequarry.search_api.answers.jobs import PendingSearch
    from codequarry.search_api.jobs.on_demand import compare_or_index

    answer = compare_or_index(engine, CommandIndexer(place), request)
    if isinstance(answer, PendingSearch):
        raise still_indexing(answer)
    return answer


def _show(found: "Difference", lines: int, several: bool) -> None:
    old, new = found.before, found.after
    shown = new or old
    assert shown is not None, "a difference is in at least one version"
    place, symbol, kind = headline(shown)
    if old and found.change == "moved":
        place = f"{headline(old)[0]} -> {place}"
    fields = [found.change, place, symbol, kind, f"{found.score:.2f}", safe_line(found.repo) if several else ""]
    head = "  ".join(field for field in fields if field)
    if sys.stdout.isatty():
        typer.secho(visible(head), fg=_COLOURS.get(found.change))
    else:
        write(head)
    for line in changed_lines(old, new, lines):
        write(f"    {line}".rstrip())


def changed_lines(old: "CodeChunk | None", new: "CodeChunk | None", most: int) -> Iterator[str]:
    """Yield the lines of a diff, each with its sign: - for old, + for new."""
    was, is_now = (chunk.text.splitlines() if chunk else [] for chunk in (old, new))
    # Skip the two file names. Lines of code begin with a sign, so no code line looks like a hunk header.
    unified = islice(unified_diff(was, is_now, lineterm="", n=1), HEADER_LINES, None)
    found = [line for line in unified if not line.startswith("@@")]
    yield from found[:most]
    if most and len(found) > most:
        yield f"… {len(found) - most} more lines"


def _remarks(answer: "ComparisonAnswer") -> Iterator[str]:
    if answer.reason:
        yield f"no results: {answer.reason}"
    counts = ", ".join(f"{number} {change}" for change, number in answer.counts.items() if number)
    if counts:
        yield f"among the hits: {counts}"
    yield from degradations(answer.degraded)
