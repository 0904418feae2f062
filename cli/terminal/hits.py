"""Search answers as text: coloured on a terminal, plain lines when piped."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from codequarry.cli.terminal.console import count, safe_line, short, write
from codequarry.shared.control_characters import visible
from codequarry.shared.identifiers import iter_tokens
from codequarry.shared.long_lines import shorten_line
from codequarry.shared.model import COMMIT_DOCUMENTS

if TYPE_CHECKING:
    from codequarry.search_api.answers.freshness import Freshness
    from codequarry.search_api.answers.hits import CodeChunk, Hit, HitVersion, SearchAnswer

# Language ids that Pygments knows by a different name.
LEXERS = {"csharp": "c#", "shell": "bash", "config": "ini"}
# Shorter words occur in almost every line, so they do not help to choose an excerpt.
MIN_WORD = 3
# A hit begins with its name and signature. Another excerpt must match this many more words to be shown instead.
WORTH_LEAVING = 2

# The most outdated versions that are noted if nothing was found.
MAX_STALE = 3


# A search may cover hundreds of versions; --json names them all.
MOST_NAMES = 4
MOST_VARIANTS = 3


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Consecutive lines; ``start`` is the number of the first, from 1, or 0 if they are not lines of a file."""

    start: int
    lines: tuple[str, ...]


def show(answer: "SearchAnswer", query: str, lines: int) -> None:
    """Write the hits of an answer to stdout."""
    several = len({entry.repo for entry in answer.freshness}) > 1
    show_hit = _show_coloured if sys.stdout.isatty() else _show_plain
    for index, hit in enumerate(answer.results):
        if index:
            write()
        show_hit(hit, excerpt(hit, query, lines), several)


def remarks(answer: "SearchAnswer", for_person: bool) -> Iterator[str]:
    """Yield notes on an answer: why nothing was found, what was degraded, and the cursor for the next page."""
    if not answer.results:
        yield f"no results: {answer.reason}"
        if suggestion := answer.suggestion:
            yield f"try: {suggestion}"
    refs = {(hit.repo, hit.ref) for hit in answer.results}
    # Without results, the newest commits may have what was sought.
    shown = [entry for entry in answer.freshness if not refs or (entry.repo, entry.ref) in refs]
    yield from islice(stale({entry.repo for entry in shown}, shown), None if answer.results else MAX_STALE)
    yield from degradations(answer.degraded)
    if for_person and answer.next_cursor:
        yield f"more: --cursor {answer.next_cursor}"


def degradations(degraded: "Sequence[str]") -> Iterator[str]:
    """Yield a note for the stages that an answer lacks, and for each version that could not be brought up to date."""
    from codequarry.search_api.answers.freshness import NOT_REFRESHED

    if stages := [text for text in degraded if not text.startswith(NOT_REFRESHED)]:
        yield f"note: answered without {', '.join(stages)}; codequarry doctor shows why"
    for text in degraded:
        if text.startswith(NOT_REFRESHED):
            yield f"note: {safe_line(text.removeprefix(NOT_REFRESHED))}"


def stale(shown: set[str], freshness: "Iterable[Freshness]") -> Iterator[str]:
    """Yield a note for each shown repository whose index is behind its origin, as last seen."""
    for entry in freshness:
        if entry.repo in shown and entry.lag and entry.indexed_commit:
            place = f"{safe_line(entry.repo)} {safe_line(entry.ref)} at {short(entry.indexed_commit)}"
            yield f"note: {place} is {entry.lag}"


def headline(chunk: "CodeChunk") -> tuple[str, str, str]:
    """Return the place (``path:from-to``), symbol and type of a chunk; of a commit, its id and what it is about."""
    if chunk.symbol_type == "commit":
        return f"commit {short(chunk.blob)}", _about_commit(chunk), ""
    place = f"{safe_line(chunk.path)}:{chunk.start_line}-{chunk.end_line}"
    if chunk.symbol_type == "diff":
        return place, f"commit {short(chunk.blob)}  {_about_commit(chunk)}", ""
    symbol = chunk.qualified_name or chunk.symbol_name or ""
    if symbol and chunk.symbol_part:
        symbol += f" (part {chunk.symbol_part})"
    kind = f"{chunk.symbol_type} {safe_line(chunk.symbol_kind or '')}".rstrip() if chunk.derived else chunk.symbol_type
    return place, safe_line(symbol), kind


def _about_commit(chunk: "CodeChunk") -> str:
    """Return the first line, author and day of a commit."""
    day = (chunk.commit_date or "").partition("T")[0]
    facts = (chunk.commit_message, chunk.commit_author, day)
    return "  ".join(safe_line(fact) for fact in facts if fact)


def score_line(hit: "Hit") -> str:
    """Return the parts of a score in one line, or "" if there is no explanation."""
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


def history_line(hit: "Hit") -> "Iterator[str]":
    """Yield the history of a hit's file in one line, if it is known."""
    if hit.file_history_length is None:
        return
    least = "at least " if hit.file_history_is_partial else ""
    commits = f"{least}{hit.file_history_length} commit{'s' * (hit.file_history_length != 1)}"
    owners = ", ".join(f"{safe_line(owner.name)} {owner.share:.0%}" for owner in hit.owners)
    last = f"last {short(hit.last_modified_commit)}  {_about_commit(hit)}" if hit.last_modified_commit else ""
    owners += f" (CODEOWNERS: {', '.join(map(safe_line, hit.code_owners))})" if hit.code_owners else ""
    others = ", ".join(f"{safe_line(other.path)} ({other.commits})" for other in hit.co_change_files)
    yield "; ".join(filter(None, (commits, last, owners and f"by {owners}", others and f"changes with {others}")))


