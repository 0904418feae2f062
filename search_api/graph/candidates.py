"""What a reference may mean: candidates, their order, and whether a member belongs to a type."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from codequarry.search_api.answers.relations import FoundBy
from codequarry.search_api.graph.definitions import DefinedSymbol, FilePlace, WrittenReference
from codequarry.search_api.graph.modules import MemberPath
from codequarry.search_api.graph.overloads import is_misfit, misfit
from codequarry.shared.relations import CALLS, Target

# The confidence of each way; measured shares of right edges are in docs/relations.md.
CONFIDENCE: dict[FoundBy, float] = {
    "scope": 0.99, "import": 0.97, "package": 0.95, "receiver": 0.93, "unique_name": 0.7, "name": 0.4,
}  # fmt: skip
# Types above a type that are looked through, and types that a path of names passes.
MAX_DEPTH = 8
# More candidates by name alone say nothing.
MAX_BY_NAME = 5
# Overloads, and the declarations of a type for several platforms, are followed together.
_MAX_FOLLOWED = 24


@dataclass(frozen=True, slots=True)
class Resolved:
    """A definition that a reference may mean."""

    symbol: DefinedSymbol
    confidence: float
    found_by: FoundBy


TargetSearch = Callable[[Target, FilePlace, int], list[Resolved]]
"""Resolves a target of a file, at a depth."""


def ordered(found: Iterable[Resolved], written: WrittenReference) -> list[Resolved]:
    """Return each candidate for a reference once: those that fit its arguments, the surest first, then the others."""
    kind = written.reference.kind

    def order(item: Resolved) -> tuple[object, ...]:
        symbol = item.symbol
        first = is_misfit(symbol, written), -item.confidence, symbol.place.is_stub
        return *first, not _suits(kind, symbol), misfit(symbol, written), _distance(item, written)

    return distinct(sorted(found, key=order))


def _distance(item: Resolved, written: WrittenReference) -> tuple[bool, bool, int]:
    """Return how far a definition is: of equal names in a file, the last one before the reference is the nearest."""
    symbol, line = item.symbol, written.reference.line
    here = symbol.place == written.place
    after = symbol.definition.line > line
    return not here, here and after, abs(symbol.definition.line - line) if here else 0


def distinct(found: Iterable[Resolved]) -> list[Resolved]:
    """Return each definition once, and not more than are worth following."""
    unique: dict[tuple[str, str, int, MemberPath, str], Resolved] = {}
    for item in found:
        place, definition = item.symbol.place, item.symbol.definition
        unique.setdefault((place.repo, place.path, definition.line, definition.path, definition.symbol_kind), item)
    return list(unique.values())[:_MAX_FOLLOWED]


def by_name_alone(found: Sequence[DefinedSymbol]) -> list[Resolved]:
    """Return all definitions with a name as candidates; several share the confidence."""
    way: FoundBy = "unique_name" if len(found) == 1 else "name"
    return [Resolved(symbol, CONFIDENCE[way] / len(found), way) for symbol in found[:MAX_BY_NAME]]


def family_of(found: Sequence[Resolved]) -> str:
    """Return the family of languages of candidates, of which there is at least one."""
    return found[0].symbol.place.family


def ends_alike(path: Sequence[str], names: Sequence[str]) -> bool:
    """Return whether the shorter of two paths ends the longer one: else no module makes them mean the same."""
    shorter = min(len(path), len(names))
    return path[-shorter:] == names[-shorter:]


def _suits(kind: str, symbol: DefinedSymbol) -> bool:
    """Return whether a reference of a kind is more likely to mean a symbol than a field or method of the same name."""
    is_function = symbol.definition.symbol_type in {"function", "method"}
    return is_function if kind in CALLS else not is_function if kind == "mention" else True


def _crate(place: FilePlace) -> str:
    return place.path.rpartition("/src/")[0]


def is_global(symbol: DefinedSymbol) -> bool:
    """Return whether a definition can be named without what encloses it: a constant of Ruby."""
    return symbol.place.family == "ruby" and symbol.definition.name[:1].isupper()


def is_same_type(member: DefinedSymbol, type_: DefinedSymbol) -> bool:
    """Return whether a member belongs to a type: in its file, or in a file that may add to it."""
    if member.place == type_.place:
        return member.path[:-1] == type_.path
    if member.place.family == "go":
        return member.place.folder == type_.place.folder and member.place.repo == type_.place.repo
    if member.place.family == "rust" and _crate(member.place) != _crate(type_.place):
        return False
    if member.place.family == "c#":
        return member.place.repo == type_.place.repo and member.place.package == type_.place.package
    may_add = member.is_extension or member.place.family in {"rust", "c", "ruby"}
    return may_add and member.place.repo == type_.place.repo
