"""What a search answer looks like: coloured on a terminal, plain lines when piped."""

import sys
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING

from codequarry.cli.terminal.console import count, safe_line, write
from codequarry.shared.control_characters import visible
from codequarry.shared.identifiers import iter_tokens

if TYPE_CHECKING:
    from codequarry.search_api.answers.freshness import Freshness
    from codequarry.search_api.answers.hits import CodeChunk, Hit, SearchAnswer


SHORT_COMMIT = 12
# Language ids that pygments knows by another name.
LEXERS = {"csharp": "c#", "shell": "bash", "config": "ini"}
# Words shorter than this are in every line of code and say nothing about where to look.
MIN_WORD = 3
# The beginning of a hit has its name and signature: only a place with so many words more is better to see.
WORTH_LEAVING = 2


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Consecutive lines of a file; ``start`` counts from 1."""

    start: int
    lines: tuple[str, ...]


def show(answer: "SearchAnswer", query: str, lines: int) -> None:
    """Write the hits of an answer to stdout."""
    several = len({one.repo for one in answer.freshness}) > 1
    show_hit = _show_coloured if sys.stdout.isatty() else _show_plain
    for index, hit in enumerate(answer.results):
        if index:
            write()
        show_hit(hit, excerpt(hit, query, lines), several)


def remarks(answer: "SearchAnswer", for_person: bool) -> Iterator[str]:
    """Yield what a reader should know beside the hits: nothing found and why, what was degraded, how to go on."""
    if not answer.results:
        yield f"no results: {answer.reason}"
        if suggestion := answer.suggestion:
            yield f"try: {suggestion}"
    yield from stale({hit.repo for hit in answer.results}, answer.freshness)
    if answer.degraded:
        yield f"note: answered without {', '.join(answer.degraded)}; codequarry doctor says why"
    if for_person and answer.next_cursor:
        yield f"more: --cursor {answer.next_cursor}"


def stale(shown: set[str], freshness: "Iterable[Freshness]") -> Iterator[str]:
    """Say of the repositories that are shown which are behind what a fetch has seen."""
    for entry in freshness:
        if entry.repo in shown and entry.commits_behind and entry.indexed_commit:
            behind = count(entry.commits_behind, "commit")
            place = f"{safe_line(entry.repo)} {safe_line(entry.ref)} at {entry.indexed_commit[:SHORT_COMMIT]}"
            yield f"note: {place} is {behind} behind"


def headline(chunk: "CodeChunk") -> tuple[str, str, str]:
    """Return place (``path:from-to``), symbol and type of a piece of code."""
    place = f"{safe_line(chunk.path)}:{chunk.start_line}-{chunk.end_line}"
    symbol = chunk.qualified_name or chunk.symbol_name or ""
    if symbol and chunk.symbol_part:
        symbol += f" (part {chunk.symbol_part})"
    return place, safe_line(symbol), chunk.symbol_type


def score_line(hit: "Hit") -> str:
    """Return what a score is made of, in one line."""
    explanation = hit.explain
    if explanation is None:
        return ""
    signals = [f"{name} {value:.2f}" for name, value in explanation.signals.items() if value]
    if explanation.kind_weight != 1:
        signals.append(f"kind of file × {explanation.kind_weight:.2f}")
    if explanation.repeat_weight != 1:
        signals.append(f"more of one file × {explanation.repeat_weight:.2f}")
    if blend := explanation.reranking:
        signals.append(f"first stage {blend.first_score:.2f}, model {blend.rerank_score:.2f} × {blend.weight:.2f}")
    channels = [f"{name} #{rank}" for name, rank in explanation.channels.items()]
    return f"{', '.join(signals)}; recalled by {', '.join(channels)}"


def _versions(hit: "Hit") -> str:
    """Return which of several versions in view hold a hit; nothing if one was searched."""
    return ", ".join(safe_line(version.ref) for version in hit.versions or ())


def _show_plain(hit: "Hit", shown: Excerpt, several: bool) -> None:
    place, symbol, kind = headline(hit)
    fields = [place, symbol, kind, f"{hit.score:.2f}", safe_line(hit.repo) if several else "", _versions(hit)]
    write("  ".join(field for field in fields if field))
    if signals := score_line(hit):
        write(f"    = {signals}")
    width = len(str(shown.start + len(shown.lines)))
    for number, line in enumerate(shown.lines, shown.start):
        write(f"    {number:>{width}}  {line}".rstrip())


def _show_coloured(hit: "Hit", shown: Excerpt, several: bool) -> None:
    from rich.console import Console
    from rich.syntax import Syntax
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    place, symbol, kind = headline(hit)
    line = Text()
    line.append(place, "bold cyan")
    line.append(f"  {symbol}" if symbol else "", "bold")
    line.append(f"  {kind}", "dim")
    line.append(f"  {hit.score:.2f}", "green")
    line.append(f"  {safe_line(hit.repo)}" if several else "", "magenta")
    line.append(f"  {_versions(hit)}" if _versions(hit) else "", "magenta")
    console.print(line)
    if signals := score_line(hit):
        console.print(Text(f"    = {signals}", "dim"))
    if shown.lines:
        code = visible("\n".join(shown.lines))
        lexer = LEXERS.get(hit.language, hit.language)
        # The terminal's own sixteen colours are readable on a dark and on a light background alike.
        theme = "ansi_dark"
        Console(highlight=False).print(
            Syntax(code, lexer, theme=theme, background_color="default", line_numbers=True, start_line=shown.start)
        )


def excerpt(hit: "Hit", query: str, height: int) -> Excerpt:
    """Return ``height`` lines of a hit: those with the most of the query's words, the first ones where equal."""
    # Only a line feed ends a line, as git counts them; not a form feed or what Unicode adds.
    # The carriage return of a Windows line end is no part of what is read.
    lines = [line.removesuffix("\r") for line in hit.text.removesuffix("\n").split("\n")]
    start = _best_start(lines, {word for word in iter_tokens(query) if len(word) >= MIN_WORD}, height)
    shown = lines[start : start + height]
    while shown and not shown[-1].strip():
        shown.pop()
    return Excerpt(hit.start_line + start, tuple(shown))


def _best_start(lines: list[str], words: AbstractSet[str], height: int) -> int:
    if len(lines) <= height or not words:
        return _first_filled(lines)
    found = [words & set(iter_tokens(line)) for line in lines]
    # A window begins with a line that names something, so that it is read from there on.
    starts = [_first_filled(lines), *(index for index, names in enumerate(found) if names)]
    scores = {start: len(set().union(*found[start : start + height])) for start in starts}
    best = max(starts, key=lambda start: (scores[start], -start))
    if scores[best] < scores[starts[0]] + WORTH_LEAVING:
        return starts[0]
    return max(0, min(best, len(lines) - height))


def _first_filled(lines: list[str]) -> int:
    return next((index for index, line in enumerate(lines) if line.strip()), 0)
