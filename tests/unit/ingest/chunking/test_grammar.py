"""The grammars and the rows of rules that read them."""

import pytest

from codequarry.ingest.chunking import grammar
from codequarry.ingest.chunking.grammar import MAX_PARSED_BYTES, SPECS, load_grammar, spec_for
from codequarry.ingest.chunking.grammars.ecmascript import TSX
from codequarry.ingest.chunking.languages import GRAMMAR_LANGUAGES

ROWS = {**SPECS, "tsx": TSX}
# JavaScript and TypeScript share rules; each grammar has one of the two names.
SHARED = {"field_definition", "public_field_definition"}


def test_the_table_of_languages_names_the_languages_with_a_row():
    assert set(SPECS) == GRAMMAR_LANGUAGES


@pytest.mark.parametrize("name", ROWS)
def test_every_row_fits_its_grammar(name):
    spec = ROWS[name]
    loaded = load_grammar(spec)
    assert loaded is not None
    known = {loaded.language.node_kind_for_id(number) for number in range(loaded.language.node_kind_count)}
    tables = (spec.rules, spec.resolvers, spec.wrappers, spec.comments, spec.leading, spec.annotations, spec.blocks)
    named = {kind for table in tables for kind in table}
    assert named - known <= SHARED


@pytest.mark.parametrize("name", ROWS)
def test_no_query_has_predicates(name):
    """A tree that was parsed through a callback has no text, and a predicate would ask for it."""
    assert "(#" not in ROWS[name].query


def test_a_file_too_large_to_parse_is_refused():
    loaded = load_grammar(SPECS["python"])
    assert loaded.parse(b"#" * (MAX_PARSED_BYTES + 1)) is None


def test_a_parse_that_takes_too_many_steps_is_given_up(monkeypatch, chunked):
    monkeypatch.setattr(grammar, "_FREE_STEPS", 0)
    monkeypatch.setattr(grammar, "_STEPS_PER_BYTE", 0)
    text = "def f(a):\n    b = a\n    return b\n" * 200
    chunks = chunked("a.py", text)
    assert "".join(chunk.text for chunk in chunks) == text
    assert {chunk.symbol_type for chunk in chunks} == {"block"}


def test_a_parse_that_takes_too_long_is_given_up(monkeypatch):
    monkeypatch.setattr(grammar, "_MAX_PARSE_SECONDS", -1.0)
    assert load_grammar(SPECS["python"]).parse(b"x = 1\n" * 1000) is None


def test_a_language_without_its_grammar_is_cut_by_lines(monkeypatch, chunked):
    def missing(name: str) -> None:
        raise LookupError(name)

    grammar._load.cache_clear()
    monkeypatch.setattr(grammar.language_pack, "get_language", missing)
    (chunk,) = chunked("a.py", "def f(a):\n    return a\n")
    grammar._load.cache_clear()
    assert (chunk.symbol_type, chunk.symbol_name) == ("file", None)


def test_only_a_header_is_guessed_to_be_cpp():
    assert spec_for("c", "a.h", "class A {\n public:\n};\n") is SPECS["c++"]
    assert spec_for("c", "a.h", "struct a { int b; };\n") is SPECS["c"]
    assert spec_for("c", "a.c", "class A {\n public:\n};\n") is SPECS["c"]


def test_a_language_without_a_row_has_no_spec():
    assert spec_for("cobol", "a.cob", "x") is None


@pytest.mark.parametrize(("path", "piece"), [("a.java", "x=>\n"), ("a.ts", "a<b,"), ("a.kt", "/*"), ("a.swift", "/* ")])
def test_a_file_that_repeats_itself_thousands_of_times_is_not_parsed(chunked, path, piece):
    """Error recovery would take minutes in one step that nothing can stop."""
    text = piece * 30_000
    chunks = chunked(path, text)
    assert "".join(chunk.text for chunk in chunks) == text
    assert {chunk.symbol_type for chunk in chunks} <= {"block", "file"}


def test_source_code_with_a_pattern_is_parsed(chunked):
    text = "".join(f"const Kind{number} = {number * 37}\n" for number in range(2000))
    assert not grammar.is_repetitive(text.encode())
    assert chunked("kinds.go", f"package x\n\n{text}").defining("Kind7")
