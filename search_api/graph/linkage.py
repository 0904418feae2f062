"""Which of several definitions a name in C or C++ means: a name is global, but files include what declares it."""

from collections.abc import Sequence

from codequarry.search_api.graph.definitions import DefinedSymbol, FilePlace
from codequarry.search_api.graph.modules import includes
from codequarry.shared.relations import OWN_TYPE

_HEADERS = (".h", ".hh", ".hpp", ".hxx", ".inl", ".inc", ".ipp", ".tpp")
_PROTOTYPE = "prototype"


def own_type(module: str) -> tuple[str, ...]:
    """Return the path of the type around a reference that its target's module gives, if any."""
    first = module.partition("|")[0]
    return tuple(first.removeprefix(OWN_TYPE).split("::")) if first.startswith(OWN_TYPE) else ()


def is_visible(found: DefinedSymbol, place: FilePlace) -> bool:
    """Return whether a file sees a definition: functions that are static do not leave a source file."""
    is_static = found.definition.signature.startswith("static ") and not found.place.path.lower().endswith(_HEADERS)
    return found.place.family == place.family and (found.place == place or not (is_static and len(found.path) == 1))


def nearest(found: Sequence[DefinedSymbol], module: str, place: FilePlace) -> list[DefinedSymbol]:
    """Return the definitions that are as near as any, with their prototypes after them.

    Nearer are those in the file itself, then those in files that it includes, then those with more folders in common.
    """
    bodies = [symbol for symbol in found if symbol.definition.symbol_kind != _PROTOTYPE]
    near = _nearest(bodies, module, place)
    # A class has a body for each of its methods, but other classes' methods of the same name are not near.
    return near + _nearest([symbol for symbol in found if symbol not in bodies], module, place)


def _nearest(found: Sequence[DefinedSymbol], module: str, place: FilePlace) -> list[DefinedSymbol]:
    ranks = [_distance(symbol, module, place) for symbol in found]
    best = min(ranks, default=None)
    return [symbol for symbol, rank in zip(found, ranks, strict=True) if rank == best]


def _distance(symbol: DefinedSymbol, module: str, place: FilePlace) -> tuple[bool, bool, bool, int]:
    if symbol.place == place:
        return False, False, False, 0
    own, other = place.folder.split("/"), symbol.place.folder.split("/")
    common = next(
        (index for index, (a, b) in enumerate(zip(own, other, strict=False)) if a != b), min(len(own), len(other))
    )
    return symbol.place.repo != place.repo, True, not includes(module, symbol.place.path), -common
