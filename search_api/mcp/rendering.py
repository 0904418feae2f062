"""What the tools return: compact text for an agent, and the same as structured content."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from codequarry.search_api.answers.absence import LEFT_OUT_IF_NONE
from codequarry.search_api.answers.file_text import FileText
from codequarry.search_api.answers.freshness import NOT_REFRESHED, Freshness
from codequarry.search_api.answers.hits import Hit, HitVariant, HitVersion, SearchAnswer
from codequarry.shared.control_characters import visible_line
from codequarry.shared.long_lines import shorten_lines
from codequarry.shared.model import COMMIT_DOCUMENTS, ChangedTogether, FileOwner

# Longer hits are truncated, with a note on how to read the rest. Chunks are seldom longer.
MAX_HIT_LINES = 80
# An agent that needs all versions reads the structured content.
MAX_NAMES = 10
MAX_VARIANTS = 5


@dataclass(frozen=True, slots=True)
class CodePlace:
    """The part of a hit that an agent needs."""

    repo: str
    path: str
    start_line: int
    end_line: int
    symbol: str | None
    symbol_type: str
    language: str
    score: float
    ref: str | None
    commit: str | None
    text: str
    commit_author: str | None
    commit_date: str | None
    commit_message: str | None
    last_modified_commit: str | None
    file_history_length: int | None
    co_change_files: tuple[ChangedTogether, ...]
    owners: tuple[FileOwner, ...]
    code_owners: tuple[str, ...]
    versions: Annotated[tuple[HitVersion, ...] | None, LEFT_OUT_IF_NONE] = None
    variants: Annotated[tuple[HitVariant, ...] | None, LEFT_OUT_IF_NONE] = None


# No slots: the MCP library would mistake them for defaults, and the tool would have no schema.
@dataclass(frozen=True)
class CodePlaces:
    """The structured content of a search_code result."""

    results: tuple[CodePlace, ...]
    reason: str | None
    suggestion: str | None
    degraded: tuple[str, ...]
    freshness: tuple[Freshness, ...]


def places(answer: SearchAnswer) -> CodePlaces:
    """Return the structured content for an answer from the engine."""
    return CodePlaces(
        tuple(map(_place, answer.results)), answer.reason, answer.suggestion, answer.degraded, answer.freshness
    )


def _place(hit: Hit) -> CodePlace:
    return CodePlace(
        repo=hit.repo,
        path=hit.path,
        start_line=hit.start_line,
        end_line=hit.end_line,
        symbol=_symbol(hit),
        symbol_type=hit.symbol_type,
        language=hit.language,
        score=hit.score,
        ref=hit.ref,
        commit=hit.commit,
        text=shorten_lines(hit.text),
        commit_author=hit.commit_author,
        commit_date=hit.commit_date,
        commit_message=hit.commit_message,
        last_modified_commit=hit.last_modified_commit,
        file_history_length=hit.file_history_length,
        co_change_files=hit.co_change_files,
        owners=hit.owners,
        code_owners=hit.code_owners,
        versions=hit.versions,
        variants=hit.variants,
    )


def render_answer(answer: SearchAnswer) -> str:
    """Return an answer as compact text: a header line and the code of every hit."""
    if not answer.results:
        suggestion = f" ({answer.suggestion})" if answer.suggestion else ""
        behind = ", ".join(_state(entry) for entry in answer.freshness if entry.lag)
        return f"No results: {answer.reason}{suggestion}" + (f"\n\nIndexed: {behind}" if behind else "")
    blocks = [_render_hit(hit) for hit in answer.results]
    if stages := [text for text in answer.degraded if not text.startswith(NOT_REFRESHED)]:
        blocks.append(f"Note: answered without {', '.join(stages)}.")
    refused = (text.removeprefix(NOT_REFRESHED) for text in answer.degraded if text.startswith(NOT_REFRESHED))
    blocks += [f"Note: {visible_line(text)}" for text in refused]
    shown = {(hit.repo, hit.ref) for hit in answer.results}
    states = sorted(_state(entry) for entry in answer.freshness if (entry.repo, entry.ref) in shown)
    blocks.append("Indexed: " + ", ".join(states))
    return "\n\n".join(blocks)


def _state(entry: Freshness) -> str:
    behind = f", {entry.lag}" if entry.lag else ""
    return f"{entry.repo} {entry.ref} at {str(entry.indexed_commit)[:12]}{behind}"


def _render_hit(hit: Hit) -> str:
    lines = _lines(shorten_lines(hit.text))
    head = visible_line(f"{hit.repo} {hit.path}:{hit.start_line}-{hit.end_line}")
    if hit.symbol_type in COMMIT_DOCUMENTS:
        head = _commit_head(hit)
    elif hit.derived:
        head += f"  {hit.symbol_type} {hit.symbol_kind or 'derived'}"
    elif symbol := _symbol(hit):
        head += f"  {hit.symbol_type} {visible_line(symbol)}"
    shown = lines[:MAX_HIT_LINES]
    if len(lines) > len(shown):
        more = f"… {len(lines) - len(shown)} more lines"
        shown.append(
            more
            if hit.derived or hit.symbol_type in COMMIT_DOCUMENTS
            else f"{more}: read_file from {hit.start_line + len(shown)}"
        )
    return "\n".join((f"{head}  ({hit.score:.2f})", *_render_details(hit), *shown))


def _commit_head(hit: Hit) -> str:
    """Return the place of a change or message: repository, commit, author and day, and the file's new lines."""
    day = (hit.commit_date or "").partition("T")[0]
    place = f" {hit.path}:{hit.start_line}-{hit.end_line}" if hit.path else ""
    head = f"{hit.repo}{place}  commit {hit.blob[:12]}  {hit.commit_author} {day}"
    # A message begins with its first line anyway.
    return visible_line(f"{head}  {hit.commit_message}" if hit.path and hit.commit_message else head)


def _render_details(hit: Hit) -> Iterator[str]:
    """Yield the best part of a long hit, and which of the searched versions have its text or another one."""
    if hit.stride_info and hit.stride_info.start_line:
        yield f"Best part: lines {hit.stride_info.start_line}-{hit.stride_info.end_line}"
    if hit.versions is not None:
        yield f"In: {_names(hit.versions)}"
    for variant in (hit.variants or ())[:MAX_VARIANTS]:
        yield f"Another text at {variant.start_line}-{variant.end_line} in: {_names(variant.versions)}"


def _names(versions: Sequence[HitVersion]) -> str:
    shown = ", ".join(visible_line(version.ref) for version in versions[:MAX_NAMES])
    return f"{shown} and {len(versions) - MAX_NAMES} more" if len(versions) > MAX_NAMES else shown


def _symbol(hit: Hit) -> str | None:
    return hit.qualified_name or hit.symbol_name


def render_file(file: FileText) -> str:
    """Return a file's lines with their numbers."""
    width = len(str(file.end_line))
    numbered = [
        f"{number:>{width}}  {line}" for number, line in enumerate(_lines(shorten_lines(file.text)), file.start_line)
    ]
    place = visible_line(f"{file.repo} {file.path}:{file.start_line}-{file.end_line} of {file.total_lines}")
    return "\n".join((f"{place} at {file.ref} {file.commit[:12]}", *numbered))


def _lines(text: str) -> list[str]:
    """Return the lines of a text as git counts them, split only at line feeds, without the CR of Windows files."""
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []
