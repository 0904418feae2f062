"""Whether arguments of some types can be those of a Java method: which of its overloads a call means."""

import re
from collections.abc import Sequence
from functools import lru_cache

from codequarry.search_api.graph.signatures import parameter_list

WRONG_TYPE = 100
"""From this misfit on, a call can't mean a method; the sum of the lesser misfits of six arguments is smaller."""
# Other types that accept an argument: a wider number, its boxed type, a type that it may inherit from, any object.
_WIDER, _BOXED, _PERHAPS_INHERITED, _ANY_OBJECT = 1, 5, 8, 10

_NUMBERS = ("byte", "short", "int", "long", "float", "double")
_BOXES = {
    "byte": "Byte", "short": "Short", "int": "Integer", "long": "Long", "float": "Float", "double": "Double",
    "char": "Character", "boolean": "Boolean",
}  # fmt: skip
_UNBOXED = {box: plain for plain, box in _BOXES.items()}
# Types of the runtime of which a text is one.
_OF_STRING = frozenset({"CharSequence", "Comparable", "Serializable"})
_NOT_FUNCTIONS = frozenset({"String", "CharSequence", "Class", *_BOXES, *_UNBOXED})
_ANNOTATIONS = re.compile(r"@[\w.]+(?:\([^()]*\))?\s*|\bfinal\s+")
_TYPE_PARAMETER = re.compile(r"[A-Z]\d?\Z")


def misfit_of_types(signature: str, types: Sequence[str]) -> int:
    """Return how badly arguments of some types fit a signature; an empty type fits any."""
    parameters = parameter_types(signature)
    if not parameters:
        return 0
    # The last parameter takes all further arguments if it takes any number.
    return sum(
        _misfit(given, parameters[min(index, len(parameters) - 1)]) for index, given in enumerate(types) if given
    )


@lru_cache(maxsize=65_536)
def parameter_types(signature: str) -> tuple[str, ...]:
    """Return the types of parameters without packages, type arguments and annotations."""
    return tuple(_type_of(part) for part in parameter_list(signature)[0])


def _type_of(parameter: str) -> str:
    plain = re.sub(r"<.*>", "", _ANNOTATIONS.sub("", parameter)).replace(" [", "[").replace(" ...", "...")
    return plain.split(" ", 1)[0].rpartition(".")[2] if "..." not in plain else plain.partition("...")[0] + "..."


def _misfit(given: str, wanted: str) -> int:
    if wanted.endswith("..."):
        element = wanted.removesuffix("...")
        return 0 if given == f"{element}[]" else _misfit(given, element)
    if given == wanted:
        return 0
    if given == "null":
        return WRONG_TYPE if wanted in _BOXES else 0
    if given == "->":
        return WRONG_TYPE if wanted in _NOT_FUNCTIONS or wanted.endswith("]") else 0
    if wanted == "Object" or _TYPE_PARAMETER.match(wanted):
        return _ANY_OBJECT
    if given in _BOXES or wanted in _BOXES:
        return _misfit_of_plain(given, wanted)
    if given == "String":
        return _WIDER if wanted in _OF_STRING else WRONG_TYPE
    if wanted == "String" or wanted in _UNBOXED or given.endswith("]") != wanted.endswith("]"):
        return WRONG_TYPE
    return _PERHAPS_INHERITED


def _misfit_of_plain(given: str, wanted: str) -> int:
    """Return the misfit if one of both types is none of objects."""
    if _BOXES.get(given) == wanted or _BOXES.get(wanted) == given:
        return _BOXED
    if given in _NUMBERS and wanted in _NUMBERS and _NUMBERS.index(given) < _NUMBERS.index(wanted):
        return _WIDER + _NUMBERS.index(wanted) - _NUMBERS.index(given)
    if given == "char" and wanted in _NUMBERS[2:]:
        return _WIDER + _NUMBERS.index(wanted)
    if given in _BOXES and wanted == "Number":
        return _BOXED
    return WRONG_TYPE
