"""Markdown files."""

from itertools import pairwise

import pytest

from codequarry.ingest.chunking.pieces import Sizes

SMALL = Sizes(60, 200, 10)


def test_sections_are_named_by_their_heading_and_its_parents(sample):
    chunks = sample("billing.md")
    assert chunks.names == ["Billing", "Billing > Fees", "Billing > Fees > Retries", "Billing > Refunds"]
    retries = chunks.named("Billing > Fees > Retries")
    assert (retries.symbol_type, retries.symbol_name, retries.context) == (
        "documentation", "Retries", "Billing > Fees",
    )  # fmt: skip


def test_front_matter_belongs_to_the_first_section(sample):
    assert sample("billing.md")[0].text.startswith("---\ntitle: Billing\n---\n")


def test_a_hash_in_a_code_block_is_not_a_heading(sample):
    assert "# Not a heading" in sample("billing.md").named("Billing > Fees > Retries").text


def test_names_in_code_spans_are_references(sample):
    chunks = sample("billing.md")
    assert chunks.named("Billing").references == ("pay",)
    assert chunks.named("Billing > Fees").references == ("apply_fee", "fees.html")


def test_a_heading_is_plain_text(chunked):
    text = "# The `pay` [method](pay.md) **now** ##\n\n" + "Words enough for a section of its own. " * 20
    assert chunked("x.md", text)[0].symbol_name == "The pay method now"


@pytest.mark.parametrize("fence", ["```", "~~~~"])
def test_a_code_block_is_not_cut(chunked, fence):
    code = fence + "\n" + "".join(f"line {index} of the code\n\n" for index in range(20)) + fence + "\n"
    text = "# A\n\n" + "Some words before it.\n" * 20 + "\n" + code + "\n" + "Some words after it.\n" * 20
    assert any(code in chunk.text for chunk in chunked("x.md", text, SMALL))


def test_a_table_is_not_cut(chunked):
    table = "| a | b |\n|---|---|\n" + "".join(f"| {index} | x |\n" for index in range(20))
    text = "# A\n\n" + "Some words before it.\n\n" * 20 + table + "\n" + "Some words after it.\n\n" * 20
    assert any(table in chunk.text for chunk in chunked("x.md", text, SMALL))


def test_a_list_is_not_cut(chunked):
    items = "".join(f"- item {index}\n\n  with a second paragraph\n" for index in range(12))
    text = "# A\n\n" + "Some words before it.\n\n" * 20 + items + "\n" + "Some words after it.\n\n" * 20
    assert any(items in chunk.text for chunk in chunked("x.md", text, SMALL))


def test_a_list_longer_than_the_maximum_is_cut_between_items(chunked):
    items = "".join(f"- item {index} has\n  a second row\n" for index in range(60))
    chunks = chunked("x.md", items, SMALL)
    assert len(chunks) > 1
    assert all(chunk.text.startswith("- item") for chunk in chunks)


def test_parts_of_a_long_section_are_numbered_and_overlap_at_paragraphs(chunked):
    text = "# A\n\n" + "".join(f"Paragraph {index}.\n\n" for index in range(200))
    chunks = chunked("x.md", text, SMALL)
    assert chunks[0].symbol_part == f"1/{len(chunks)}"
    assert all(after.start_line <= before.end_line for before, after in pairwise(chunks))
    assert all(chunk.text.startswith("Paragraph") for chunk in chunks[1:])


def test_text_without_headings_is_documentation(chunked):
    (chunk,) = chunked("x.md", "Just words.\n")
    assert (chunk.symbol_type, chunk.symbol_name) == ("documentation", None)


def test_small_sections_share_a_chunk(chunked):
    text = "# Changes\n\n## 1.1\n\n- Fixed.\n\n## 1.0\n\n- First.\n"
    (chunk,) = chunked("CHANGES.md", text)
    assert chunk.symbol_name == "Changes"
