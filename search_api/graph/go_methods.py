"""Method sets of Go: a type implements an interface if it has all of its methods, without saying so."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from codequarry.search_api.graph.builtin_members import word_set
from codequarry.search_api.graph.definitions import DefinedSymbol, WrittenReference

# Compared with go/types, nearly all of these are right; docs/relations.md has the figures.
_SAME_TYPES = 0.95
# Names of types are the same, but not those of the packages before them. If both are imported, perhaps one has another
# name in its file; if one is of the own package, they are most likely different.
_OTHER_NAMES = 0.5
_OTHER_PACKAGES = 0.25
# The types are not all known: a signature is too long to be stored whole, or has type parameters.
_SAME_COUNTS = 0.7
# An interface embeds one that is defined elsewhere, whose methods are not known.
_UNKNOWN_METHODS = 0.7

_HEAD = re.compile(r"\s*(?:func\s*)?(?:\([^()]*\)\s*)?\w+\s*(?=[(\[])")
_QUALIFIER = re.compile(r"\b\w+\.(?=\w)")
# A name of a type of the own package: neither qualified nor a qualifier.
_OWN_NAME = re.compile(r"(?<![\w.])([A-Za-z_]\w*)(?![\w.])")
_BUILT_IN = word_set(
    "any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string uint",
    "uint8 uint16 uint32 uint64 uintptr func chan map struct interface",
)
# Words that begin a type which has a space in it.
_TYPE_WORDS = frozenset({"func", "chan", "<-chan", "map", "struct", "interface", "..."})
_OPEN, _CLOSE = "([{", ")]}"

Shape = tuple[tuple[str, ...], tuple[str, ...]]
"""The types of the parameters and results of a method, each qualified by its package."""


@dataclass(frozen=True, slots=True)
class GoMethod:
    """A method, and the package in which its signature stands."""

    signature: str
    package: str


@dataclass(slots=True)
class GoType:
    """A type of Go with its methods, and what it embeds."""

    symbol: DefinedSymbol
    methods: dict[str, GoMethod] = field(default_factory=dict)
    embedded: list[WrittenReference] = field(default_factory=list)

    @property
    def is_interface(self) -> bool:
        """Whether it is an interface."""
        return self.symbol.definition.symbol_kind == "interface"

    @property
    def is_generic(self) -> bool:
        """Whether it has type parameters, which stand for other types in the signatures of its methods."""
        return bool(
            re.match(rf"(?:type\s+)?{re.escape(self.symbol.definition.name)}\[\w", self.symbol.definition.signature)
        )


def implements(
    type_: GoType, own: Mapping[str, GoMethod], interface: GoType, wanted: Mapping[str, GoMethod], complete: bool
) -> float:
    """Return how surely a type with methods ``own`` implements an interface with the methods ``wanted``: 0 to 1.

    ``complete`` says whether these are all methods of the interface.
    """
    if not wanted or any(name not in own for name in wanted):
        return 0.0
    if not _same_package(type_.symbol, interface.symbol) and any(not name[:1].isupper() for name in wanted):
        # Only a type of the same package can have these methods.
        return 0.0
    generic = type_.is_generic or interface.is_generic
    confidence = min(_likeness(own[name], wanted[name], generic) for name in wanted)
    return confidence if complete else min(confidence, _UNKNOWN_METHODS)


def _same_package(one: DefinedSymbol, other: DefinedSymbol) -> bool:
    a, b = one.place, other.place
    return (a.repo, a.folder, a.package) == (b.repo, b.folder, b.package)


def _likeness(own: GoMethod, wanted: GoMethod, generic: bool) -> float:
    mine, theirs = shape(own), shape(wanted)
    if mine is None or theirs is None:
        return _SAME_COUNTS
    if generic:
        return _SAME_COUNTS if all(len(a) == len(b) for a, b in zip(mine, theirs, strict=True)) else 0.0
    if mine == theirs:
        return _SAME_TYPES
    if _unqualified(mine) != _unqualified(theirs):
        return 0.0
    return _OTHER_NAMES if _both_imported(mine, theirs, {own.package, wanted.package}) else _OTHER_PACKAGES


def _both_imported(mine: Shape, theirs: Shape, own: set[str]) -> bool:
    """Return whether neither of two packages that differ is that of a signature itself."""
    pairs = zip(_QUALIFIER.findall(repr(mine)), _QUALIFIER.findall(repr(theirs)), strict=False)
    return all(one == other or own.isdisjoint({one.rstrip("."), other.rstrip(".")}) for one, other in pairs)


def _unqualified(types: Shape) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(_QUALIFIER.sub("", type_) for type_ in part) for part in types)


@lru_cache(maxsize=65_536)
def shape(method: GoMethod) -> Shape | None:
    """Return the types of a method's parameters and results, or None if the signature is not whole."""
    signature = method.signature
    head = _HEAD.match(signature)
    if head is None:
        return None
    rest = signature[head.end() :]
    group = _group(rest)
    if group is not None and rest.startswith("["):
        rest = rest[len(group) :].lstrip()
        group = _group(rest)
    if group is None:
        return None
    results = _results(rest[len(group) :])
    if results is None:
        return None
    return _qualified(_types(group[1:-1]), method.package), _qualified(_types(results), method.package)


def _qualified(types: Iterable[str], package: str) -> tuple[str, ...]:
    """Return types without spaces, and with the package before the names of its own types."""

    def name(found: re.Match[str]) -> str:
        return found[1] if found[1] in _BUILT_IN else f"{package}.{found[1]}"

    return tuple(_OWN_NAME.sub(name, type_).replace(" ", "") for type_ in types)


def _results(after: str) -> str | None:
    """Return the list of results after the parameters, or None if it is not whole."""
    text = after.strip().removesuffix("{").strip()
    if not text.startswith("("):
        return text
    group = _group(text)
    return group[1:-1] if group is not None else None


def _group(text: str) -> str | None:
    """Return the brackets at the beginning of a text with what is in them, or None if they are not closed."""
    depth = 0
    for at, sign in enumerate(text):
        depth += (sign in _OPEN) - (sign in _CLOSE)
        if not depth:
            return text[: at + 1]
    return None


def _types(parameters: str) -> Iterator[str]:
    """Yield the type of each parameter or result; of several names before a type, each has it."""
    items = list(_items(parameters))
    named = any(_name_of(item) for item in items)
    type_ = ""
    found = []
    for item in reversed(items):
        name = _name_of(item)
        type_ = item if not named else item[len(name) :] if name else type_
        found.append(_normal(type_.strip()))
    yield from reversed(found)


def _normal(type_: str) -> str:
    """Return a type; a type of functions without the names of its parameters."""
    group = _group(type_[4:]) if type_.startswith("func(") else None
    if group is None:
        return type_.replace("interface{}", "any")
    results = _results(type_[4 + len(group) :]) or ""
    return f"func({','.join(_types(group[1:-1]))})({','.join(_types(results))})"


def _name_of(item: str) -> str:
    """Return the name before a type, or nothing if there is only a name or only a type."""
    first, space, _ = item.partition(" ")
    return first if space and first.isidentifier() and first not in _TYPE_WORDS else ""


def _items(parameters: str) -> Iterator[str]:
    depth, begin = 0, 0
    for at, sign in enumerate(f"{parameters},"):
        depth += (sign in _OPEN) - (sign in _CLOSE)
        if not depth and sign == ",":
            if item := parameters[begin:at].strip():
                yield item
            begin = at + 1
