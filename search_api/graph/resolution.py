"""Resolves references to definitions of a snapshot, with how each was found and how sure it is."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from codequarry.search_api.answers.relations import FoundBy
from codequarry.search_api.graph.builtin_members import BUILTIN_MEMBERS, ELEMENT_MEMBERS
from codequarry.search_api.graph.candidates import (
    CONFIDENCE,
    Resolved,
    distinct,
    ends_alike,
    family_of,
    is_global,
    is_same_type,
    ordered,
)
from codequarry.search_api.graph.definitions import DefinedSymbol, DefinitionTable, FilePlace, WrittenReference
from codequarry.search_api.graph.linkage import is_visible, nearest, own_type
from codequarry.search_api.graph.modules import STARS, SUFFIX, MemberPath, includes, meant_file, readings
from codequarry.search_api.graph.packages import DeclaredPackage, module_match
from codequarry.shared.relations import SUPER, UNKNOWN, Target

# A member found in a parent type, and one whose name built-in types have too.
_INHERITED = 0.97
_BUILTIN_MEMBER = 0.25
# An element of a built-in container, whose type counts as that of its elements.
_ELEMENT = 0.95
# A prototype of what is defined elsewhere.
_PROTOTYPE = 0.95
# Types above a type that are looked through, and types that a path of names passes.
_MAX_DEPTH = 8
# More candidates by name alone say nothing.
_MAX_BY_NAME = 5


class ReferenceResolver:
    """Resolves against the definitions of a table."""

    def __init__(
        self, table: DefinitionTable, packages: Callable[[str], Sequence[DeclaredPackage]] = lambda repo: ()
    ) -> None:
        """Resolve against a table; ``packages`` returns those that a repository declares."""
        self._table = table
        self._packages = packages
        self._matched: dict[tuple[str, MemberPath, FilePlace], list[tuple[float, DefinedSymbol]]] = {}
        self._stars: dict[tuple[str, str], list[tuple[Target, FilePlace]]] = {}

    def resolve(self, written: WrittenReference) -> list[Resolved]:
        """Return the definitions that a reference may mean, the surest first; none if it is defined elsewhere."""
        return ordered(self._target(written.reference.target, written.place, 0), written)

    def _target(self, target: Target, place: FilePlace, depth: int) -> list[Resolved]:
        if depth > _MAX_DEPTH or not target.names:
            return []
        if place.family == "c" and target.names[0] != UNKNOWN:
            return self._in_c(target, place, depth)
        if target.origin == "scope":
            return self._in_file(target, place, depth)
        if target.origin == "name":
            return self._by_name(target.names, place, depth)
        return self._in_module(target, place, depth)

    def _in_file(self, target: Target, place: FilePlace, depth: int) -> list[Resolved]:
        """Follow names from the longest beginning that the file defines."""
        names = target.names
        for cut in range(len(names), 0, -1):
            here = self._defined(names[:cut], place)
            if here:
                found = self._follow(here, names[cut:], depth)
                return found or self._around(target, cut, place, depth)
        return []

    def _defined(self, path: MemberPath, place: FilePlace) -> list[Resolved]:
        """Return the definitions of a file with a path."""
        if path[-1] == SUPER:
            return []
        found = self._table.named(path[-1])
        return [
            Resolved(symbol, CONFIDENCE["scope"], "scope")
            for symbol in found
            if symbol.path == path and symbol.place == place
        ]

    def _around(self, target: Target, cut: int, place: FilePlace, depth: int) -> list[Resolved]:
        """Look for what a type does not have in the types around it, and then in the modules that the target names."""
        if not target.module:
            return []
        names = target.names[cut:]
        for outer in range(cut - 1, 0, -1):
            found = self._follow(self._defined(target.names[:outer], place), names, depth)
            if found:
                return found
        return self._in_module(Target("package", target.module, names), place, depth)

    def _in_c(self, target: Target, place: FilePlace, depth: int) -> list[Resolved]:
        """Look in the type around the place, then in the file, and then among all that a linker would see."""
        names = target.names
        own = own_type(target.module)
        if own and depth < _MAX_DEPTH:
            type_ = self._in_c(Target("scope", "", own), place, depth + 1)
            members = [member for owner in type_[:1] for member in self._members(owner, names[0], depth)]
            if members:
                return self._follow(members, names[1:], depth)
        for cut in range(len(names), 0, -1):
            head = tuple(names[:cut])
            if names[cut - 1] == SUPER or not self._table.has_read(head[-1:]):
                continue
            found = [
                symbol
                for symbol in self._table.named(head[-1])
                if symbol.path[-cut:] == head and is_visible(symbol, place)
            ]
            if target.origin != "scope":
                # A bare name is no member of a type, but may be in a namespace that the file uses.
                found = [symbol for symbol in found if cut > 1 or not self._is_in_type(symbol)]
            if found:
                near = nearest(found, target.module, place)
                return self._follow(self._linked(near, target, place), names[cut:], depth)
        return []

    def _is_in_type(self, symbol: DefinedSymbol) -> bool:
        if len(symbol.path) < 2:
            return False
        outer = self._table.named(symbol.path[-2])
        return any(owner.has_members and owner.definition.symbol_type in {"class", "interface"} for owner in outer)

    def _linked(self, near: Sequence[DefinedSymbol], target: Target, place: FilePlace) -> list[Resolved]:
        bodies = [symbol for symbol in near if symbol.definition.symbol_kind != "prototype"] or list(near)
        files = {symbol.place.path for symbol in bodies}
        found_by: FoundBy = "import" if includes(target.module, bodies[0].place.path) else "unique_name"
        if bodies[0].place == place:
            found_by = "scope"
        elif len(files) > 1 and found_by != "import":
            found_by = "name"
        share = 1 if found_by != "name" else len(files)
        return [
            Resolved(symbol, CONFIDENCE[found_by] / share * (1 if symbol in bodies else _PROTOTYPE), found_by)
            for symbol in near
        ]

    def _in_module(self, target: Target, place: FilePlace, depth: int) -> list[Resolved]:
        for module, names in readings(place.family, target.module, target.names):
            found = self._in_one_module(replace(target, module=module, names=names), place, depth)
            if found or not self._table.has_read(names[:1]):
                return found
        return []

    def _in_one_module(self, target: Target, place: FilePlace, depth: int) -> list[Resolved]:
        by: FoundBy = "import" if target.origin == "import" else "package"
        names = target.names
        matches = [
            (score, cut, symbol)
            for cut in range(1, len(names) + 1)
            for score, symbol in self._matches(target.module, names[:cut], place)
            # The declaration of a Rust module, whose names are in another file.
            if cut == len(names) or symbol.definition.symbol_kind != "module" or place.family != "rust"
        ]
        best = max((score for score, _, _ in matches), default=0.0)
        # A module itself is surer than a name that a module above it may pass on.
        if best < SUFFIX and (files := self._files(target, place)):
            return files
        if not best:
            passes_on = place.family in STARS and self._table.has_read(names[:1])
            return self._passed_on(target, place, depth) if passes_on else []
        cut = min(cut for score, cut, _ in matches if score == best)
        found = [
            Resolved(symbol, CONFIDENCE[by] * best, by) for score, at, symbol in matches if (score, at) == (best, cut)
        ]
        near = [item for item in found if item.symbol.place.repo == place.repo] or found
        return self._follow(near, names[cut:], depth)

    def _matches(self, module: str, names: MemberPath, place: FilePlace) -> list[tuple[float, DefinedSymbol]]:
        """Return the definitions that names of a module may mean, with how surely."""
        key = (module, names, place)
        known = self._matched.get(key)
        if known is None:
            own = self._packages(place.repo) if place.family == "jvm" else ()
            scored = (
                (module_match(module, names, symbol, place, self._packages(symbol.place.repo), own), symbol)
                for symbol in self._table.named(names[-1])
                if symbol.place.family == place.family and ends_alike(symbol.path, names)
            )
            known = [(score, symbol) for score, symbol in scored if score]
            if self._table.has_read(names[-1:]):
                self._matched[key] = known
        return known

    def _files(self, target: Target, place: FilePlace) -> list[Resolved]:
        """Return the file of a module that is named itself, in a language in which a file is a module."""
        if target.origin != "import" or "|" in target.module:
            return []
        if place.family == "python":
            module = ".".join(filter(None, (target.module, *target.names)))
        else:
            module = meant_file(target.module)
        if not module:
            return []
        return [Resolved(found, CONFIDENCE["import"], "import") for found in self._table.module(module)]

    def _passed_on(self, target: Target, place: FilePlace, depth: int) -> list[Resolved]:
        """Look in the modules whose every name the module passes on."""
        if depth > _MAX_DEPTH:
            return []
        for source, at in self._stars_of(target.module, place):
            found = self._target(replace(source, names=target.names), at, depth + 1)
            if found:
                return found
        return []

    def _stars_of(self, module: str, place: FilePlace) -> list[tuple[Target, FilePlace]]:
        """Return the modules whose every name a module passes on, and where it says so."""
        key = (module, place.repo)
        if key not in self._stars and self._table.has_read(("*",)):
            self._stars[key] = [
                (star.definition.type, star.place)
                for star in self._table.named("*")
                if star.definition.type is not None
                and module_match(module, ("*",), star, place, self._packages(star.place.repo)) >= SUFFIX
            ]
        return self._stars.get(key, [])

    def _by_name(self, names: Sequence[str], place: FilePlace, depth: int) -> list[Resolved]:
        is_member = names[0] == UNKNOWN
        first, *rest = names[1:] if is_member else names
        found = [
            symbol
            for symbol in self._table.named(first)
            if symbol.place.family == place.family
            and symbol.place.repo == place.repo
            and ((len(symbol.path) > 1) == is_member or is_global(symbol))
        ]
        if is_member and first in BUILTIN_MEMBERS.get(place.family, frozenset()):
            here = [Resolved(symbol, _BUILTIN_MEMBER / len(found), "name") for symbol in found[:_MAX_BY_NAME]]
            return self._follow(here, rest, depth) if rest else here
        # A module or class of Ruby may be opened in several files.
        paths = {("" if is_global(symbol) else symbol.place.path, symbol.path) for symbol in found}
        if len(paths) == 1:
            here = [Resolved(symbol, CONFIDENCE["unique_name"], "unique_name") for symbol in found]
        else:
            shared = CONFIDENCE["name"] / max(len(paths), 1)
            here = [Resolved(symbol, shared, "name") for symbol in found[:_MAX_BY_NAME]]
        return self._follow(here, rest, depth)

    def _follow(self, found: Sequence[Resolved], names: Sequence[str], depth: int) -> list[Resolved]:
        """Follow the remaining names through members and types."""
        aliases = [item for item in found if item.symbol.is_alias]
        if aliases:
            found = [item for item in found if not item.symbol.is_alias]
            return [*self._follow(found, names, depth), *self._behind(aliases, names, depth)]
        for index, name in enumerate(names):
            if name.isdigit():
                # What a struct or variant holds without a name.
                found = [inner for item in found for inner in self._inside(item, depth)]
                continue
            types = distinct(owner for item in found for owner in self._types(item, depth))
            if name == SUPER:
                found = [parent for owner in types for parent in self._parents(owner, depth)]
                continue
            members = distinct(member for owner in types for member in self._members(owner, name, depth))
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
            if source is not None and depth <= _MAX_DEPTH:
                behind = self._target(replace(source, names=(*source.names, *names)), alias.symbol.place, depth + 1)
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
        confidence = CONFIDENCE["unique_name"] if len(found) == 1 else CONFIDENCE["name"] / max(len(found), 1)
        found_by: FoundBy = "unique_name" if len(found) == 1 else "name"
        return [Resolved(symbol, confidence, found_by) for symbol in found[:_MAX_BY_NAME]]

    def _types(self, item: Resolved, depth: int) -> list[Resolved]:
        """Return a type itself, or the types of what a function returns or a variable holds."""
        symbol = item.symbol
        if symbol.has_members:
            return [item]
        if symbol.definition.symbol_kind == "variant" and len(symbol.path) > 1:
            return self._in_file(Target("scope", "", symbol.path[:-1]), symbol.place, depth)
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
        found = self._target(symbol.definition.type, symbol.place, depth + 1)
        values = [value for value in found if not value.symbol.has_members]
        types = [value for value in found if value.symbol.has_members]
        types += (
            [type_ for value in values if value.symbol != symbol for type_ in self._types(value, depth + 1)]
            if depth < _MAX_DEPTH
            else []
        )
        return [
            Resolved(type_.symbol, min(item.confidence, type_.confidence, CONFIDENCE["receiver"]), "receiver")
            for type_ in types
        ]

    def _members(self, owner: Resolved, name: str, depth: int, level: int = 0) -> list[Resolved]:
        """Return the members of a type with a name, or else those of the types that it inherits from."""
        symbol = owner.symbol
        tail = (symbol.definition.name, name)
        own = [
            replace(owner, symbol=found)
            for found in self._table.named(name)
            if found.path[-2:] == tail and found.is_member and is_same_type(found, symbol)
        ]
        if own or level > _MAX_DEPTH:
            return own
        return [
            found for parent in self._parents(owner, depth) for found in self._members(parent, name, depth, level + 1)
        ]

    def _parents(self, owner: Resolved, depth: int) -> list[Resolved]:
        found: list[Resolved] = []
        # A type that only gives another type a name has its members.
        alias = owner.symbol.definition.type
        for base in [*self._table.bases(owner.symbol), *([alias] if alias is not None else [])]:
            if depth <= _MAX_DEPTH:
                found += self._target(base, owner.symbol.place, depth + 1)
        return [
            Resolved(parent.symbol, min(owner.confidence, parent.confidence) * _INHERITED, "receiver")
            for parent in found
            if parent.symbol != owner.symbol
        ]
