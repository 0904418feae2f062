"""The token counter."""

import pytest

from codequarry.ingest.chunking.text import count_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        (" \t\r\n\f", 0),
        ("word", 1),
        ("getUserById", 2),
        ("snake_case", 3),
        ("x += 12345;", 6),
        ("größe", 1),
        ("名前", 2),
        ("😀", 1),
    ],
)
def test_tokens_are_counted(text, tokens):
    assert count_tokens(text) == tokens


def test_a_text_has_as_many_tokens_as_its_lines_together():
    text = "def f(a):\n    return größe(a) + 1\n\n# 名前\n"
    assert count_tokens(text) == sum(map(count_tokens, text.splitlines()))
