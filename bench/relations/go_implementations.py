"""Compare the implementations of Go's interfaces that an index finds with those of go/types.

    codequarry index TREE
    cd bench/relations/go && go run ./implementations TREE > TRUTH.jsonl
    python -m bench.relations.go_implementations TRUTH.jsonl NAME

NAME is the repository in the index (``CODEQUARRY_HOME`` says where that is). Nested modules and generic types, which
the other tool leaves out, are left out here too. ``--wrong`` shows the pairs that differ.
"""

import argparse
import json
from pathlib import Path

from codequarry.cli.session.session import workplace
from codequarry.search_api.graph.definitions import DefinedSymbol
from codequarry.search_api.graph.go_methods import GoType
from codequarry.search_api.query.relations_request import DEFAULT_CONFIDENCE, graph_request
from codequarry.search_api.search.engine import SearchEngine
from codequarry.search_api.search.pages import Page
from codequarry.search_api.search.relations.chunk_symbols import defined_in
from codequarry.search_api.search.relations.go_implementations import GoImplementations
from codequarry.search_api.search.relations.symbol_reader import SymbolReader
from codequarry.shared.filters import path_matches
from codequarry.shared.model import Filters, PathGlobs
from codequarry.shared.settings.config import load_settings

Place = tuple[str, int, str]
MOST_CHUNKS = 1_000_000


def place_of(symbol: DefinedSymbol) -> Place:
    return symbol.place.path, symbol.definition.line, symbol.definition.name


def found_in(engine: SearchEngine, repo: str) -> dict[tuple[Place, Place], float]:
    """Return the confidence of each pair of a type and an interface."""
    request = graph_request("any", {"repo": [repo]})
    snapshot = Page.located(engine, request.selection, None, "", 1).found.scope.snapshot
    chunks = engine.store.find(snapshot, Filters(paths=PathGlobs(("*.go", "go.mod"))), MOST_CHUNKS)
    modules = [chunk.path.removesuffix("go.mod") for chunk in chunks if chunk.path.endswith("/go.mod")]
    others = PathGlobs(tuple(modules)) if modules else None
    symbols = [
        symbol
        for symbol in dict.fromkeys(defined_in(chunks))
        if not GoType(symbol).is_generic and not (others and path_matches(others, symbol.place.path))
    ]
    implementations = GoImplementations(engine.store, snapshot, SymbolReader(engine.store, snapshot))
    found = implementations.of_interfaces(symbols, Filters())
    wanted = set(symbols)
    return {(place_of(one.type), place_of(one.interface)): one.confidence for one in found if one.type in wanted}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("truth", type=Path)
    parser.add_argument("repo")
    parser.add_argument("--wrong", action="store_true")
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.truth.read_text().splitlines()]
    truth = {
        tuple((row[end]["path"], row[end]["line"], row[end]["name"]) for end in ("type", "interface")) for row in rows
    }
    with workplace(load_settings().settings) as place:
        ours = found_in(SearchEngine(place.store, place.embedder, place.settings, place.degraded), options.repo)
    sure = {pair for pair, confidence in ours.items() if confidence >= DEFAULT_CONFIDENCE}
    for confidence in sorted(set(ours.values()), reverse=True):
        pairs = {pair for pair in ours if ours[pair] == confidence}
        print(f"confidence {confidence}: {len(pairs & truth)} of {len(pairs)} right")
    print(f"precision {len(sure & truth) / len(sure):.3f}, recall {len(sure & truth) / len(truth):.3f} of {len(truth)}")
    for title, pairs in (("wrong", sure - truth), ("missed", truth - sure)) if options.wrong else ():
        for pair in sorted(pairs):
            print(title, *pair)


if __name__ == "__main__":
    main()
