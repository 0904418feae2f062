"""Follows names through the members of types, the types of values, and the types that a type inherits from."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from codequarry.search_api.graph.builtin_members import BUILTIN_MEMBERS, ELEMENT_MEMBERS
from codequarry.search_api.graph.candidates import (
    CONFIDENCE,
    MAX_DEPTH,
    Resolved,
    TargetSearch,
    by_name_alone,
    distinct,
    family_of,
    is_same_type,
)
from codequarry.search_api.graph.definitions import DefinitionTable, FilePlace
from codequarry.shared.relations import SUPER, UNKNOWN, Target

# A member found in a parent type.
_INHERITED = 0.97
# An element of a built-in container, whose type counts as that of its elements.
_ELEMENT = 0.95


class MemberSearch:
    """Finds the members of what has been found."""

    def __init__(
        self,
        table: DefinitionTable,
        find: TargetSearch,
        by_name: Callable[[Sequence[str], FilePlace, int], list[Resolved]],
    ) -> None:
        """Take a table; ``find`` resolves a target, and ``by_name`` finds the definitions with a name alone."""
        self._table = table
        self._find = find
        self._by_name = by_name

    def follow(self, found: Sequence[Resolved], names: Sequence[str], depth: int) -> list[Resolved]:
        """Follow the remaining names through members and types."""
        aliases = [item for item in found if item.symbol.is_alias]
        if aliases:
            found = [item for item in found if not item.symbol.is_alias]
            return [*self.follow(found, names, depth), *self._behind(aliases, names, depth)]
        for index, name in enumerate(names):
            if name.isdigit():
                # What a struct or variant holds without a name.
                found = [inner for item in found for inner in self._inside(item, depth)]
                continue
            types = distinct(owner for item in found for owner in self._types(item, depth))
            if name == SUPER:
                found = [parent for owner in types for parent in self._parents(owner, depth)]
                continue
            members = distinct(member for owner in types for member in self.members(owner, name, depth))
            if not members and types and index < len(names) - 1 and name in ELEMENT_MEMBERS.get(family_of(types), ()):
                found = [replace(owner, confidence=owner.confidence * _ELEMENT) for owner in types]
                continue
            if not members:
                return self._lost(found, types, names[index:])
            found = members
        return list(found)

    def _behind(self, aliases: Sequence[Resolved], names: Sequence[str], depth: int) -> list[Resolved]:
        """Follow names from what modules pass on."""
        found: list[Resolved] = []
        for alias in aliases:
            source = alias.symbol.definition.type
            if source is not None and depth <= MAX_DEPTH:
                behind = self._find(source._replace(names=(*source.names, *names)), alias.symbol.place, depth + 1)
                found += [replace(item, confidence=min(item.confidence, alias.confidence)) for item in behind]
        return found

    def _lost(self, found: Sequence[Resolved], types: Sequence[Resolved], names: Sequence[str]) -> list[Resolved]:
        """Return the candidates by name alone if the type of what the names begin with is not known."""
        if types:
            return self._of_traits(types[0].symbol.place, names[-1]) if family_of(types) == "rust" else []
        if not found:
            return []
        known = all(item.symbol.definition.type is not None for item in found)
        return [] if known else self._by_name((UNKNOWN, names[-1]), found[0].symbol.place, 0)

    def _of_traits(self, place: FilePlace, name: str) -> list[Resolved]:
        """Return the methods of traits with a name, for a type of which it is not known which traits it implements."""
        if name in BUILTIN_MEMBERS["rust"]:
            return []
        found = [
            symbol
            for symbol in self._table.named(name)
            if symbol.place.repo == place.repo and len(symbol.path) > 1 and symbol.definition.symbol_type == "method"
            for trait in self._table.named(symbol.path[-2])
            if trait.definition.symbol_type == "interface" and trait.place == symbol.place
        ]
        return by_name_alone(found)

    def _types(self, item: Resolved, depth: int) -> list[Resolved]:
        """Return a type itself, or the types of what a function returns or a variable holds."""
        symbol = item.symbol
        if symbol.has_members:
            return [item]
        if symbol.definition.symbol_kind == "variant" and len(symbol.path) > 1:
            return self._find(Target("scope", "", symbol.path[:-1]), symbol.place, depth)
        return self._behind_type(item, depth)

    def _inside(self, item: Resolved, depth: int) -> list[Resolved]:
        is_holder = item.symbol.has_members or item.symbol.definition.symbol_kind == "variant"
        holders = [item] if is_holder else self._types(item, depth)
        return [inner for holder in holders for inner in self._behind_type(holder, depth)]

    def _behind_type(self, item: Resolved, depth: int) -> list[Resolved]:
        """Return the types that the declared type of a function or variable means."""
        symbol = item.symbol
        if symbol.definition.type is None:
            return []
        found = self._find(symbol.definition.type, symbol.place, depth + 1)
        values = [value for value in found if not value.symbol.has_members]
        types = [value for value in found if value.symbol.has_members]
        types += (
            [type_ for value in values if value.symbol != symbol for type_ in self._types(value, depth + 1)]
            if depth < MAX_DEPTH
            else []
        )
        return [
            Resolved(type_.symbol, min(item.confidence, type_.confidence, CONFIDENCE["receiver"]), "receiver")
            for type_ in types
        ]

    def members(self, owner: Resolved, name: str, depth: int, level: int = 0) -> list[Resolved]:
        """Return the members of a type with a name, or else those of the types that it inherits from."""
        symbol = owner.symbol
        tail = (symbol.definition.name, name)
        own = [
            replace(owner, symbol=found)
            for found in self._table.named(name)
            if found.path[-2:] == tail and found.is_member and is_same_type(found, symbol)
        ]
        if own or level > MAX_DEPTH:
            return own
        return self.inherited(owner, name, depth, level)

    def inherited(self, owner: Resolved, name: str, depth: int, level: int = 0) -> list[Resolved]:
        """Return the members with a name of the types that a type inherits from."""
        return [
            found for parent in self._parents(owner, depth) for found in self.members(parent, name, depth, level + 1)
        ]

    def _parents(self, owner: Resolved, depth: int) -> list[Resolved]:
        found: list[Resolved] = []
        # A type that only gives another type a name has its members.
        alias = owner.symbol.definition.type
        for base in [*self._table.bases(owner.symbol), *([alias] if alias is not None else [])]:
            if depth <= MAX_DEPTH:
                found += self._find(base, owner.symbol.place, depth + 1)
        return [
            Resolved(parent.symbol, min(owner.confidence, parent.confidence) * _INHERITED, "receiver")
            for parent in found
            if parent.symbol != owner.symbol
        ]
