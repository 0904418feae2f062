"""Resolves references to definitions of a snapshot, with how each was found and how sure it is."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from codequarry.search_api.graph.builtin_members import BUILTIN_MEMBERS
from codequarry.search_api.graph.candidates import (
    CONFIDENCE,
    MAX_BY_NAME,
    MAX_DEPTH,
    Resolved,
    by_name_alone,
    is_global,
    ordered,
)
from codequarry.search_api.graph.definitions import DefinedSymbol, DefinitionTable, FilePlace, WrittenReference
from codequarry.search_api.graph.linked_names import LinkedNames
from codequarry.search_api.graph.member_search import MemberSearch
from codequarry.search_api.graph.module_names import ModuleNames
from codequarry.search_api.graph.modules import MemberPath
from codequarry.search_api.graph.overloads import is_misfit
from codequarry.search_api.graph.packages import DeclaredPackage
from codequarry.shared.relations import ANYWHERE, SUPER, UNKNOWN, Target

# A member whose name built-in types have too.
_BUILTIN_MEMBER = 0.25

# Code outside of tests refers to a definition in a test: 0 of 40 such edges were right in the repositories for tuning.
_ONLY_IN_TESTS = 0.1


# In a language without rules of naming, a name says less: not measured, but below the edges that other languages have.
_WITHOUT_RULES = 0.7


class ReferenceResolver:
    """Resolves against the definitions of a table."""

    def __init__(
        self, table: DefinitionTable, packages: Callable[[str], Sequence[DeclaredPackage]] = lambda repo: ()
    ) -> None:
        """Resolve against a table; ``packages`` returns those that a repository declares."""
        self._table = table
        self._search = MemberSearch(table, self._target, self._by_name)
        self._modules = ModuleNames(table, packages, self._target, self._search)
        self._linked = LinkedNames(table, self._search)

    def resolve(self, written: WrittenReference) -> list[Resolved]:
        """Return the definitions that a reference may mean, the surest first; none if it is defined elsewhere."""
        found = ordered(self._target(written.reference.target, written.place, 0), written)
        if found and is_misfit(found[0].symbol, written):
            return ordered([*found, *self._inherited_overloads(found)], written)
        return found

    def _inherited_overloads(self, found: Sequence[Resolved]) -> Iterator[Resolved]:
        """Yield the methods that types inherit beside methods of the same name that a call does not fit."""
        for item in found:
            *outer, name = item.symbol.path
            for owner in self._defined(tuple(outer), item.symbol.place) if outer else ():
                yield from self._search.inherited(replace(owner, confidence=item.confidence), name, 0)

    def _target(self, target: Target, place: FilePlace, depth: int) -> list[Resolved]:
        if depth > MAX_DEPTH or not target.names:
            return []
        if place.family == "c" and target.names[0] != UNKNOWN:
            return self._linked.find(target, place, depth)
        if target.origin == "scope":
            return self._in_file(target, place, depth)
        if target.origin == "name":
            if target.module == ANYWHERE:
                return self._anywhere(target.names[-1], place)
            return self._by_name(target.names, place, depth)
        return self._modules.find(target, place, depth)

    def _in_file(self, target: Target, place: FilePlace, depth: int) -> list[Resolved]:
        """Follow names from the longest beginning that the file defines."""
        names = target.names
        for cut in range(len(names), 0, -1):
            here = self._defined(names[:cut], place)
            if here:
                found = self._search.follow(here, names[cut:], depth)
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
            found = self._search.follow(self._defined(target.names[:outer], place), names, depth)
            if found:
                return found
        return self._modules.find(Target("package", target.module, names), place, depth)

    def _by_name(self, names: Sequence[str], place: FilePlace, depth: int) -> list[Resolved]:
        is_member = names[0] == UNKNOWN
        first, *rest = names[1:] if is_member else names
        found = [
            symbol
            for symbol in self._named_beside(first, place)
            if (len(symbol.path) > 1) == is_member or is_global(symbol)
        ]
        found = [symbol for symbol in found if not symbol.place.is_stub] or found
        if is_member and first in BUILTIN_MEMBERS.get(place.family, frozenset()):
            here = [Resolved(symbol, _BUILTIN_MEMBER / len(found), "name") for symbol in found[:MAX_BY_NAME]]
            return self._search.follow(here, rest, depth) if rest else here
        # A module or class of Ruby may be opened in several files.
        paths = {("" if is_global(symbol) else symbol.place.path, symbol.path) for symbol in found}
        if len(paths) == 1:
            in_tests = found[0].place.is_test and not place.is_test
            confidence = _ONLY_IN_TESTS if in_tests else CONFIDENCE["unique_name"]
            here = [Resolved(symbol, confidence, "unique_name") for symbol in found]
        else:
            shared = CONFIDENCE["name"] / max(len(paths), 1)
            here = [Resolved(symbol, shared, "name") for symbol in found[:MAX_BY_NAME]]
        return self._search.follow(here, rest, depth)

    def _anywhere(self, name: str, place: FilePlace) -> list[Resolved]:
        """Return what a name may mean in a language without rules of naming: first what its own file defines."""
        found = self._named_beside(name, place)
        found = [symbol for symbol in found if symbol.place == place] or found
        return [replace(item, confidence=_WITHOUT_RULES * item.confidence) for item in by_name_alone(found)]

    def _named_beside(self, name: str, place: FilePlace) -> list[DefinedSymbol]:
        """Return the definitions with a name in files of the same repository that use each other's symbols."""
        return [
            symbol
            for symbol in self._table.named(name)
            if symbol.place.family == place.family and symbol.place.repo == place.repo
        ]