def _versions(hit: "Hit") -> str:
    """Return which of the searched versions contain a hit, or "" if only one was searched."""
    return named(hit.versions or ())


def named(versions: "Sequence[HitVersion]", most: int = MOST_NAMES) -> str:
    """Return the names of versions, of which a long list is cut."""
    names = [safe_line(version.ref) for version in versions]
    if len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def detail_lines(hit: "Hit") -> Iterator[str]:
    """Yield which part of a long hit matches best, and each other text of its declaration with its versions."""
    stride = hit.stride_info
    if stride and stride.start_line:
        part = f"{stride.stride_index + 1} of {stride.total_strides}"
        yield f"best part: lines {stride.start_line}-{stride.end_line} (stride {part})"
    variants = hit.variants or ()
    for variant in variants[:MOST_VARIANTS]:
        verb = "has" if len(variant.versions) == 1 else "have"
        yield f"{named(variant.versions)} {verb} another text at {variant.start_line}-{variant.end_line}"
    if left := variants[MOST_VARIANTS:]:
        count_of_versions = sum(len(variant.versions) for variant in left)
        yield f"{count(count_of_versions, 'more version')} with {count(len(left), 'more text')}"


def _show_plain(hit: "Hit", shown: Excerpt, several: bool) -> None:
    place, symbol, kind = headline(hit)
    fields = [place, symbol, kind, f"{hit.score:.2f}", safe_line(hit.repo) if several else "", _versions(hit)]
    write("  ".join(field for field in fields if field))
    if signals := score_line(hit):
        write(f"    = {signals}")
        for fact in history_line(hit):
            write(f"    @ {fact}")
    for line in detail_lines(hit):
        write(f"    ~ {line}")
    width = len(str(shown.start + len(shown.lines)))
    for number, line in enumerate(shown.lines, shown.start):
        write(f"    {number:>{width}}  {line}".rstrip() if shown.start else f"    {line}".rstrip())


def _show_coloured(hit: "Hit", shown: Excerpt, several: bool) -> None:
    from rich.console import Console
    from rich.syntax import Syntax
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    place, symbol, kind = headline(hit)
    line = Text()
    line.append(place, "bold cyan")
    line.append(f"  {symbol}" if symbol else "", "bold")
    line.append(f"  {kind}" if kind else "", "dim")
    line.append(f"  {hit.score:.2f}", "green")
    line.append(f"  {safe_line(hit.repo)}" if several else "", "magenta")
    line.append(f"  {_versions(hit)}" if _versions(hit) else "", "magenta")
    console.print(line)
    if signals := score_line(hit):
        console.print(Text(f"    = {signals}", "dim"))
    for other in detail_lines(hit):
        console.print(Text(f"    ~ {other}", "yellow"))
    if shown.lines:
        code = visible("\n".join(shown.lines))
        lexer = "diff" if hit.symbol_type == "diff" else LEXERS.get(hit.language, hit.language)
        # The terminal's own sixteen colours are readable on dark and on light backgrounds.
        theme = "ansi_dark"
        Console(highlight=False).print(
            Syntax(
                code,
                lexer,
                theme=theme,
                background_color="default",
                line_numbers=bool(shown.start),
                start_line=shown.start or 1,
            )
        )


def excerpt(hit: "Hit", query: str, height: int) -> Excerpt:
    """Return the ``height`` lines of a hit that match the most words of the query; on a tie, the first such lines."""
    # Only a line feed ends a line, as in git; form feeds and Unicode separators do not. The carriage return of a
    # Windows line ending is not shown.
    lines = [line.removesuffix("\r") for line in hit.text.removesuffix("\n").split("\n")]
    words = {word for word in iter_tokens(query) if len(word) >= MIN_WORD}
    first = _line_of_stride(hit)
    start = first + _best_start(lines[first:], words, height)
    shown = [shorten_line(line, words) for line in lines[start : start + height]]
    while shown and not shown[-1].strip():
        shown.pop()
    is_numbered = not hit.derived and hit.symbol_type not in COMMIT_DOCUMENTS
    return Excerpt(hit.start_line + start if is_numbered else 0, tuple(shown))


def _line_of_stride(hit: "Hit") -> int:
    """Return how many lines of a hit come before its best stride; the match is probably there."""
    stride = hit.stride_info
    return stride.start_line - hit.start_line if stride and stride.start_line else 0


def _best_start(lines: list[str], words: AbstractSet[str], height: int) -> int:
    if len(lines) <= height or not words:
        return _first_filled(lines)
    found = [words & set(iter_tokens(line)) for line in lines]
    # Every window begins with a line that contains a word of the query.
    starts = [_first_filled(lines), *(index for index, names in enumerate(found) if names)]
    scores = {start: len(set().union(*found[start : start + height])) for start in starts}
    best = max(starts, key=lambda start: (scores[start], -start))
    if scores[best] < scores[starts[0]] + WORTH_LEAVING:
        return starts[0]
    return max(0, min(best, len(lines) - height))


def _first_filled(lines: list[str]) -> int:
    return next((index for index, line in enumerate(lines) if line.strip()), 0)
