"""Reads definitions and references of a snapshot from its chunks, and resolves references among them."""

from collections.abc import Collection, Iterable, Sequence

from codequarry.search_api.graph.candidates import Resolved
from codequarry.search_api.graph.definitions import (
    FILE,
    DefinedSymbol,
    DefinitionTable,
    FilePlace,
    WrittenReference,
    gives_members,
    whole_file,
)
from codequarry.search_api.graph.modules import is_module_file, module_paths
from codequarry.search_api.graph.packages import MANIFESTS, DeclaredPackage, read_manifest
from codequarry.search_api.graph.resolution import ReferenceResolver
from codequarry.search_api.search.files import join_lines
from codequarry.search_api.search.relations.chunk_symbols import defined_in, symbols_of
from codequarry.search_api.search.relations.imported_files import ImportedFiles, names_file
from codequarry.search_api.search.relations.link_targets import LinkTargets
from codequarry.search_api.search.relations.places import place_of
from codequarry.search_api.search.relations.request_parts import in_parts
from codequarry.shared.errors import UsageError
from codequarry.shared.filters import literal_glob
from codequarry.shared.model import Chunk, Filters, PathGlobs, Snapshot
from codequarry.shared.store.port import RowReader

# A name that more chunks refer to needs a filter; reading them takes about a second.
MAX_CHUNKS = 20_000
# Definitions of a name beyond this many chunks are not read: such a name alone says nothing.
MAX_DEFINING_CHUNKS = 2_000
# Each round reads what the one before found to be missing: the type of a receiver, its parents, their members.
MAX_ROUNDS = 6
_NAMES_PER_REQUEST = 256
# Code does not refer to keys of settings by name, and thousands of files may have a key `name`.
_SETTINGS = ("symbol_type", ("config",))
# Each needs two globs, and an engine allows a few hundred in a request.
_MODULES_PER_REQUEST = 100

# Packages that others wrote are not declared by the repository.
VENDORED = ("node_modules/", "vendor/", "third_party/")


