"""Finds what a name of C or C++ means among all that a linker would see."""

from collections.abc import Sequence

from codequarry.search_api.answers.relations import FoundBy
from codequarry.search_api.graph.candidates import CONFIDENCE, MAX_DEPTH, Resolved
from codequarry.search_api.graph.definitions import DefinedSymbol, DefinitionTable, FilePlace
from codequarry.search_api.graph.linkage import is_visible, nearest, own_type
from codequarry.search_api.graph.member_search import MemberSearch
from codequarry.search_api.graph.modules import includes
from codequarry.shared.relations import SUPER, Target

# A prototype of what is defined elsewhere.
_PROTOTYPE = 0.95


class LinkedNames:
    """Finds names in the type around a place, in its file, and in the files that it includes."""

    def __init__(self, table: DefinitionTable, search: MemberSearch) -> None:
        self._table = table
        self._search = search

    def find(self, target: Target, place: FilePlace, depth: int) -> list[Resolved]:
        """Look in the type around the place, then in the file, and then among all that a linker would see."""
        names = target.names
        own = own_type(target.module)
        if own and depth < MAX_DEPTH:
            type_ = self.find(Target("scope", "", own), place, depth + 1)
            members = [member for owner in type_[:1] for member in self._search.members(owner, names[0], depth)]
            if members:
                return self._search.follow(members, names[1:], depth)
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
                return self._search.follow(self._linked(near, target, place), names[cut:], depth)
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
