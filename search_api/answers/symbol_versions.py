"""The answer to which versions have a symbol."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from codequarry.search_api.answers.hits import HitVersion
from codequarry.shared.model import SymbolType

Lack = Literal["file missing", "file skipped", "declaration missing"]


@dataclass(frozen=True, slots=True)
class SymbolText:
    """One text of a declaration, with the versions that have it; the other fields are those of the first version."""

    versions: tuple[HitVersion, ...]
    id: Annotated[str, Field(description="id of its chunk, for the filter id of a search")]
    blob: str
    content_hash: str
    start_line: int
    end_line: int
    signature: str | None
    shared: Annotated[
        bool, Field(description="true if the lines also hold other declarations, which may be all that differs")
    ]
    url: Annotated[str | None, Field(description="link to the lines on the code host, if the origin is known")]


@dataclass(frozen=True, slots=True)
class LackingVersion:
    """A version of the repository that lacks a declaration."""

    ref: str
    commit: str
    lack: Lack


@dataclass(frozen=True, slots=True)
class DeclaredSymbol:
    """A declaration at one path: each of its texts, the first version's first, and the versions that lack it."""

    repo: str
    path: str
    language: str
    symbol: str
    symbol_type: SymbolType
    texts: tuple[SymbolText, ...]
    lacking: tuple[LackingVersion, ...]


@dataclass(frozen=True, slots=True)
class SymbolVersions:
    """A page of the declarations of a symbol, by repository and path."""

    declarations: tuple[DeclaredSymbol, ...]
    total: Annotated[int, Field(description="number of declarations on all pages")]
    versions_searched: int
    next_cursor: Annotated[str | None, Field(description="`?cursor=` of the next page; null on the last page")]
