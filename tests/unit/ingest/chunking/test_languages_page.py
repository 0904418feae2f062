"""The example of docs/languages.md works."""

import re
from pathlib import Path

from codequarry.ingest.chunking import grammar, tags
from codequarry.ingest.chunking.tagged_languages import tagged

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
