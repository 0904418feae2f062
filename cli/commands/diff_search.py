"""`codequarry diff-search`: how the hits of a query differ between two versions."""

import sys
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codequarry.cli.options.search_options import WAIT_FOR_OTHERS_MS, Index, Repos
from codequarry.cli.options.version_options import in_full, in_full_range
from codequarry.cli.session.session import Json, load, workplace
from codequarry.cli.terminal.console import note, safe_line, write, write_answer
from codequarry.cli.terminal.hits import degradations, headline
from codequarry.shared.control_characters import visible

if TYPE_CHECKING:
    from codequarry.cli.session.session import Workplace
    from codequarry.search_api.answers.comparison import ComparisonAnswer, Difference
    from codequarry.search_api.answers.hits import CodeChunk
    from codequarry.search_api.query.diff_request import DiffRequest

DEFAULT_LINES = 8
RESULTS_FOR_A_PERSON = 10
# Lines of the header of a unified diff.
HEADER_LINES = 2
SHORT_COMMIT = 12
_COLOURS = {"added": "green", "removed": "red", "moved": "blue", "renamed": "blue", "changed": "yellow"}


def diff_search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Words or a name; filters repo: lang: path: symbol:")],
    versions: Annotated[
        str | None, typer.Argument(metavar="[A..B | A...B]", help="A compared with B; or from their merge base to B.")
    ] = None,
    before: Annotated[
        str | None, typer.Option("--from", metavar="A", help="A branch, tag, pull/12, commit or workspace:PATH.")
    ] = None,
    after: Annotated[str | None, typer.Option("--to", metavar="B", help="The version to compare with.")] = None,
    merge_base: Annotated[
        bool, typer.Option("--merge-base", help="Compare B with its merge base with A, like A...B.")
    ] = False,
    pull: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="A pull request, from its merge base with its target.")
    ] = None,
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
    """Compare the hits of a query in two indexed versions: what was added, removed, moved, renamed or changed.

    As in git, A..B compares two versions, and A...B shows only what B has changed since it branched off from A. If the
    commit where it did so is not indexed, it is indexed first, at the cost of its diff.
    """
    options: dict[str, Any] = {
        "top_k": RESULTS_FOR_A_PERSON if top_k is None and not as_json else top_k,
        "max_per_file": max_per_file,
        "filters": {"repo": repo} if repo else None,
        "include_tests": False if no_tests else None,
        "all": show_all or None,
    }
    options |= {"range": in_full_range(versions) if versions is not None else None, "pull": pull}
    options |= {"from": in_full(before), "to": in_full(after), "merge_base": merge_base or None}
    body = {"query": query} | {name: value for name, value in options.items() if value is not None}
    answer = _ask(context, body, index=index)
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
    from codequarry.cli.session.merge_bases import compare_with_merge_bases
    from codequarry.search_api.query.diff_request import parse_diff

    settings = load(context).settings
    if not index:
        return compare_with_merge_bases(settings, parse_diff(body))
    with workplace(settings, writing=True) as place:
        return _compare_or_index(place, parse_diff({**body, "wait_ms": WAIT_FOR_OTHERS_MS}, may_index=True))


def _compare_or_index(place: "Workplace", request: "DiffRequest") -> "ComparisonAnswer":
    from codequarry.cli.session.requested_indexing import CommandIndexer, still_indexing
    from codequarry.search_api.answers.jobs import PendingSearch
    from codequarry.search_api.jobs.on_demand import compare_or_index
    from codequarry.search_api.search.engine import SearchEngine

    engine = SearchEngine(place.store, place.embedder, place.settings, place.degraded)
    answer = compare_or_index(engine, CommandIndexer(place), request)
    if isinstance(answer, PendingSearch):
        raise still_indexing(answer)
    return answer


def _show(found: "Difference", lines: int, several: bool) -> None:
    old, new = found.before, found.after
    shown = new or old
    assert shown is not None, "a difference is in at least one version"
    place, symbol, kind = headline(shown)
    if old and new:
        before = headline(old)
        if found.change == "moved":
            place = f"{before[0]} -> {place}"
        if old.qualified_name and new.qualified_name and old.qualified_name != new.qualified_name:
            symbol = f"{before[1]} -> {symbol}"
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
    for base in answer.merge_bases:
        place = f" of {safe_line(base.repo)}" if len(answer.merge_bases) > 1 else ""
        names = f"{safe_line(base.before)} and {safe_line(base.after)}"
        yield f"compared with {base.commit[:SHORT_COMMIT]}{place}, the merge base of {names}"
    if answer.reason:
        yield f"no results: {answer.reason}"
    counts = ", ".join(f"{number} {change}" for change, number in answer.counts.items() if number)
    if counts:
        yield f"among the hits: {counts}"
    yield from degradations(answer.degraded)
