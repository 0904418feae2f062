"""What a search answer looks like: coloured on a terminal, plain lines when piped."""

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from codequarry.cli.console import count, safe_line, write
from codequarry.cli.excerpt import Excerpt, excerpt
from codequarry.shared.visible import visible

SHORT_COMMIT = 12
# Language ids that pygments knows by another name.
LEXERS = {"csharp": "c#", "shell": "bash", "config": "ini"}


def show(answer: Mapping[str, Any], query: str, lines: int) -> None:
    """Write the hits of an answer to stdout."""
    several = len({one["repo"] for one in answer["freshness"]}) > 1
    show_hit = _show_coloured if sys.stdout.isatty() else _show_plain
    for index, hit in enumerate(answer["results"]):
        if index:
            write()
        show_hit(hit, excerpt(hit, query, lines), several)


def remarks(answer: Mapping[str, Any], for_person: bool) -> Iterator[str]:
    """Yield what a reader should know beside the hits: nothing found and why, what was degraded, how to go on."""
    if not answer["results"]:
        yield f"no results: {answer['reason']}"
        if suggestion := answer["suggestion"]:
            yield f"try: {suggestion}"
    yield from stale(answer)
    if answer["degraded"]:
        yield f"note: answered without {', '.join(answer['degraded'])}; codequarry doctor says why"
    if for_person and answer["next_cursor"]:
        yield f"more: --cursor {answer['next_cursor']}"


def stale(answer: Mapping[str, Any]) -> Iterator[str]:
    """Say of the repositories that have hits which are behind what a fetch has seen."""
    shown = {hit["repo"] for hit in answer["results"]}
    for one in answer["freshness"]:
        if one["repo"] in shown and one["commits_behind"] and one["indexed_commit"]:
            behind = count(one["commits_behind"], "commit")
            place = f"{safe_line(one['repo'])} {safe_line(one['ref'])} at {one['indexed_commit'][:SHORT_COMMIT]}"
            yield f"note: {place} is {behind} behind"


def headline(hit: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return place (``path:from-to``), symbol and type of a hit."""
    place = f"{safe_line(hit['path'])}:{hit['start_line']}-{hit['end_line']}"
    symbol = hit.get("qualified_name") or hit.get("symbol_name") or ""
    if symbol and hit.get("symbol_part"):
        symbol += f" (part {hit['symbol_part']})"
    return place, safe_line(symbol), hit["symbol_type"]


def explained(hit: Mapping[str, Any]) -> str:
    """Return what a score is made of, in one line."""
    explanation = hit.get("explain")
    if not explanation:
        return ""
    signals = [f"{name} {value:.2f}" for name, value in explanation["signals"].items() if value]
    if explanation["kind_weight"] != 1:
        signals.append(f"kind of file × {explanation['kind_weight']:.2f}")
    if explanation["repeat_weight"] != 1:
        signals.append(f"more of one file × {explanation['repeat_weight']:.2f}")
    if blend := explanation.get("reranking"):
        signals.append(
            f"first stage {blend['first_score']:.2f}, model {blend['rerank_score']:.2f} × {blend['weight']:.2f}"
        )
    channels = [f"{name} #{rank}" for name, rank in explanation["channels"].items()]
    return f"{', '.join(signals)}; recalled by {', '.join(channels)}"


def _versions(hit: Mapping[str, Any]) -> str:
    """Return which of several versions in view hold a hit; nothing where one was searched."""
    return ", ".join(safe_line(one["ref"]) for one in hit.get("versions", ()))


def _show_plain(hit: Mapping[str, Any], shown: Excerpt, several: bool) -> None:
    place, symbol, kind = headline(hit)
    fields = [place, symbol, kind, f"{hit['score']:.2f}", safe_line(hit["repo"]) if several else "", _versions(hit)]
    write("  ".join(field for field in fields if field))
    if signals := explained(hit):
        write(f"    = {signals}")
    width = len(str(shown.start + len(shown.lines)))
    for number, line in enumerate(shown.lines, shown.start):
        write(f"    {number:>{width}}  {line}".rstrip())


def _show_coloured(hit: Mapping[str, Any], shown: Excerpt, several: bool) -> None:
    from rich.console import Console
    from rich.syntax import Syntax
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    place, symbol, kind = headline(hit)
    line = Text()
    line.append(place, "bold cyan")
    line.append(f"  {symbol}" if symbol else "", "bold")
    line.append(f"  {kind}", "dim")
    line.append(f"  {hit['score']:.2f}", "green")
    line.append(f"  {safe_line(hit['repo'])}" if several else "", "magenta")
    line.append(f"  {_versions(hit)}" if _versions(hit) else "", "magenta")
    console.print(line)
    if signals := explained(hit):
        console.print(Text(f"    = {signals}", "dim"))
    if shown.lines:
        code = visible("\n".join(shown.lines))
        lexer = LEXERS.get(hit["language"], hit["language"])
        # The terminal's own sixteen colours are readable on a dark and on a light background alike.
        theme = "ansi_dark"
        Console(highlight=False).print(
            Syntax(code, lexer, theme=theme, background_color="default", line_numbers=True, start_line=shown.start)
        )
