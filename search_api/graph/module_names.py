"""Finds what names of a module mean: its definitions, the names that it passes on, or its file."""

from collections.abc import Callable, Sequence

from codequarry.search_api.answers.relations import FoundBy
from codequarry.search_api.graph.candidates import CONFIDENCE, MAX_DEPTH, Resolved, TargetSearch, ends_alike
from codequarry.search_api.graph.definitions import DefinedSymbol, DefinitionTable, FilePlace
from codequarry.search_api.graph.member_search import MemberSearch
from codequarry.search_api.graph.modules import STARS, SUFFIX, MemberPath, meant_file, readings
from codequarry.search_api.graph.packages import DeclaredPackage, module_match
from codequarry.shared.relations import Target


class ModuleNames:
    """Finds the names of modules, and remembers which definitions they match."""

    def __init__(
        self,
        table: DefinitionTable,
        packages: Callable[[str], Sequence[DeclaredPackage]],
        find: TargetSearch,
        search: MemberSearch,
    ) -> None:
        """Take a table; ``packages`` returns those that a repository declares, and ``find`` resolves a target."""
        self._table = table
        self._packages = packages
        self._find = find
        self._search = search
        self._matched: dict[tuple[str, MemberPath, FilePlace], list[tuple[float, DefinedSymbol]]] = {}
        self._stars: dict[tuple[str, str], list[tuple[Target, FilePlace]]] = {}

    def find(self, target: Target, place: FilePlace, depth: int) -> list[Resolved]:
        """Return what a target in a module, or in one of several, means."""
        for module, names in readings(place.family, target.module, target.names):
            found = self._in_one_module(target._replace(module=module, names=names), place, depth)
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
        # What a stub declares, the source beside it may only pass on, which is less sure, but leads to the definition.
        matches = [match for match in matches if not match[2].place.is_stub] or matches
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
        return self._search.follow(near, names[cut:], depth)

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
        if depth > MAX_DEPTH:
            return []
        for source, at in self._stars_of(target.module, place):
            found = self._find(source._replace(names=target.names), at, depth + 1)
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
