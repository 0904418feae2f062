"""Definitions and references survive their encoding."""

from hypothesis import given
from hypothesis import strategies as st

from codequarry.shared.model import SYMBOL_TYPES
from codequarry.shared.relations import (
    REFERENCE_KINDS,
    Definition,
    Reference,
    Symbols,
    Target,
    decode,
    defined_names,
    encode,
)

names = st.text(st.characters(exclude_characters="\t", exclude_categories=("Cs",)), min_size=1, max_size=8)
paths = st.lists(names, min_size=1, max_size=4).map(tuple)
targets = st.builds(Target, st.sampled_from(("scope", "import", "package", "name")), names | st.just(""), paths)
definitions = st.builds(
    lambda path, symbol, kind, line, rows, **rest: Definition(path, symbol, kind, line, line + rows, **rest),
    paths,
    st.sampled_from(SYMBOL_TYPES),
    names,
    st.integers(1, 10**6),
    st.integers(0, 1000),
    exported=st.sampled_from((None, True, False)),
    signature=names | st.just(""),
    doc=names | st.just(""),
    type=st.none() | targets,
)
references = st.builds(
    Reference,
    st.sampled_from(REFERENCE_KINDS),
    st.integers(1, 10**6),
    targets,
    paths | st.just(()),
    st.none() | targets,
    st.none() | st.integers(0, 29),
    st.lists(names | st.just(""), max_size=3).filter(any).map(tuple) | st.just(()),
)


@given(st.builds(Symbols, st.lists(definitions, max_size=4).map(tuple), st.lists(references, max_size=6).map(tuple)))
def test_decoding_returns_what_was_encoded(symbols):
    assert decode(encode(symbols)) == symbols


def test_a_chunk_without_symbols_costs_nothing():
    assert encode(Symbols()) == ""


def test_each_defined_name_is_listed_once():
    overloads = [Definition(("Store", "load"), "method", "method", line, line) for line in (1, 2)]
    assert defined_names(Symbols((*overloads, Definition(("load", "key"), "block", "variable", 3, 3)))) == (
        "load",
        "key",
    )
