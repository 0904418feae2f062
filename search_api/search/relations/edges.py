"""The edges around a symbol, found breadth first."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from codequarry.search_api.answers.relations import Edge, Edges
from codequarry.search_api.graph.candidates import Resolved
from codequarry.search_api.graph.definitions import FILE, DefinedSymbol, FilePlace, WrittenReference, whole_file
from codequarry.search_api.query.relations_request import GraphRequest
from codequarry.search_api.search.cursor import digest
from codequarry.search_api.search.engine import SearchEngine
from codequarry.search_api.search.pages import Page
from codequarry.search_api.search.relations.co_changes import CoChanges
from codequarry.search_api.search.relations.defined_symbols import is_named
from codequarry.search_api.search.relations.edge_answers import (
    edge_of,
    edge_of_files,
    edge_of_methods,
    edge_order,
    referring_names,
)
from codequarry.search_api.search.relations.go_implementations import GoImplementations, Implementation
from codequarry.search_api.search.relations.symbol_reader import SymbolReader
from codequarry.shared.errors import UsageError
from codequarry.shared.relations import Reference, Target

# Beyond the first level, only this many symbols are followed; more than this nobody reads.
MAX_FOLLOWED = 300


def find_edges(engine: SearchEngine, request: GraphRequest) -> Edges:
    """Return a page of the edges around the symbols that a request names, the nearest first.

    Raise UsageError for a name that is too common, and the errors of ``Page.located``.
    """
    values = {key: list(given) for key, given in request.filters.items()}
    named = [request.name.qualified if request.name else "", request.chunk_id or "", request.file or ""]
    edges = [request.direction, list(request.kinds), request.depth, request.min_confidence]
    query = digest("graph", named, values, edges, request.limit)
    page = Page.located(engine, request.selection, request.cursor, query, request.limit)
    page.require_one_version()
    snapshot = page.found.scope.snapshot
    reader = SymbolReader(engine.store, snapshot)
    implementations = GoImplementations(engine.store, snapshot, reader)
    walk = _Walk(reader, CoChanges(engine.store, snapshot), implementations, request)
    found = walk.edges()
    shown, cursor = page.cut(found)
    repos = {end.repo for edge in shown for end in (edge.source, edge.to) if end is not None}
    return Edges(shown, len(found), cursor, page.freshness(repos))


@dataclass(slots=True)
class _Walk:
    """A walk from the symbols asked for; each symbol is followed once."""

    reader: SymbolReader
    co_changes: CoChanges
    implementations: GoImplementations
    request: GraphRequest
    _seen: set[DefinedSymbol] = field(default_factory=set)

    def edges(self) -> list[Edge]:
        """Return all edges, level by level, each level by repository, path and line."""
        frontier = self._roots()
        self._seen.update(frontier)
        found: list[Edge] = []
        for depth in range(1, self.request.depth + 1):
            if not frontier:
                break
            level: dict[Edge, DefinedSymbol | None] = {}
            if self.request.asks_for("co_change"):
                level.update(self._changed_together(frontier, depth))
            if self.request.asks_for("implements"):
                level.update(self._implementing(frontier, depth))
            if self.request.direction in {"in", "both"}:
                level.update(self._incoming(frontier, depth))
            if self.request.direction in {"out", "both"}:
                level.update(self._outgoing(frontier, depth))
                level.update(self._given(frontier, depth))
            found += sorted(level, key=edge_order)
            new = dict.fromkeys(symbol for symbol in level.values() if symbol is not None)
            frontier = [symbol for symbol in new if symbol not in self._seen][:MAX_FOLLOWED]
            self._seen.update(frontier)
        return found

    def _roots(self) -> list[DefinedSymbol]:
        name = self.request.name
        if self.request.file is not None:
            return self.reader.files(self.request.file)
        if name is None:
            return self.reader.of_chunk(self.request.chunk_id or "", or_file=self.request.asks_for("co_change"))
        return [symbol for symbol in self.reader.definitions([name.last]) if is_named(symbol, name)]

    def _changed_together(
        self, symbols: Sequence[DefinedSymbol], depth: int
    ) -> Iterator[tuple[Edge, DefinedSymbol | None]]:
        """Yield the edges between the files of symbols and the files that changed along with them."""
        places = list(dict.fromkeys(symbol.place for symbol in symbols))
        if self.request.direction == "in":
            pairs = self.co_changes.to_files(places, self.request.selection.filters)
        else:
            # Each pair once: with "both", the edge back says the same.
            pairs = self.co_changes.from_files(places)
        for pair in pairs:
            if pair.share >= (self.request.min_confidence or 0.0):
                far = pair.source if self.request.direction == "in" else pair.to
                yield edge_of_files(pair, depth), whole_file(far)

    def _implementing(
        self, symbols: Sequence[DefinedSymbol], depth: int
    ) -> Iterator[tuple[Edge, DefinedSymbol | None]]:
        """Yield the edges from types of Go to the interfaces whose methods they have."""
        found: list[tuple[Implementation, DefinedSymbol]] = []
        if self.request.direction in {"in", "both"}:
            of_interfaces = self.implementations.of_interfaces(symbols, self.request.selection.filters)
            found += [(each, each.type) for each in of_interfaces]
        if self.request.direction in {"out", "both"}:
            found += [(each, each.interface) for each in self.implementations.of_types(symbols)]
        for each, far in found:
            if each.confidence >= self.request.least_sure:
                yield edge_of_methods(each, depth), far

    def _incoming(self, targets: Sequence[DefinedSymbol], depth: int) -> Iterator[tuple[Edge, DefinedSymbol | None]]:
        wanted = set(targets)
        names = {name for target in targets for name in referring_names(target)}
        written = [
            one for one in self.reader.references_to(names, self.request.selection.filters) if self._is_asked(one)
        ]
        files = {target.place for target in targets if target.definition.symbol_kind == FILE}
        written += self._imports_from(files, set(written))
        sources, takers = self._sources(written), self._takers(written)
        for one, meanings in zip(written, self.reader.resolve(written), strict=True):
            best = meanings[0].confidence if meanings else 0.0
            is_import = one.reference.kind == "import"
            meant = next(
                (
                    found
                    for found in meanings
                    if found.confidence == best
                    and (found.symbol in wanted or (is_import and found.symbol.place in files))
                ),
                None,
            )
            is_given = one.reference.into is not None
            source = takers.get(one) if is_given else sources.get((one.place, one.reference.within))
            if meant is not None and best >= self.request.least_sure and (source is not None or not is_given):
                yield edge_of(one, meant, depth, source), source

    def _imports_from(
        self, files: Collection[FilePlace], known: Collection[WrittenReference]
    ) -> list[WrittenReference]:
        """Return the imports of names that files define; only those of the files asked for are read."""
        if self.request.file is None or not self.request.asks_for("import"):
            return []
        names = {name for place in files for name in self.reader.imported_names(place)}
        filters = self.request.selection.filters
        try:
            found = self.reader.references_to(names, filters)
        except UsageError:
            # A file may define names that are common everywhere; who imports it is mostly in its own repository.
            own = ("repo", tuple(sorted({place.repo for place in files})))
            found = self.reader.references_to(names, replace(filters, terms=(*filters.terms, own)))
        return [one for one in found if one.reference.kind == "import" and one not in known]

    def _outgoing(self, symbols: Sequence[DefinedSymbol], depth: int) -> Iterator[tuple[Edge, DefinedSymbol | None]]:
        written = [
            one
            for symbol in symbols
            for one in self.reader.references_from(symbol)
            # What is given to others inside is an edge of those others.
            if self._is_asked(one) and one.reference.into is None
        ]
        for one, meanings in zip(written, self.reader.resolve(written), strict=True):
            best = self._sure(meanings)
            # What is defined elsewhere, such as in a library, is shown for the symbol asked for only.
            if best is not None or depth == 1:
                yield edge_of(one, best, depth), self._led_to(one, best.symbol) if best else None

    def _led_to(self, one: WrittenReference, symbol: DefinedSymbol) -> DefinedSymbol:
        """Return what a walk goes on from: from file to file if a file is asked for, else from symbol to symbol."""
        is_of_files = self.request.file is not None and one.reference.kind == "import"
        return whole_file(symbol.place) if is_of_files else symbol

    def _given(self, takers: Sequence[DefinedSymbol], depth: int) -> Iterator[tuple[Edge, DefinedSymbol | None]]:
        """Yield the edges from symbols to those whose result they are given as an argument."""
        if not self.request.asks_for("data_flow"):
            return
        wanted, names = set(takers), {taker.definition.name for taker in takers}
        written = self.reader.references_to(names, self.request.selection.filters, of_taker=True)
        given_to = self._takers(written)
        for one, meanings in zip(written, self.reader.resolve(written), strict=True):
            taker, best = given_to.get(one), self._sure(meanings)
            if taker in wanted and best is not None:
                yield edge_of(one, best, depth, taker), best.symbol

    def _takers(self, written: Iterable[WrittenReference]) -> dict[WrittenReference, DefinedSymbol]:
        """Return the functions that are given the result of what references mean, as an argument."""
        given = {one: one.reference.into for one in written if one.reference.into is not None}
        asked = [WrittenReference(one.place, _to_taker(one.reference, into)) for one, into in given.items()]
        sure = map(self._sure, self.reader.resolve(asked))
        return {one: best.symbol for one, best in zip(given, sure, strict=True) if best is not None}

    def _sure(self, meanings: Sequence[Resolved]) -> Resolved | None:
        """Return the surest meaning if it is as sure as asked."""
        return meanings[0] if meanings and meanings[0].confidence >= self.request.least_sure else None

    def _sources(self, written: Iterable[WrittenReference]) -> dict[tuple[FilePlace, tuple[str, ...]], DefinedSymbol]:
        """Return the definitions that references stand in, if another level follows."""
        if self.request.depth == 1:
            return {}
        names = {one.reference.within[-1] for one in written if one.reference.within}
        found = {(symbol.place, symbol.path): symbol for symbol in self.reader.definitions(names)}
        if self.request.file is not None:
            # Imports lead from file to file.
            found |= {(one.place, ()): whole_file(one.place) for one in written if one.reference.kind == "import"}
        return found

    def _is_asked(self, one: WrittenReference) -> bool:
        return self.request.asks_for(one.reference.kind)


def _to_taker(given: Reference, into: Target) -> Reference:
    """Return a reference to what is given a result; its own arguments are not known."""
    return given._replace(target=into, into=None, arguments=None, argument_types=())
