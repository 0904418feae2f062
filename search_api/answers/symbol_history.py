"""The answer to when a symbol appeared, changed and vanished."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from codequarry.shared.model import SymbolType

Happening = Literal["present", "appeared", "changed", "moved", "vanished"]
Beginning = Literal["first indexed", "retention"]


@dataclass(frozen=True, slots=True)
class HistoricText:
    """The text of a declaration at one commit."""

    path: str
    symbol: str
    commit: str
    id: Annotated[str, Field(description="id of its chunk, for the filter id of a search at this commit")]
    blob: str
    content_hash: Annotated[str, Field(description="SHA-256 of the text of its chunk, of all parts if it was split")]
    start_line: Annotated[int, Field(description="first line of the declaration itself, with its comment")]
    end_line: int
    signature: str | None
    shared: Annotated[
        bool, Field(description="true if the chunk also holds other declarations, whose changes are no events")
    ]
    url: Annotated[str | None, Field(description="link to the lines on the code host, if the origin is known")]


@dataclass(frozen=True, slots=True)
class LineCommit:
    """A commit that touched the lines of a declaration, from git; secrets in the message are masked."""

    commit: str
    commit_date: str
    author: str
    subject: str


@dataclass(frozen=True, slots=True)
class SymbolEvent:
    """What happened to a declaration between two indexed heads; ``commit`` is the first that shows it."""

    event: Annotated[
        Happening,
        Field(
            description="present: the declaration was there when the history begins; moved: to another path, or to "
            "another scope of the same file, with the same or a similar text"
        ),
    ]
    ref: str
    commit: str
    indexed_at: Annotated[str | None, Field(description="when the commit was indexed")]
    previous_commit: Annotated[str | None, Field(description="the indexed head before; null where the history begins")]
    commit_count: Annotated[
        int | None, Field(description="number of commits between the two heads, among which the change lies, if known")
    ]
    range: Annotated[str | None, Field(description="those commits, for git log")]
    rewrote: Annotated[bool, Field(description="true if history was rewritten, as by a force-push")]
    commit_date: Annotated[str | None, Field(description="date of `commit`, where git was asked")]
    author: Annotated[str | None, Field(description="author of `commit`, where git was asked")]
    subject: Annotated[str | None, Field(description="first line of its message, where git was asked")]
    commits: Annotated[
        tuple[LineCommit, ...] | None,
        Field(description="the commits of the range that touched the lines, newest first, where git was asked"),
    ]
    before: Annotated[HistoricText | None, Field(description="the text before; null for present and appeared")]
    after: Annotated[HistoricText | None, Field(description="the text after; null for vanished")]


@dataclass(frozen=True, slots=True)
class EarlierHistory:
    """What git's log of the lines says about the time before the first indexed head, newest first."""

    commits: tuple[LineCommit, ...]
    complete: bool
    reason: Annotated[str | None, Field(description="why the list is not complete")]


@dataclass(frozen=True, slots=True)
class HistoryStart:
    """The oldest indexed head that a history can tell about, and why it begins there."""

    ref: str
    commit: str
    indexed_at: str | None
    reason: Annotated[Beginning, Field(description="retention: earlier heads have expired")]


@dataclass(frozen=True, slots=True)
class DeclarationHistory:
    """The events of one declaration in one version, newest first, wherever it moved."""

    repo: str
    ref: str
    path: Annotated[str, Field(description="the newest path")]
    language: str
    symbol: str
    symbol_type: Annotated[SymbolType | None, Field(description="null if its chunk also holds other declarations")]
    exists: Annotated[bool, Field(description="whether the newest indexed head has it")]
    begins: HistoryStart
    events: tuple[SymbolEvent, ...]
    beyond: Annotated[EarlierHistory | None, Field(description="null if git was not asked, see beyond_reason")] = None


# No slots: the MCP library would mistake them for defaults, and the tool would have no schema.
@dataclass(frozen=True)
class SymbolHistory:
    """A page of the histories of a symbol's declarations; the events of one may continue on the next page."""

    declarations: tuple[DeclarationHistory, ...]
    total: Annotated[int, Field(description="number of declarations on all pages")]
    total_events: Annotated[int, Field(description="number of events on all pages")]
    next_cursor: Annotated[str | None, Field(description="`?cursor=` of the next page; null on the last page")]
    beyond_reason: Annotated[str | None, Field(description="why git was not asked, or not about everything")] = None
