"""Answers as compact text for a coding agent."""

from collections.abc import Iterator, Sequence

from codequarry.search_api.answers.file_text import FileText
from codequarry.search_api.answers.freshness import Freshness
from codequarry.search_api.answers.hits import Hit, HitVersion, SearchAnswer
from codequarry.shared.control_characters import visible_line

# Longer hits are truncated, with a note on how to read the rest. Chunks are seldom longer.
MAX_HIT_LINES = 80
# An agent that needs all versions reads the structured content.
MAX_NAMES = 10
MAX_VARIANTS = 5


def render_answer(answer: SearchAnswer) -> str:
    """Return an answer as compact text: a header line and the code of every hit."""
    if not answer.results:
        suggestion = f" ({answer.suggestion})" if answer.suggestion else ""
        return f"No results: {answer.reason}{suggestion}"
    blocks = [_render_hit(hit) for hit in answer.results]
    if answer.degraded:
        blocks.append(f"Note: answered without {', '.join(answer.degraded)}.")
    shown = {(hit.repo, hit.ref) for hit in answer.results}
    states = sorted(_state(entry) for entry in answer.freshness if (entry.repo, entry.ref) in shown)
    blocks.append("Indexed: " + ", ".join(states))
    return "\n\n".join(blocks)


def _state(entry: Freshness) -> str:
    behind = f", {entry.commits_behind} commits behind" if entry.commits_behind else ""
    return f"{entry.repo} {entry.ref} at {str(entry.indexed_commit)[:12]}{behind}"


def _render_hit(hit: Hit) -> str:
    lines = _lines(hit.text)
    head = visible_line(f"{hit.repo} {hit.path}:{hit.start_line}-{hit.end_line}")
    if symbol := symbol_of(hit):
        head += f"  {hit.symbol_type} {visible_line(symbol)}"
    shown = lines[:MAX_HIT_LINES]
    if len(lines) > len(shown):
        shown.append(f"… {len(lines) - len(shown)} more lines: read_file from {hit.start_line + len(shown)}")
    return "\n".join((f"{head}  ({hit.score:.2f})", *_render_versions(hit), *shown))


def _render_versions(hit: Hit) -> Iterator[str]:
    """Yield the versions that have a hit's text, and those that have another one, if several were searched."""
    if hit.versions is not None:
        yield f"In: {_names(hit.versions)}"
    for variant in (hit.variants or ())[:MAX_VARIANTS]:
        yield f"Another text at {variant.start_line}-{variant.end_line} in: {_names(variant.versions)}"


def _names(versions: Sequence[HitVersion]) -> str:
    shown = ", ".join(visible_line(version.ref) for version in versions[:MAX_NAMES])
    return f"{shown} and {len(versions) - MAX_NAMES} more" if len(versions) > MAX_NAMES else shown


def symbol_of(hit: Hit) -> str | None:
    """Return the name of a hit's symbol, qualified if possible."""
    return hit.qualified_name or hit.symbol_name


def render_file(file: FileText) -> str:
    """Return a file's lines with their numbers."""
    width = len(str(file.end_line))
    numbered = [f"{number:>{width}}  {line}" for number, line in enumerate(_lines(file.text), file.start_line)]
    place = visible_line(f"{file.repo} {file.path}:{file.start_line}-{file.end_line} of {file.total_lines}")
    return "\n".join((f"{place} at {file.ref} {file.commit[:12]}", *numbered))


def _lines(text: str) -> list[str]:
    """Return the lines of a text as git counts them, split only at line feeds, without the CR of Windows files."""
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []
