"""Edges as they are answered: their ends, names and order, and the names by which references are found."""

from collections.abc import Iterator, Sequence

from codequarry.search_api.answers.relations import Edge, EdgeEnd
from codequarry.search_api.graph.candidates import Resolved
from codequarry.search_api.graph.definitions import FILE, DefinedSymbol, WrittenReference, whole_file
from codequarry.search_api.graph.modules import dotted_module
from codequarry.search_api.search.relations.co_changes import CoChange
from codequarry.search_api.search.relations.go_implementations import Implementation
from codequarry.shared.relations import UNKNOWN

_CONFIDENCE_DIGITS = 3


def edge_of(one: WrittenReference, meant: Resolved | None, depth: int, taker: DefinedSymbol | None = None) -> Edge:
    """Return the edge of a reference; from ``taker`` if that is given a result."""
    place, reference = one.place, one.reference
    written_at = EdgeEnd(place.repo, place.path, reference.line, ".".join(reference.within) or None)
    is_given = reference.into is not None and taker is not None
    return Edge(
        kind=reference.kind,
        source=_end(taker) if is_given and taker is not None else written_at,
        to=_end(meant.symbol) if meant is not None else None,
        via=written_at if is_given else None,
        name=_written_name(reference.target.names),
        confidence=round(meant.confidence, _CONFIDENCE_DIGITS) if meant else 0.0,
        found_by=meant.found_by if meant else None,
        depth=depth,
    )


def edge_of_files(pair: CoChange, depth: int) -> Edge:
    """Return the edge between two files that changed together."""
    return Edge(
        kind="co_change",
        source=_end(whole_file(pair.source)),
        to=_end(whole_file(pair.to)),
        via=None,
        name=pair.to.path,
        confidence=round(pair.share, _CONFIDENCE_DIGITS),
        found_by="history",
        depth=depth,
        commits=pair.commits,
    )


def edge_of_methods(found: Implementation, depth: int) -> Edge:
    """Return the edge from a type to an interface of which it has the methods."""
    return Edge(
        kind="implements",
        source=_end(found.type),
        to=_end(found.interface),
        via=None,
        name=found.interface.definition.name,
        confidence=round(found.confidence, _CONFIDENCE_DIGITS),
        found_by="methods",
        depth=depth,
    )


def referring_names(target: DefinedSymbol) -> Iterator[str]:
    """Yield the names by which others refer to a symbol: a file by its name, or as a module by its name alone."""
    yield target.definition.name
    if target.definition.symbol_kind == FILE:
        yield target.definition.name.partition(".")[0]
        yield target.place.folder.rpartition("/")[2]
        if target.place.family == "python":
            yield from _dotted_tails(target.place.path)
    if target.definition.symbol_kind == "section":
        yield target.place.path.rpartition("/")[2]


def _dotted_tails(path: str) -> Iterator[str]:
    """Yield the names by which a module of Python may be imported: any of the folders above may be a source folder."""
    module = dotted_module(path)
    while "." in module:
        yield module
        module = module.partition(".")[2]


def _end(symbol: DefinedSymbol) -> EdgeEnd:
    is_file = symbol.definition.symbol_kind == FILE
    name = None if is_file else _qualified(symbol.definition.symbol_kind, symbol.path)
    return EdgeEnd(symbol.place.repo, symbol.place.path, symbol.definition.line, name)


def _qualified(kind: str, path: Sequence[str]) -> str:
    return (" > " if kind == "section" else ".").join(path)


def _written_name(names: Sequence[str]) -> str:
    return ".".join(name for name in names if name != UNKNOWN)


def edge_order(edge: Edge) -> tuple[str, str, int, str, float]:
    """Return the order of edges by place; of the files that changed with a file, the most frequent is first."""
    share = -edge.confidence if edge.kind == "co_change" else 0.0
    return edge.source.repo, edge.source.path, edge.source.line, edge.kind, share
