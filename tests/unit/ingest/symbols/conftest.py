"""Reads the symbols of a source text as the chunker does."""

from collections.abc import Callable

import pytest

from codequarry.ingest.chunking.grammar import load_grammar, spec_for
from codequarry.ingest.chunking.languages import language_of
from codequarry.ingest.symbols.file_symbols import read_names
from codequarry.shared.relations import Symbols, Target


@pytest.fixture
def read() -> Callable[[str, str], Symbols]:
    """Return a function that returns the symbols of a file, given its path and text."""

    def symbols(path: str, text: str) -> Symbols:
        spec = spec_for(language_of(path) or "", path, text)
        assert spec is not None and spec.naming is not None
        grammar, data = load_grammar(spec), text.encode()
        assert grammar is not None
        tree = grammar.parse(data)
        assert tree is not None
        package = spec.package(tree.root_node, data, path)
        return read_names(grammar.captures(tree.root_node), spec.naming, data, path, package, {}).between(0, len(data))

    return symbols


def shown(target: Target | None) -> str:
    """Return a target on one line: where it comes from, its module and its names."""
    return "" if target is None else f"{target.origin} {target.module} {'.'.join(target.names)}".replace("  ", " ")


@pytest.fixture
def referred(read: Callable[[str, str], Symbols]) -> Callable[..., list[str]]:
    """Return a function that lists the references of some kinds, each as its target."""

    def targets(path: str, text: str, *kinds: str) -> list[str]:
        found = read(path, text).references
        return [shown(reference.target) for reference in found if not kinds or reference.kind in kinds]

    return targets


@pytest.fixture
def defined(read: Callable[[str, str], Symbols]) -> Callable[..., dict[str, str]]:
    """Return a function that returns the kind of each definition by its qualified name."""
    return lambda path, text: {".".join(found.path): found.symbol_kind for found in read(path, text).definitions}
