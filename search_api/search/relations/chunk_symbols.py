"""The definitions and references that chunks hold."""

from collections.abc import Iterable, Iterator
from functools import lru_cache

from codequarry.search_api.graph.definitions import DefinedSymbol
from codequarry.search_api.search.relations.places import place_of
from codequarry.shared.model import Chunk
from codequarry.shared.relations import Symbols, decode


def symbols_of(chunk: Chunk) -> Symbols:
    """Return the definitions and references of a chunk."""
    return _decoded(chunk.relations)


def defined_in(chunks: Iterable[Chunk]) -> Iterator[DefinedSymbol]:
    """Yield the definitions in chunks."""
    for chunk in chunks:
        place = place_of(chunk)
        for definition in symbols_of(chunk).definitions:
            yield DefinedSymbol(place, definition)


# A walk comes to the same chunks again and again.
@lru_cache(maxsize=4_096)
def _decoded(relations: str) -> Symbols:
    return decode(relations)
