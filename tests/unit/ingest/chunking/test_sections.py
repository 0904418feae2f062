"""reStructuredText, AsciiDoc, LaTeX and BibTeX."""

import pytest

NAMES = {
    "billing.rst": ["Billing", "Billing > Fees", "Billing > Fees > Retries", "Billing > Refunds"],
    "billing.adoc": ["Billing", "Billing > Fees", "Billing > Fees > Retries", "Billing > Refunds"],
    "billing.tex": ["Billing", "Billing > Fees of every payment", "Refunds"],
}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_sections_are_named_by_their_heading_and_its_parents(sample, name):
    chunks = sample(name)
    assert chunks.names == NAMES[name]
    assert {chunk.symbol_type for chunk in chunks} == {"documentation"}
    assert chunks[-1].symbol_name == "Refunds"


@pytest.mark.parametrize("name", ["billing.rst", "billing.adoc", "billing.tex"])
def test_names_of_code_are_references(sample, name):
    references = [reference for chunk in sample(name) for reference in chunk.references]
    assert references == ["pay", "apply_fee"]


def test_targets_and_objects_of_restructuredtext_are_defined(sample):
    chunks = sample("billing.rst")
    assert chunks.defining("fees")
    assert chunks.defining("retry") == [chunks.named("Billing > Fees > Retries")]


def test_anchors_of_asciidoc_belong_to_the_section_below_them(sample):
    assert sample("billing.adoc").defining("fees") == [sample("billing.adoc").named("Billing > Fees")]


def test_labels_and_commands_of_latex_are_defined(sample):
    chunks = sample("billing.tex")
    assert chunks.defining("fee")
    assert chunks.defining("sec:billing") == [chunks.named("Billing")]


def test_small_sections_that_share_a_chunk_are_defined(chunked):
    (chunk,) = chunked("a.rst", "Changes\n=======\n\n1.1\n---\n\nFixed.\n\n1.0\n---\n\nFirst.\n")
    assert (chunk.symbol_name, chunk.defines) == ("Changes", ("1.1", "1.0"))


def test_levels_follow_the_order_of_the_styles(chunked):
    words = "Words enough for a section of its own. " * 20
    text = "".join(f"{title}\n{style * 6}\n\n{words}\n\n" for title, style in [("A", "~"), ("B", "="), ("C", "~")])
    assert chunked("a.rst", text).names == ["A", "A > B", "C"]


def test_an_entry_of_bibtex_is_a_section(chunked, sample):
    (chunk,) = sample("billing.bib")
    assert (chunk.symbol_name, chunk.defines) == ("fees2024", ("refunds",))
