"""Comments, signatures and summaries."""

import pytest

from codequarry.ingest.chunking.comments import clean_comment, doc_text, fold_signature, shorten, summary


@pytest.mark.parametrize(
    ("comment", "text"),
    [
        ("# Pays it.", "Pays it."),
        ("## Pays it.", "Pays it."),
        ("// Pays it.", "Pays it."),
        ("/// Pays it.", "Pays it."),
        ("//! Pays it.", "Pays it."),
        ("/* Pays it. */", "Pays it."),
        ("/** Pays it. */", "Pays it."),
        ("/**\n * Pays it.\n *\n * @param card the card\n */", "Pays it.\n\n@param card the card"),
        ("/*\n   Pays it.\n   Once.\n*/", "Pays it.\nOnce."),
        ("-- Pays it.", "Pays it."),
        ("/// <summary>Pays <see cref=\"T:Invoice\"/>.</summary>", "Pays Invoice."),
        ("/**/", ""),
        ("#", ""),
    ],
)  # fmt: skip
def test_comment_markers_are_removed(comment, text):
    assert clean_comment(comment) == text


def test_indentation_inside_line_comments_is_kept():
    assert clean_comment("# Example:\n#     pay()") == "Example:\n    pay()"


def test_line_comments_are_joined_without_empty_lines():
    assert doc_text(["// Pays it.", "//", "// Once."]) == "Pays it.\nOnce."


@pytest.mark.parametrize(
    ("head", "signature"),
    [
        ("def f(\n    a,\n    b,\n):", "def f( a, b, )"),
        ("int f(void)\n{", "int f(void)"),
        ("const f = (a) =>", "const f = (a)"),
        ("fun f() =", "fun f()"),
        ("class A {", "class A"),
    ],
)
def test_a_signature_is_one_line_without_the_start_of_the_body(head, signature):
    assert fold_signature(head) == signature


def test_a_signature_is_capped():
    assert len(fold_signature("f(" + "int a, " * 200 + ")")) <= 500


def test_text_is_cut_between_words_but_a_long_word_anywhere():
    assert shorten("one two three", 9) == "one two"
    assert shorten("x" * 20, 9) == "x" * 9
    assert shorten("short", 9) == "short"


def test_a_summary_is_the_first_paragraph_on_one_line():
    assert summary("Pays it\nonce.\n\nMore.") == "Pays it once."
