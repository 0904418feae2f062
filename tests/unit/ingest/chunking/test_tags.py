"""Reading declarations from the captures of a query."""

import re
from pathlib import Path

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


PAGE = Path(__file__).parents[4] / "docs/languages.md"
GLEAM = """import gleam/io

/// Pays it.
pub fn pay(card: Card) -> Bool {
  let sum = total(card)
  io.println("paid")
  charge(card, sum)
}

pub type Card {
  Card(number: String)
}

const fee = 2
"""


def test_the_example_of_the_page_reads_its_language(monkeypatch, chunked):
    text = PAGE.read_text(encoding="utf-8")
    entry, query = (re.search(rf"```{kind}\n(.*?)```", text, re.DOTALL)[1] for kind in ("python", "scheme"))
    table = eval("{" + entry + "}", {"tagged": tagged})
    monkeypatch.setitem(grammar.SPECS, "text", table["gleam"])
    monkeypatch.setattr(grammar, "query_source", lambda name: tags.own_predicates(query))
    chunks = chunked("a.gleam", GLEAM)
    pay = chunks.named("pay")
    assert (pay.signature, pay.doc) == ("pub fn pay(card: Card) -> Bool", "Pays it.")
    assert pay.calls == ("total", "charge")
    assert {"Card", "fee"} <= {name for chunk in chunks for name in chunk.defines}
    assert chunks[0].imports == ("gleam/io",)
