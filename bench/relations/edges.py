"""Write the edges and definitions that Codequarry finds in a work tree, to compare them with an independent tool.

    python -m bench.relations.edges TREE OURS.jsonl --language go
    python -m bench.relations.compare TRUTH.jsonl OURS.jsonl

Every file of the languages is cut into chunks as an index run does, and every reference is resolved against all
definitions at once, which gives the same answers as reading definitions by name. ``OURS.definitions.jsonl`` beside the
first file has the definitions.
"""

import argparse
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from codequarry.ingest.chunking.chunker import chunk_file
from codequarry.ingest.chunking.languages import language_of
from codequarry.ingest.chunking.pieces import Sizes
from codequarry.ingest.chunking.source_file import SourceFile
from codequarry.ingest.files.kinds import kind_of_path
from codequarry.search_api.graph.candidates import Resolved
from codequarry.search_api.graph.definitions import (
    DefinedSymbol,
    DefinitionTable,
    FilePlace,
    WrittenReference,
    gives_members,
)
from codequarry.search_api.graph.modules import dotted_module, is_module_file
from codequarry.search_api.graph.packages import MANIFESTS, DeclaredPackage, read_manifest
from codequarry.search_api.graph.resolution import ReferenceResolver
from codequarry.shared.model import Chunk
from codequarry.shared.relations import decode
from codequarry.shared.settings.config import ChunkingSettings

REPOSITORY = "tree"
SKIPPED_FOLDERS = {".git", "node_modules", "target"}


def chunks_of(tree: Path, languages: Sequence[str]) -> Iterator[Chunk]:
    """Yield the chunks of all files of the languages, by path."""
    sizes = Sizes.of(ChunkingSettings())
    for file in sorted(tree.rglob("*")):
        path = file.relative_to(tree).as_posix()
        language = language_of(path)
        if language in languages and file.is_file() and SKIPPED_FOLDERS.isdisjoint(file.relative_to(tree).parts):
            try:
                text = file.read_bytes().decode()
            except UnicodeDecodeError:
                continue
            yield from chunk_file(SourceFile(REPOSITORY, path, "", language, text), sizes)


def read_symbols(chunks: Sequence[Chunk]) -> tuple[DefinitionTable, list[DefinedSymbol], list[WrittenReference]]:
    """Return a table of all definitions, the definitions, and the references; the parts of a declaration overlap."""
    named: dict[str, dict[Any, DefinedSymbol]] = {}
    references: dict[Any, WrittenReference] = {}
    by_path: dict[Any, DefinedSymbol] = {}
    for chunk in chunks:
        is_test = kind_of_path(chunk.path, chunk.language) == "test"
        place = FilePlace(chunk.repo, chunk.path, chunk.language, chunk.package, is_test)
        symbols = decode(chunk.relations)
        for definition in symbols.definitions:
            symbol = DefinedSymbol(place, definition)
            named.setdefault(definition.name, {}).setdefault((place, definition.path, definition.line), symbol)
            by_path.setdefault((place, definition.path), symbol)
        for reference in symbols.references:
            key = (place, reference.line, reference.kind, reference.target, reference.within)
            references.setdefault(key, WrittenReference(place, reference))
    table = DefinitionTable()
    for name, found in named.items():
        table.add(name, found.values())
    for written in references.values():
        owner = by_path.get((written.place, written.reference.within))
        if owner is not None and gives_members(written.place.family, written.reference.kind):
            table.add_bases(owner, [written.reference.target])
    for module, places in _modules({written.place for written in references.values()}).items():
        table.add_module(module, places)
    return table, [symbol for found in named.values() for symbol in found.values()], list(references.values())


def _modules(places: set[FilePlace]) -> dict[str, list[FilePlace]]:
    found: dict[str, list[FilePlace]] = {}
    for place in places:
        module = dotted_module(place.path)
        for name in {module, module.partition(".")[2] if module.startswith(("src.", "lib.")) else module}:
            found.setdefault(name, []).append(place)
    return found


class _Reader:
    """Resolves references, and answers what the table lacks as a search of the index would."""

    def __init__(self, table: DefinitionTable, places: Iterable[FilePlace], packages: list[DeclaredPackage]) -> None:
        self._table = table
        self._resolver = ReferenceResolver(table, lambda repo: packages)
        self._files: dict[str, list[FilePlace]] = {}
        for place in places:
            stem = Path(place.path).name.partition(".")[0]
            self._files.setdefault(Path(place.folder).name if stem == "index" else stem, []).append(place)

    def resolve(self, written: WrittenReference) -> Resolved | None:
        """Return the definition that a reference most likely means."""
        found = self._resolver.resolve(written)
        names, modules = self._table.take_wanted()
        while names or modules:
            for name in names:
                self._table.add(name, ())
            for module in modules:
                files = self._files.get(Path(module).name.partition(".")[0], ())
                self._table.add_module(module, [place for place in files if is_module_file(module, place.path)])
            found = self._resolver.resolve(written)
            names, modules = self._table.take_wanted()
        return found[0] if found else None


def _edge(written: WrittenReference, best: Resolved | None) -> dict[str, Any]:
    reference, to = written.reference, None
    if best is not None:
        symbol = best.symbol
        to = {"path": symbol.place.path, "line": symbol.definition.line, "name": symbol.definition.name}
    return {
        "path": written.place.path,
        "line": reference.line,
        "name": reference.name,
        "kind": reference.kind,
        "to": to,
        "confidence": best.confidence if best else 0.0,
        "found_by": best.found_by if best else None,
    }


def edges_of(tree: Path, languages: Sequence[str]) -> tuple[list[dict[str, Any]], list[DefinedSymbol]]:
    """Return the edges that are found in a work tree, one for each reference, and the definitions."""
    manifests = (file for name in MANIFESTS for file in tree.rglob(name))
    read = (read_manifest(file.relative_to(tree).as_posix(), file.read_text("utf-8", "replace")) for file in manifests)
    packages = [package for package in read if package is not None]
    table, definitions, references = read_symbols(list(chunks_of(tree, languages)))
    reader = _Reader(table, {written.place for written in references}, packages)
    return [_edge(written, reader.resolve(written)) for written in references], definitions


def main() -> None:
    """Write both files, and print the counts and the time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--language", action="append", required=True, help="a language id, may be repeated")
    options = parser.parse_args()
    started = perf_counter()
    edges, definitions = edges_of(options.tree, options.language)
    options.out.write_text("".join(json.dumps(edge) + "\n" for edge in edges))
    with options.out.with_suffix(".definitions.jsonl").open("w") as out:
        for symbol in definitions:
            definition = symbol.definition
            row = {"path": symbol.place.path, "line": definition.line, "name": definition.name}
            out.write(json.dumps(row | {"kind": definition.symbol_kind}) + "\n")
    seconds = perf_counter() - started
    print(f"{len(definitions):,} definitions, {len(edges):,} references, {seconds:.1f} s")


if __name__ == "__main__":
    main()
