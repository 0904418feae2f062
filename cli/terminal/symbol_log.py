"""The history of a symbol as a person reads it: newest event first, a line each."""

import sys
from typing import TYPE_CHECKING

from codequarry.cli.terminal.console import count, note, safe_line, short, write

if TYPE_CHECKING:
    from codequarry.search_api.answers.symbol_history import (
        DeclarationHistory,
        HistoricText,
        LineCommit,
        SymbolEvent,
        SymbolHistory,
    )

# The reason why git was not asked if the user did not want it.
NO_GIT = "--no-git was given"
DATE_CHARACTERS = len("2026-01-31")
EVENT_CHARACTERS = len("appeared")
# Commits of an event stand below its own.
_INDENT = " " * (4 + DATE_CHARACTERS + 2)
_BEGINNINGS = {"first indexed": "the first indexed commit", "retention": "the oldest commit that retention keeps"}


def show_history(answer: "SymbolHistory", symbol: str) -> None:
    """Write the events of each declaration, and remarks on what the answer leaves out."""
    for place, history in enumerate(answer.declarations):
        if place:
            write()
        _show(history)
    if not answer.total:
        note(f"no indexed commit of these versions has a declaration of {safe_line(symbol)}")
        return
    if answer.total > 1:
        hint = "narrow with --repo, --path or a longer name such as Class.method"
        note(f"{safe_line(symbol)} means {count(answer.total, 'declaration')}; {hint}")
    if answer.beyond_reason and answer.beyond_reason != NO_GIT:
        note(f"earlier commits and authors may be missing: {answer.beyond_reason}")
    if answer.next_cursor:
        note(f"{count(answer.total_events, 'event')} in total; more: --cursor {answer.next_cursor}")


def _begins_here(history: "DeclarationHistory") -> bool:
    return history.events[-1].event == "present"


def _show(history: "DeclarationHistory") -> None:
    kind = f"  {history.symbol_type}" if history.symbol_type else ""
    gone = "" if history.exists else "  (vanished)"
    place = f"{safe_line(history.repo)}  {safe_line(history.ref)}  {safe_line(history.path)}"
    write(f"{place}  {safe_line(history.symbol)}{kind}{gone}", *_bold())
    for event in history.events:
        write(f"    {_event(event)}")
        for commit in event.commits or ():
            if not _is_alone(event):
                write(f"{_INDENT}{_line_commit(commit)}")
    if not _begins_here(history):
        return
    beyond, begins = history.beyond, history.begins
    if beyond is None:
        write(f"    the history begins at {short(begins.commit)}, {_BEGINNINGS[begins.reason]}")
        return
    shown = history.events[-1].commit  # the event has said who made it
    for commit in (commit for commit in beyond.commits if commit.commit != shown):
        write(f"    {commit.commit_date[:DATE_CHARACTERS]}  {_line_commit(commit)}")
    if not beyond.complete:
        write(f"    earlier commits may be missing: {safe_line(beyond.reason or '')}")


def _event(event: "SymbolEvent") -> str:
    text = event.after or event.before
    place = _place(text) if text else ""
    if event.event == "moved" and event.before and event.after:
        place = f"{_place(event.before)} -> {place}"
        if event.before.symbol != event.after.symbol:
            place += f" ({safe_line(event.before.symbol)} -> {safe_line(event.after.symbol)})"
    indexed = f"indexed {(event.indexed_at or '')[:DATE_CHARACTERS]}"
    date = event.commit_date[:DATE_CHARACTERS] if event.commit_date else indexed
    said = safe_line(f"{event.author}: {event.subject}") if event.author and _is_alone(event) else ""
    parts = (date, short(event.commit), f"{event.event:{EVENT_CHARACTERS}}", place, said, _among(event))
    return "  ".join(part for part in parts if part)


def _is_alone(event: "SymbolEvent") -> bool:
    """Return whether the indexed head itself made the change, as far as is known."""
    if event.commits:
        return [commit.commit for commit in event.commits] == [event.commit]
    return event.range is None or event.commit_count == 1


def _line_commit(commit: "LineCommit") -> str:
    return f"{short(commit.commit)}  {safe_line(commit.author)}: {safe_line(commit.subject)}"


def _among(event: "SymbolEvent") -> str:
    """Return among which commits a change lies, unless there is only one or git has told."""
    if event.range is None or event.commit_count == 1 or event.commits:
        return ""
    between = "..".join(short(commit) for commit in event.range.split(".."))
    number = f"{event.commit_count:,} commits, " if event.commit_count else ""
    return f"({number}{between})"


def _place(text: "HistoricText") -> str:
    return f"{safe_line(text.path)}:{text.start_line}-{text.end_line}"


def _bold() -> tuple[str, str]:
    return ("\x1b[1m", "\x1b[0m") if sys.stdout.isatty() else ("", "")
