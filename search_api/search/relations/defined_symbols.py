"""The definitions of a symbol."""

from collections.abc import Mapping

from codequarry.search_api.answers.relations import Definitions, SymbolDefinition
from codequarry.search_api.graph.definitions import DefinedSymbol
from codequarry.search_api.query.names import Name
from codequarry.search_api.query.relations_request import DefinitionsRequest
from codequarry.search_api.search.cursor import digest
from codequarry.search_api.search.engine import SearchEngine
from codequarry.search_api.search.hits import lines_url
from codequarry.search_api.search.pages import Page
from codequarry.search_api.search.relations.chunk_symbols import defined_in
from codequarry.search_api.search.relations.symbol_reader import MAX_CHUNKS
from codequarry.shared.errors import UsageError
from codequarry.shared.model import Filters, SymbolType
from codequarry.shared.relations import PASSED_ON

_RANKS: Mapping[SymbolType, int] = {"config": 1, "documentation": 2}


def defined_symbols(engine: SearchEngine, request: DefinitionsRequest) -> Definitions:
    """Return a page of the definitions of a symbol, by repository, path and line; code comes first.

    Raise UsageError for a name that is too common, and the errors of ``Page.located``.
    """
    values = {key: list(given) for key, given in request.filters.items()}
    query = digest("definitions", request.name.qualified, values, request.limit)
    page = Page.located(engine, request.selection, request.cursor, query, request.limit)
    page.require_one_version()
    filters = request.selection.filters
    wanted = Filters((*filters.terms, ("symbols", (request.name.last,))), filters.excluded, filters.paths)
    chunks = engine.store.find(page.found.scope.snapshot, wanted, MAX_CHUNKS + 1)
    if len(chunks) > MAX_CHUNKS:
        raise UsageError(
            f"'{request.name.qualified}' has more than {MAX_CHUNKS:,} definitions; name a repository or a path"
        )
    found = sorted(
        {order_of(symbol): symbol for symbol in defined_in(chunks) if is_named(symbol, request.name)}.items()
    )
    shown, cursor = page.cut([symbol for _, symbol in found])
    repos = {symbol.place.repo for symbol in shown}
    return Definitions(tuple(_answer(symbol, page) for symbol in shown), len(found), cursor, page.freshness(repos))


def order_of(symbol: DefinedSymbol) -> tuple[int, str, str, int, tuple[str, ...]]:
    """Return what definitions are sorted by, which is different for each: code, keys of settings, documents."""
    place, definition = symbol.place, symbol.definition
    return _RANKS.get(definition.symbol_type, 0), place.repo, place.path, definition.line, symbol.path


def is_named(symbol: DefinedSymbol, name: Name) -> bool:
    """Return whether a definition's package and path end with a name; exports of other definitions don't count."""
    if symbol.definition.symbol_kind == PASSED_ON:
        return False
    wanted = (*name.scope, name.last)
    full = (*(symbol.place.package or "").split("."), *symbol.path)
    return full[-len(wanted) :] == wanted


def _answer(symbol: DefinedSymbol, page: Page) -> SymbolDefinition:
    place, definition = symbol.place, symbol.definition
    view = page.view(place.repo)
    return SymbolDefinition(
        repo=place.repo,
        path=place.path,
        start_line=definition.line,
        end_line=definition.end_line,
        symbol_name=definition.name,
        qualified_name=".".join(definition.path),
        symbol_type=definition.symbol_type,
        symbol_kind=definition.symbol_kind,
        signature=definition.signature,
        exported=definition.exported,
        container=".".join(definition.path[:-1]) or None,
        doc=definition.doc,
        language=place.language,
        ref=view.ref.name if view else None,
        commit=view.commit if view else None,
        url=lines_url(page.origin(place.repo), view, place.path, definition.line, definition.end_line)
        if view
        else None,
    )
