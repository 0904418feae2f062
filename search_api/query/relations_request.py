"""Requests about the definitions of a symbol, and about its neighbours in the graph of symbols."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from codequarry.search_api.query.filters import FilterValues, read_filters
from codequarry.search_api.query.names import EXTENSIONS, Name, split_name
from codequarry.search_api.query.request import CheckedFilters, Token
from codequarry.search_api.query.request_body import RequestBody, ShortText, WholeNumber
from codequarry.search_api.query.selection import Selection, select
from codequarry.shared.errors import UnknownName, UsageError
from codequarry.shared.filters import check_filters
from codequarry.shared.relations import EDGE_KINDS, EdgeKind

Direction = Literal["in", "out", "both"]
DIRECTIONS: tuple[Direction, ...] = ("in", "out", "both")

DEFAULT_LIMIT = 100
MAX_LIMIT = 1_000
MAX_DEPTH = 5
# Edges that are less sure are mostly wrong: several definitions share the name, and nothing tells them apart.
DEFAULT_CONFIDENCE = 0.3


@dataclass(frozen=True, slots=True)
class DefinitionsRequest:
    """A symbol whose definitions are asked for."""

    name: Name
    selection: Selection
    filters: FilterValues
    limit: int = DEFAULT_LIMIT
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class GraphRequest:
    """A symbol, the symbols of a chunk, or a file, whose neighbours are asked for.

    ``filters`` select the repositories and versions, and the paths and languages of the places (``from``). ``kinds``
    are those of the edges; if it is empty, all but ``co_change``, which is a relation of files and no reference.
    ``direction`` ``in`` asks for edges to the symbol, ``out`` for others.
    """

    name: Name | None
    chunk_id: str | None
    file: str | None
    selection: Selection
    filters: FilterValues
    direction: Direction = "in"
    kinds: tuple[EdgeKind, ...] = ()
    depth: int = 1
    min_confidence: float | None = None
    limit: int = DEFAULT_LIMIT
    cursor: str | None = None

    @property
    def least_sure(self) -> float:
        """The confidence that references must have."""
        return DEFAULT_CONFIDENCE if self.min_confidence is None else self.min_confidence

    def asks_for(self, kind: EdgeKind) -> bool:
        """Return whether edges of a kind are wanted."""
        return kind in self.kinds if self.kinds else kind != "co_change"


class GraphBody(RequestBody):
    """The body of `POST /graph`: it has `name` or `chunk_id`. A name with a slash or a file extension is a path."""

    examples: ClassVar[Sequence[Mapping[str, Any]]] = [
        {"name": "Store.load", "direction": "in", "kinds": ["call"], "depth": 2, "filters": {"repo": "core"}},
        {"name": "BaseLoader", "direction": "in", "kinds": ["inherits", "implements"]},
    ]

    name: ShortText | None = Field(
        None, description="the exact name of a symbol, the end of its qualified name, or the path of a file"
    )
    chunk_id: ShortText | None = Field(None, description="instead of a name: the id of a hit, for the symbols in it")
    direction: ShortText = Field("in", description="in: what refers to it; out: what it refers to; both")
    kinds: Annotated[list[ShortText], Field(min_length=1, max_length=len(EDGE_KINDS))] | None = Field(
        None, description=f"kinds of edges, any of {', '.join(EDGE_KINDS)}; the default is all but co_change"
    )
    depth: WholeNumber = Field(1, ge=1, le=MAX_DEPTH, description="how many edges to follow")
    min_confidence: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description=f"leave out edges that are less sure; the default is {DEFAULT_CONFIDENCE}, for co_change 0"
    )
    filters: CheckedFilters = Field(default_factory=dict)
    limit: WholeNumber = Field(DEFAULT_LIMIT, ge=1, le=MAX_LIMIT)
    cursor: ShortText | None = Field(None, description="`next_cursor` of the previous page")
    token: Token = None


def parse_graph(body: object) -> GraphRequest:
    """Check a JSON body and return the request; raise UsageError or UnknownName."""
    parsed = GraphBody.read(body)
    return graph_request(
        parsed.name,
        parsed.filters,
        chunk_id=parsed.chunk_id,
        direction=parsed.direction,
        kinds=parsed.kinds or (),
        depth=parsed.depth,
        min_confidence=parsed.min_confidence,
        limit=parsed.limit,
        cursor=parsed.cursor,
    )


def definitions_request(
    name: str, filters: Mapping[str, Sequence[str]], limit: int = DEFAULT_LIMIT, cursor: str | None = None
) -> DefinitionsRequest:
    """Check a request; raise UsageError or UnknownName."""
    values, selection = _selected(filters)
    return DefinitionsRequest(_name(name), selection, values, limit, cursor)


def graph_request(
    name: str | None,
    filters: Mapping[str, Sequence[str]],
    *,
    chunk_id: str | None = None,
    direction: str = "in",
    kinds: Sequence[str] = (),
    depth: int = 1,
    min_confidence: float | None = None,
    limit: int = DEFAULT_LIMIT,
    cursor: str | None = None,
) -> GraphRequest:
    """Check a request; raise UsageError or UnknownName."""
    if (name is None) == (chunk_id is None):
        raise UsageError("give either 'name' or 'chunk_id': the symbol whose neighbours you want")
    values, selection = _selected(filters)
    file = _file(name) if name is not None else None
    return GraphRequest(
        name=_name(name) if name is not None and file is None else None,
        chunk_id=chunk_id,
        file=file,
        selection=selection,
        filters=values,
        direction=_direction(direction),
        kinds=tuple(_kind(kind) for kind in dict.fromkeys(kinds)),
        depth=depth,
        min_confidence=min_confidence,
        limit=limit,
        cursor=cursor,
    )


def _name(written: str) -> Name:
    symbol = split_name(written.strip())
    if symbol is None:
        raise UsageError(f"'{written}' is not the name of a symbol; write a name such as load or Store.load")
    return symbol


def _file(written: str) -> str | None:
    """Return the path that a name is, or None for the name of a symbol."""
    name = written.strip()
    stem, dot, extension = name.rpartition(".")
    is_path = "/" in name or (bool(stem and dot) and extension in EXTENSIONS and "." not in stem)
    return name.removeprefix("./") if is_path else None


def _direction(written: str) -> Direction:
    for direction in DIRECTIONS:
        if written == direction:
            return direction
    raise UnknownName("direction", written, DIRECTIONS)


def _kind(written: str) -> EdgeKind:
    for kind in EDGE_KINDS:
        if written == kind:
            return kind
    raise UnknownName("kind of edge", written, EDGE_KINDS)


def _selected(filters: Mapping[str, Sequence[str]]) -> tuple[FilterValues, Selection]:
    values = read_filters({key: list(given) for key, given in filters.items() if given})
    selection = select(values, (), include_tests=True)
    if selection.documents:
        raise UsageError("symbols are in code, not in commits; leave out the filters of commits")
    check_filters(selection.filters)
    return values, selection
