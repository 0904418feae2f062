"""The answers about symbols: their definitions, and the edges between them."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from codequarry.search_api.answers.freshness import Freshness
from codequarry.shared.model import SymbolType
from codequarry.shared.relations import EdgeKind

FoundBy = Literal["scope", "import", "package", "receiver", "unique_name", "name", "link", "history", "methods"]

NextCursor = Annotated[str | None, Field(description="`cursor` of the next page; null on the last page")]


@dataclass(frozen=True, slots=True)
class SymbolDefinition:
    """A definition of a symbol; `container` is the qualified name of what it is a member of."""

    repo: str
    path: str
    start_line: Annotated[int, Field(description="the line of its name")]
    end_line: int
    symbol_name: str
    qualified_name: str
    symbol_type: SymbolType
    symbol_kind: Annotated[str, Field(description="the language's own word, such as struct or trait")]
    signature: str
    exported: Annotated[bool | None, Field(description="null if the language does not show it")]
    container: str | None
    doc: Annotated[str, Field(description="the first sentences of its documentation")]
    language: str
    ref: str | None
    commit: str | None
    url: Annotated[str | None, Field(description="link to the lines on the code host, if the origin is known")]


# The MCP library reads class attributes as defaults, and slots are class attributes.
@dataclass(frozen=True)
class Definitions:
    """A page of definitions, by repository, path and line; code before keys of settings and sections of documents."""

    definitions: tuple[SymbolDefinition, ...]
    total: Annotated[int, Field(description="number of definitions on all pages")]
    next_cursor: NextCursor
    freshness: tuple[Freshness, ...]


@dataclass(frozen=True, slots=True)
class EdgeEnd:
    """A place, and the qualified name of the symbol that it is in (`from`) or that it defines (`to`)."""

    repo: str
    path: str
    line: int
    symbol: Annotated[str | None, Field(description="null at the top of a file")]


@dataclass(frozen=True, slots=True)
class Edge:
    """A relation between two symbols, or for co_change, between two files.

    `to` is null if the name is defined nowhere in the version asked for.
    """

    kind: EdgeKind
    source: Annotated[EdgeEnd, Field(alias="from")]
    to: EdgeEnd | None
    name: Annotated[
        str,
        Field(description="the name as the file has it, with what stands before it if known; for co_change, the path"),
    ]
    confidence: Annotated[
        float,
        Field(
            ge=0,
            le=1,
            description="how sure it is that `to` is meant; for co_change, the share of the commits of the file in "
            "`from` that changed the other file",
        ),
    ]
    found_by: Annotated[FoundBy | None, Field(description="how `to` was found; null if it was not")]
    via: Annotated[
        EdgeEnd | None,
        Field(description="for data_flow: the place that gives the result of `to` to `from`, if that is elsewhere"),
    ]
    depth: Annotated[int, Field(ge=1, description="number of edges between the symbol asked for and this one")]
    commits: Annotated[
        int | None, Field(description="for co_change: the number of commits that changed both files; else null")
    ] = None


# The MCP library reads class attributes as defaults, and slots are class attributes.
@dataclass(frozen=True)
class Edges:
    """A page of edges, the nearest first, then by repository, path and line."""

    edges: tuple[Edge, ...]
    total: Annotated[int, Field(description="number of edges on all pages")]
    next_cursor: NextCursor
    freshness: tuple[Freshness, ...]