class SymbolReader:
    """The symbols of one snapshot; every definition is read at most once."""

    def __init__(self, store: RowReader, snapshot: Snapshot) -> None:
        self._store = store
        self._snapshot = snapshot
        self._table = DefinitionTable()
        self._packages: dict[str, list[DeclaredPackage]] = {}
        self._resolver = ReferenceResolver(self._table, self._packages_of)
        self._read: set[str] = set()

    def definitions(self, names: Collection[str]) -> list[DefinedSymbol]:
        """Return the definitions with any of the names, without regard to filters, by repository, path and line."""
        self._define(names)
        return [found for name in dict.fromkeys(names) for found in self._table.named(name)]

    def of_chunk(self, chunk_id: str, *, or_file: bool = False) -> list[DefinedSymbol]:
        """Return the definitions in a chunk; with ``or_file``, the file of a chunk that has none."""
        chunks = self._store.find(self._snapshot, Filters((("id", (chunk_id,)),)), 1)
        found = [DefinedSymbol(place_of(chunk), found) for chunk in chunks for found in symbols_of(chunk).definitions]
        return found or [whole_file(place_of(chunk)) for chunk in chunks if or_file]

    def files(self, path: str) -> list[DefinedSymbol]:
        """Return the files at a path, or with a name without a folder at any depth."""
        asked = Filters(paths=PathGlobs((literal_glob(path),)))
        chunks = self._store.find(self._snapshot, asked, MAX_DEFINING_CHUNKS)
        return [whole_file(place) for place in dict.fromkeys(place_of(chunk) for chunk in chunks)]

    def imported_names(self, place: FilePlace) -> list[str]:
        """Return the names of a file that imports may name: those outside of any type or function."""
        chunks = self._store.chunks(self._snapshot, place.path, place.repo)
        defined = (found.definition for found in defined_in(chunks) if found.definition.exported is not False)
        return list(dict.fromkeys(found.name for found in defined if len(found.path) == 1 and found.name != "*"))

    def references_to(
        self, names: Collection[str], filters: Filters, *, of_taker: bool = False
    ) -> list[WrittenReference]:
        """Return the references with any of the names, by path and line; raise UsageError if there are too many.

        With ``of_taker``, return those whose result is given to a function with any of the names.
        """
        found: dict[tuple[FilePlace, int, str, str], WrittenReference] = {}
        for part in in_parts(names, _NAMES_PER_REQUEST):
            wanted = Filters((*filters.terms, ("references", part)), filters.excluded, filters.paths, filters.commits)
            chunks = self._store.find(self._snapshot, wanted, MAX_CHUNKS + 1)
            if len(chunks) > MAX_CHUNKS:
                raise UsageError(
                    f"more than {MAX_CHUNKS:,} chunks refer to {', '.join(part[:3])}; name a repository or a path"
                )
            for chunk in chunks:
                for reference in symbols_of(chunk).references:
                    named = reference.into.names[-1] if of_taker and reference.into else reference.name
                    if named in part and (not of_taker or reference.into is not None):
                        written = WrittenReference(place_of(chunk), reference)
                        # The parts of a long declaration overlap.
                        key = (written.place, reference.line, reference.kind, "\t".join(reference.target.names))
                        found.setdefault(key, written)
        return list(found.values())

    def references_from(self, symbol: DefinedSymbol) -> list[WrittenReference]:
        """Return the references in a definition, in file order."""
        place = symbol.place
        path = () if symbol.definition.symbol_kind == FILE else symbol.path
        found: dict[tuple[int, str, tuple[str, ...]], WrittenReference] = {}
        for chunk in self._store.chunks(self._snapshot, place.path, place.repo):
            for reference in symbols_of(chunk).references:
                if reference.within[: len(path)] == path:
                    key = (reference.line, reference.kind, reference.target.names)
                    found.setdefault(key, WrittenReference(place, reference))
        return sorted(found.values(), key=lambda written: written.reference.line)

    def resolve(self, written: Sequence[WrittenReference]) -> list[list[Resolved]]:
        """Return what each reference means, the surest definition first."""
        found = self._files_meant(written)
        pending: Sequence[int] = [at for at, one in enumerate(written) if at not in found]
        for _ in range(MAX_ROUNDS):
            missing, modules, waiting = set[str](), set[str](), list[int]()
            for at in pending:
                one = written[at]
                found[at] = self._resolver.resolve(one)
                wanted, wanted_modules = self._table.take_wanted()
                if wanted or wanted_modules:
                    waiting.append(at)
                    missing |= wanted
                    modules |= wanted_modules
            if not waiting:
                break
            pending = waiting
            self._define(missing)
            self._find_modules(modules)
        return [found[at] for at in range(len(written))]

    def _files_meant(self, written: Sequence[WrittenReference]) -> dict[int, list[Resolved]]:
        """Return what links and those imports mean that name files, by their numbers."""
        links = {at: one for at, one in enumerate(written) if one.reference.kind == "link"}
        imports = {at: one for at, one in enumerate(written) if names_file(one)}
        targets = LinkTargets(self._store, self._snapshot, list(links.values()))
        files = ImportedFiles(self._store, self._snapshot, list(imports.values()))
        return {
            **{at: targets.of(one) for at, one in links.items()},
            **{at: files.of(one) for at, one in imports.items()},
        }

    def _packages_of(self, repo: str) -> Sequence[DeclaredPackage]:
        """Return the packages that a repository declares, read once."""
        if repo not in self._packages:
            asked = Filters((("repo", (repo,)),), paths=PathGlobs(MANIFESTS, VENDORED))
            texts: dict[str, list[Chunk]] = {}
            for chunk in self._store.find(self._snapshot, asked, MAX_DEFINING_CHUNKS):
                texts.setdefault(chunk.path, []).append(chunk)
            read = (read_manifest(path, "".join(join_lines(chunks))) for path, chunks in texts.items())
            self._packages[repo] = [package for package in read if package is not None]
        return self._packages[repo]

    def _find_modules(self, modules: Collection[str]) -> None:
        """Read which files are the modules: by path after ``./``, or else by the package of the file."""
        by_path = {module for module in modules if module.startswith("./")}
        for part in in_parts(by_path, _MODULES_PER_REQUEST):
            globs = PathGlobs(tuple(path for module in part for path in module_paths(module)))
            chunks = self._store.find(self._snapshot, Filters(paths=globs), MAX_DEFINING_CHUNKS)
            places = dict.fromkeys(place_of(chunk) for chunk in chunks)
            for module in part:
                self._table.add_module(module, [place for place in places if is_module_file(module, place.path)])
        # The package of a file leaves out a leading source folder.
        for part in in_parts(set(modules) - by_path, _NAMES_PER_REQUEST):
            packages = tuple({_without_source_folder(module) for module in part})
            chunks = self._store.find(self._snapshot, Filters((("package", packages),)), MAX_DEFINING_CHUNKS)
            places = dict.fromkeys(place_of(chunk) for chunk in chunks)
            for module in part:
                package = _without_source_folder(module)
                self._table.add_module(module, [place for place in places if place.package == package])

    def _define(self, names: Collection[str]) -> None:
        """Read the definitions of names, and what the types among them inherit from."""
        missing = [name for name in dict.fromkeys(names) if name not in self._read]
        for part in in_parts(missing, _NAMES_PER_REQUEST):
            asked = Filters((("symbols", part),), excluded=(_SETTINGS,))
            chunks = self._store.find(self._snapshot, asked, MAX_DEFINING_CHUNKS)
            by_name: dict[str, dict[tuple[FilePlace, tuple[str, ...], int], DefinedSymbol]] = {
                name: {} for name in part
            }
            for symbol in defined_in(chunks):
                known = by_name.get(symbol.definition.name)
                if known is not None:
                    known.setdefault((symbol.place, symbol.path, symbol.definition.line), symbol)
            for name, found in by_name.items():
                self._table.add(name, found.values())
            self._read.update(part)
            self._add_bases(chunks)

    def _add_bases(self, chunks: Iterable[Chunk]) -> None:
        for chunk in chunks:
            symbols = symbols_of(chunk)
            place = place_of(chunk)
            inherited = [found for found in symbols.references if gives_members(place.family, found.kind)]
            if not inherited:
                continue
            for definition in symbols.definitions:
                bases = [reference.target for reference in inherited if reference.within == definition.path]
                if bases:
                    self._table.add_bases(DefinedSymbol(place, definition), bases)


def _without_source_folder(module: str) -> str:
    first, dot, rest = module.partition(".")
    return rest if dot and first in {"src", "lib"} else module
