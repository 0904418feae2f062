"""Which of several definitions with the same name a reference fits: a field or a method, and which overload."""

from codequarry.search_api.graph.definitions import DefinedSymbol, WrittenReference
from codequarry.search_api.graph.java_types import WRONG_TYPE, misfit_of_types
from codequarry.search_api.graph.signatures import ANY_NUMBER, parameters
from codequarry.shared.relations import CALLS

_CALLABLE = frozenset({"function", "method", "class"})
# An overload that takes any number of arguments is chosen last of those whose types can be right.
_OPEN_ENDED = WRONG_TYPE - 1
_WRONG_COUNT = 100 * WRONG_TYPE
_NOT_CALLABLE = 2 * _WRONG_COUNT


def misfit(found: DefinedSymbol, written: WrittenReference) -> int:
    """Return how badly a definition fits a reference with its name: 0 is a fit, from ``WRONG_TYPE`` on it is none."""
    reference, definition = written.reference, found.definition
    is_callable = definition.symbol_type in _CALLABLE
    if reference.kind == "mention":
        return int(is_callable and definition.symbol_type != "class")
    if reference.kind not in CALLS:
        return 0
    if not is_callable:
        return _NOT_CALLABLE
    if reference.arguments is None or definition.symbol_type == "class":
        return 0
    fewest, most = parameters(definition.signature)
    if not fewest <= reference.arguments <= most:
        return _WRONG_COUNT
    types = reference.argument_types
    of_types = misfit_of_types(definition.signature, types) if types else 0
    return max(of_types, _OPEN_ENDED) if most >= ANY_NUMBER else of_types


def is_misfit(found: DefinedSymbol, written: WrittenReference) -> bool:
    """Return whether a call whose arguments are known can't mean a definition: they don't fit, or it is no function."""
    return written.reference.arguments is not None and misfit(found, written) >= WRONG_TYPE
