"""The grammars and their rules."""

import re

import pytest

from codequarry.ingest.chunking import grammar
from codequarry.ingest.chunking.grammar import MAX_PARSED_BYTES, SPECS, load_grammar, spec_for
from codequarry.ingest.chunking.grammars.ecmascript import TSX
from codequarry.ingest.chunking.languages import GRAMMAR_LANGUAGES
from codequarry.ingest.chunking.tagged_languages import OCAML_INTERFACE, TAGGED
from codequarry.ingest.chunking.tags import query_source

ROWS = {**SPECS, "tsx": TSX, "ocaml interface": OCAML_INTERFACE}
# JavaScript and TypeScript share rules; each grammar knows one of these names.
SHARED = {"field_definition", "public_field_definition"}


def test_the_table_of_languages_matches_the_rules():
    assert set(SPECS) == GRAMMAR_LANGUAGES


@pytest.mark.parametrize("name", ROWS)
def test_every_rule_names_nodes_of_its_grammar(name):
    spec = ROWS[name]
    loaded = load_grammar(spec)
    assert loaded is not None
    known = {loaded.language.node_kind_for_id(number) for number in range(loaded.language.node_kind_count)}
    tables = (spec.rules, spec.resolvers, spec.wrappers, spec.comments, spec.leading, spec.annotations, spec.blocks)
    named = {kind for table in tables for kind in table}
    assert named - known <= SHARED


@pytest.mark.parametrize("name", ROWS)
def test_no_query_has_predicates(name):
    """A predicate needs the text, which a tree parsed through a callback does not have."""
    assert "(#" not in ROWS[name].query


@pytest.mark.parametrize("name", TAGGED)
def test_the_predicates_of_query_files_are_evaluated_by_our_own_code(name):
    predicates = set(re.findall(r"#[a-z-]+[?!]", query_source(TAGGED[name].tags)))
    assert predicates <= {
        "#set!",
        "#text-eq?",
        "#text-any-of?",
        "#text-not-any-of?",
        "#text-match?",
        "#text-not-match?",
    }


@pytest.mark.parametrize("name", sorted(name for name, spec in SPECS.items() if spec.tags is None))
def test_captures_come_in_file_order(name):
    loaded = load_grammar(SPECS[name])
    data = b"".join(b"%s(%s, %s); %s = %s\n" % ((b"name_%d" % number,) * 5) for number in range(50))
    captures = loaded.captures(loaded.parse(data).root_node)
    starts = {capture: [node.start_byte for node in nodes] for capture, nodes in captures.items()}
    assert starts == {capture: sorted(found) for capture, found in starts.items()}


def test_a_file_too_large_to_parse_is_refused():
    loaded = load_grammar(SPECS["python"])
    assert loaded.parse(b"#" * (MAX_PARSED_BYTES + 1)) is None


def test_a_parse_with_too_many_steps_is_aborted(monkeypatch, chunked):
    monkeypatch.setattr(grammar, "_FREE_STEPS", 0)
    monkeypatch.setattr(grammar, "_STEPS_PER_BYTE", 0)
    text = "def f(a):\n    b = a\n    return b\n" * 200
    chunks = chunked("a.py", text)
    assert "".join(chunk.text for chunk in chunks) == text
    assert {chunk.symbol_type for chunk in chunks} == {"block"}


def test_a_parse_that_takes_too_long_is_aborted(monkeypatch):
    monkeypatch.setattr(grammar, "_MAX_PARSE_SECONDS", -1.0)
    assert load_grammar(SPECS["python"]).parse(b"x = 1\n" * 1000) is None


def test_a_language_without_its_grammar_is_cut_by_lines(monkeypatch, chunked):
    def missing(name: str, query: str) -> None:
        raise LookupError(name)

    # The cache is not cleared: the binding's memory is damaged when a query is destroyed.
    monkeypatch.setattr(grammar, "_load", missing)
    (chunk,) = chunked("a.py", "def f(a):\n    return a\n")
    assert (chunk.symbol_type, chunk.symbol_name) == ("file", None)


def test_only_a_header_can_be_detected_as_cpp():
    assert spec_for("c", "a.h", "class A {\n public:\n};\n") is SPECS["c++"]
    assert spec_for("c", "a.h", "struct a { int b; };\n") is SPECS["c"]
    assert spec_for("c", "a.c", "class A {\n public:\n};\n") is SPECS["c"]


def test_a_header_can_be_detected_as_objective_c():
    assert spec_for("c", "a.h", "#import <a.h>\n@interface A : B\n@end\n") is SPECS["objective-c"]


def test_an_interface_of_ocaml_has_its_own_grammar():
    assert spec_for("ocaml", "a.mli", "val f : int\n") is OCAML_INTERFACE


def test_a_language_without_rules_has_no_spec():
    assert spec_for("cobol", "a.cob", "x") is None


@pytest.mark.parametrize(("path", "piece"), [("a.java", "x=>\n"), ("a.ts", "a<b,"), ("a.kt", "/*"), ("a.swift", "/* ")])
def test_a_very_repetitive_file_is_not_parsed(chunked, path, piece):
    """Error recovery would take minutes in a single step that cannot be interrupted."""
    text = piece * 30_000
    chunks = chunked(path, text)
    assert "".join(chunk.text for chunk in chunks) == text
    assert {chunk.symbol_type for chunk in chunks} <= {"block", "file"}


def test_regular_source_code_is_parsed(chunked):
    text = "".join(f"const Kind{number} = {number * 37}\n" for number in range(2000))
    assert not grammar.is_repetitive(text.encode())
    assert chunked("kinds.go", f"package x\n\n{text}").defining("Kind7")
