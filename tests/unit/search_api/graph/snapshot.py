"""Files with their symbols, in which references are resolved."""

from collections.abc import Mapping

from codequarry.ingest.chunking.grammar import load_grammar, spec_for
from codequarry.ingest.chunking.languages import language_of
from codequarry.ingest.files.kinds import kind_of_path
from codequarry.ingest.symbols.file_symbols import read_names
from codequarry.search_api.graph.candidates import Resolved
from codequarry.search_api.graph.definitions import (
    DefinedSymbol,
    DefinitionTable,
    FilePlace,
    WrittenReference,
    gives_members,
)
from codequarry.search_api.graph.modules import dotted_module, is_module_file
from codequarry.search_api.graph.packages import read_manifest
from codequarry.search_api.graph.resolution import ReferenceResolver
from codequarry.shared.relations import Symbols


class Snapshot:
    """Files with their symbols, of which a reference can be resolved."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.table = DefinitionTable()
        manifests = (read_manifest(path, text) for path, text in files.items() if path.endswith("package.json"))
        packages = [package for package in manifests if package is not None]
        self.resolver = ReferenceResolver(self.table, lambda repo: packages)
        sources = {path: text for path, text in files.items() if not path.endswith(".json")}
        self.symbols = {_place(path, text): _read(path, text) for path, text in sources.items()}
        for place, symbols in self.symbols.items():
            for definition in symbols.definitions:
                bases = [found.target for found in symbols.references if found.within == definition.path
                         and gives_members(place.family, found.kind)]  # fmt: skip
                if bases:
                    self.table.add_bases(DefinedSymbol(place, definition), bases)

    def candidates(self, path: str, name: str, kind: str = "call") -> list[Resolved]:
        """Return what the last reference with a name in a file may mean, the surest first."""
        place = next(place for place in self.symbols if place.path == path)
        written = [found for found in self.symbols[place].references if (found.name, found.kind) == (name, kind)][-1]
        for _ in range(8):
            found = self.resolver.resolve(WrittenReference(place, written))
            names, modules = self.table.take_wanted()
            for wanted in names:
                self.table.add(wanted, self._named(wanted))
            for module in modules:
                files = [place for place in self.symbols if _is_of(module, place.path)]
                self.table.add_module(module, files)
        return found

    def resolve(self, path: str, name: str, kind: str = "call") -> list[str]:
        """Return the definitions that the last reference with a name in a file means."""
        sure = [one for one in self.candidates(path, name, kind) if one.confidence >= 0.5]
        return [f"{one.symbol.place.path} {'.'.join(one.symbol.path)} {one.found_by}" for one in sure]

    def _named(self, name: str) -> list[DefinedSymbol]:
        return [
            DefinedSymbol(place, definition)
            for place, symbols in self.symbols.items()
            for definition in symbols.definitions
            if definition.name == name
        ]


def _is_of(module: str, path: str) -> bool:
    return is_module_file(module, path) or dotted_module(path) == module


def _spec(path: str, text: str):
    spec = spec_for(language_of(path) or "", path, text)
    assert spec is not None and spec.naming is not None
    return spec, spec.naming


def _parsed(path: str, text: str):
    grammar = load_grammar(_spec(path, text)[0])
    assert grammar is not None
    tree = grammar.parse(text.encode())
    assert tree is not None
    return grammar, tree.root_node


def _place(path: str, text: str) -> FilePlace:
    _, root = _parsed(path, text)
    package = _spec(path, text)[0].package(root, text.encode(), path)
    return FilePlace("acme/shop", path, language_of(path) or "", package, kind_of_path(path) == "test")


def _read(path: str, text: str) -> Symbols:
    grammar, root = _parsed(path, text)
    spec, naming = _spec(path, text)
    data = text.encode()
    names = read_names(grammar.captures(root), naming, data, path, spec.package(root, data, path), {})
    return names.between(0, len(data))
