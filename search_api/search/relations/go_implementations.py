"""Which types of Go implement which interfaces, by the methods that both have in the snapshot asked for."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from codequarry.search_api.graph.definitions import DefinedSymbol, FilePlace, WrittenReference
from codequarry.search_api.graph.go_methods import GoMethod, GoType, implements
from codequarry.search_api.search.relations.chunk_symbols import defined_in, symbols_of
from codequarry.search_api.search.relations.places import place_of
from codequarry.search_api.search.relations.symbol_reader import MAX_DEFINING_CHUNKS, SymbolReader
from codequarry.shared.filters import literal_glob
from codequarry.shared.model import Chunk, Filters, PathGlobs, Snapshot
from codequarry.shared.store.port import RowReader

_GO = ("language", ("go",))
# Packages that are read for a level of a walk, about ten milliseconds each; those of further candidates are not.
_MAX_PACKAGES = 100
# Names of methods whose definitions are counted, to look up the rarest one.
_MAX_COUNTED = 8
# Types embed types that embed types; deeper is rare.
_MAX_EMBEDDED = 4

_Package = tuple[str, str, str]
"""The repository, the folder and the name of a package."""


@dataclass(frozen=True, slots=True)
class Implementation:
    """A type that has the methods of an interface, and how sure it is that they fit."""

    type: DefinedSymbol
    interface: DefinedSymbol
    confidence: float


class GoImplementations:
    """Compares method sets; each package is read at most once."""

    def __init__(self, store: RowReader, snapshot: Snapshot, reader: SymbolReader) -> None:
        self._store = store
        self._snapshot = snapshot
        self._reader = reader
        self._packages: dict[_Package, dict[str, GoType]] = {}
        self._sets: dict[DefinedSymbol, tuple[dict[str, GoMethod], bool]] = {}

    def of_types(self, symbols: Iterable[DefinedSymbol]) -> list[Implementation]:
        """Return the interfaces that types implement."""
        types = [type_ for type_ in self._known(symbols) if not type_.is_interface]
        names = {name for type_ in types for name in self._methods(type_)[0]}
        found = self._read_around(names, "interface") if names else ()
        interfaces = [each for package in found for each in self._of(package) if each.is_interface]
        return list(self._compared(types, interfaces))

    def of_interfaces(self, symbols: Iterable[DefinedSymbol], filters: Filters) -> list[Implementation]:
        """Return the types that implement interfaces and pass the filters."""
        found: list[Implementation] = []
        for interface in self._known(symbols):
            names = self._methods(interface)[0] if interface.is_interface else {}
            if names:
                packages = self._read_around([self._rarest(names)], "")
                types = [each for package in packages for each in self._of(package) if not each.is_interface]
                found += self._compared(types, [interface])
        return self._passing(found, filters)

    def _compared(self, types: Sequence[GoType], interfaces: Sequence[GoType]) -> Iterator[Implementation]:
        for interface in interfaces:
            wanted, complete = self._methods(interface)
            for type_ in types:
                confidence = implements(type_, self._methods(type_)[0], interface, wanted, complete)
                if confidence:
                    yield Implementation(type_.symbol, interface.symbol, confidence)

    def _known(self, symbols: Iterable[DefinedSymbol]) -> list[GoType]:
        """Return the types of Go among symbols, with their methods."""
        found = []
        for symbol in symbols:
            is_type = symbol.place.language == "go" and symbol.definition.symbol_type in {"class", "interface"}
            type_ = self._package(_package_of(symbol.place)).get(symbol.definition.name) if is_type else None
            found += [type_] if type_ is not None and type_.symbol == symbol else []
        return found

    def _of(self, package: _Package) -> Collection[GoType]:
        return self._package(package).values()

    def _rarest(self, names: Collection[str]) -> str:
        """Return the name of a method that the fewest chunks define; longer names are rarer."""
        longest = sorted(names, key=lambda name: (-len(name), name))[:_MAX_COUNTED]
        return min(longest, key=lambda name: self._store.count(self._snapshot, Filters((_GO, ("symbols", (name,))))))

    def _read_around(self, names: Collection[str], kind: str) -> list[_Package]:
        """Return the packages that define any of the names; with ``kind``, beside a symbol of that kind."""
        asked = Filters((_GO, ("symbols", tuple(sorted(names)))))
        found: dict[_Package, None] = {}
        for chunk in self._store.find(self._snapshot, asked, MAX_DEFINING_CHUNKS):
            defined = defined_in([chunk]) if kind else ()
            if not kind or any(symbol.definition.symbol_kind == kind for symbol in defined):
                found[_package_of(place_of(chunk))] = None
        return list(found)[:_MAX_PACKAGES]

    def _package(self, package: _Package) -> dict[str, GoType]:
        if package not in self._packages:
            repo, folder, name = package
            glob = f"/{literal_glob(folder)}/*.go" if folder else "/*.go"
            asked = Filters((_GO, ("repo", (repo,)), ("package", (name,))), paths=PathGlobs((glob,)))
            chunks = self._store.find(self._snapshot, asked, MAX_DEFINING_CHUNKS)
            self._packages[package] = _types_in(chunks)
        return self._packages[package]

    def _methods(self, type_: GoType, depth: int = 0) -> tuple[dict[str, GoMethod], bool]:
        """Return the methods of a type with those of what it embeds, and whether these are all."""
        known = self._sets.get(type_.symbol)
        if known is not None:
            return known
        methods, complete = dict(type_.methods), True
        for embedded in type_.embedded if depth < _MAX_EMBEDDED else ():
            (meant,) = self._reader.resolve([embedded])
            inner = self._known([meant[0].symbol]) if meant else []
            if not inner:
                # It is defined elsewhere, such as in the standard library.
                complete = False
                continue
            more, whole = self._methods(inner[0], depth + 1)
            methods = {**more, **methods}
            complete = complete and whole
        if not depth:
            self._sets[type_.symbol] = methods, complete
        return methods, complete

    def _passing(self, found: Sequence[Implementation], filters: Filters) -> list[Implementation]:
        """Return those whose types lie in chunks that pass the filters."""
        if not found or not (filters.terms or filters.excluded or filters.paths.include or filters.paths.exclude):
            return list(found)
        names = tuple(sorted({each.type.definition.name for each in found}))
        asked = Filters((*filters.terms, ("symbols", names)), filters.excluded, filters.paths, filters.commits)
        passing = set(defined_in(self._store.find(self._snapshot, asked, MAX_DEFINING_CHUNKS)))
        return [each for each in found if each.type in passing]


def _package_of(place: FilePlace) -> _Package:
    return place.repo, place.folder, place.package or ""


def _types_in(chunks: Sequence[Chunk]) -> dict[str, GoType]:
    """Return the types of a package by name, with what its files say of their methods and embedded types."""
    symbols = list(dict.fromkeys(defined_in(chunks)))
    types = {
        symbol.definition.name: GoType(symbol)
        for symbol in symbols
        if len(symbol.path) == 1 and symbol.definition.symbol_type in {"class", "interface"}
    }
    for symbol in symbols:
        owner = types.get(symbol.path[0]) if len(symbol.path) == 2 else None
        if owner is not None and symbol.definition.symbol_kind == "method":
            method = GoMethod(symbol.definition.signature, symbol.place.package or "")
            owner.methods.setdefault(symbol.definition.name, method)
    for chunk in chunks:
        for reference in symbols_of(chunk).references:
            owner = (
                types.get(reference.within[0]) if reference.kind == "inherits" and len(reference.within) == 1 else None
            )
            if owner is not None:
                owner.embedded.append(WrittenReference(place_of(chunk), reference))
    return types
