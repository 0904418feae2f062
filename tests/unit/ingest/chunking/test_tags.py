"""Reading declarations from the captures of a query."""

import pytest

from codequarry.ingest.chunking import grammar, tags
from codequarry.ingest.chunking.tagged_languages import TAGGED, tagged


@pytest.fixture
def described(monkeypatch, chunked):
    """Return a function that chunks a text of Lua by another query."""

    def cut(query: str, text: str, **options):
        monkeypatch.setattr(tags, "query_source", lambda name: tags.own_predicates(query))
        monkeypatch.setattr(grammar, "query_source", lambda name: tags.own_predicates(query))
        monkeypatch.setitem(grammar.SPECS, "lua", tagged("lua", "described", **options))
        return chunked("a.lua", text)

    return cut


FUNCTIONS = "function pay()\n  a()\n  b()\n  c()\nend\n\nfunction refund()\n  a()\n  b()\n  c()\nend\n"


@pytest.mark.parametrize(
    ("predicate", "names"),
    [
        ('(#eq? @name "pay")', ["pay"]),
        ('(#not-eq? @name "pay")', ["refund"]),
        ('(#any-of? @name "x" "refund")', ["refund"]),
        ('(#not-any-of? @name "x" "refund")', ["pay"]),
        ('(#match? @name "^p.y$")', ["pay"]),
        ('(#not-match? @name "^p.y$")', ["refund"]),
        ("(#eq? @name @name)", ["pay", "refund"]),
    ],
)
def test_predicates_see_the_text(described, predicate, names):
    query = f"((function_declaration name: (identifier) @name) @definition.function {predicate})"
    assert described(query, FUNCTIONS).names == names


def test_the_first_pattern_that_matches_decides(described):
    query = """
    ((function_declaration name: (identifier) @name) @definition.macro (#eq? @name "pay"))
    (function_declaration name: (identifier) @name) @definition.function
    """
    assert [chunk.symbol_kind for chunk in described(query, FUNCTIONS)] == ["macro", "function"]


def test_the_word_of_the_language_replaces_the_tag(described):
    query = '((function_declaration name: (identifier) @name) @definition.function (#set! kind "routine"))'
    assert {chunk.symbol_kind for chunk in described(query, FUNCTIONS)} == {"routine"}


def test_a_query_file_is_read_only_when_it_is_needed():
    assert all(spec.query == "" for spec in TAGGED.values())
