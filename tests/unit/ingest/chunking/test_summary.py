from typing import Any

import pytest

from codequarry.ingest.chunking.chunker import chunk_file
from codequarry.ingest.chunking.lexical import embedded_text, lexical_tokens
from codequarry.ingest.chunking.pieces import Sizes
from codequarry.ingest.chunking.source_file import SourceFile
from codequarry.ingest.chunking.summary import file_summary
from codequarry.ingest.chunking.text import count_tokens
from codequarry.shared.model import Chunk

SIZES = Sizes(target=80, maximum=160, overlap=10)
COOKIES = '''"""Reads and writes cookies.

Licensed under the terms of nothing.
"""

import re


def parse_cookie(header):
    """Parse a Cookie header. Later cookies win."""
    found = {}
    for part in header.split(";"):
        name, _, value = part.partition("=")
        found[name.strip()] = value.strip()
    return found


class Jar:
    """Keeps cookies between requests."""

    def __init__(self):
        """Start empty."""
        self.cookies = {}
        self.domains = {}
        self.created = None
        self.changed = None

    def store(self, response):
        """Store the cookies of a response, unless they have expired."""
        for cookie in response.cookies:
            if not cookie.expired and cookie.domain in self.domains:
                self.cookies[cookie.name] = cookie
'''


def read(text: str, path: str = "web/cookies.py", language: str = "python", **fields: Any) -> SourceFile:
    return SourceFile("quarry", path, "b" * 40, language, text, **fields)


def summarise(source: SourceFile, sizes: Sizes = SIZES) -> Chunk | None:
    return file_summary(source, chunk_file(source, sizes), sizes)


def test_a_summary_names_the_path_the_file_comment_and_the_declarations_with_their_first_sentences() -> None:
    found = summarise(read(COOKIES), Sizes(target=90, maximum=160, overlap=10))
    assert found
    lines = found.text.splitlines()
    assert lines[:3] == ["web/cookies.py", "package web.cookies", "Reads and writes cookies."]
    assert "function parse_cookie: Parse a Cookie header." in lines
    assert "class Jar: Keeps cookies between requests." in lines
    assert any(line.startswith("method ") and "store" in line for line in lines)
    assert "Licensed" not in found.text


def test_a_summary_spans_its_file_and_is_its_last_chunk() -> None:
    source = read(COOKIES, kind_of_file="test", encoding="latin-1")
    chunks = chunk_file(source, SIZES)
    found = file_summary(source, chunks, SIZES)
    assert found
    assert (found.start_line, found.end_line) == (1, chunks[-1].end_line)
    assert (found.start_char, found.end_char) == (0, len(COOKIES))
    assert found.ordinal == len(chunks)
    assert found.id not in {chunk.id for chunk in chunks}
    assert (found.symbol_type, found.symbol_kind) == ("file", "summary")
    assert (found.kind_of_file, found.encoding) == ("test", "latin-1")
    assert found.derived and found.is_summary
    assert not any(chunk.derived for chunk in chunks)


def test_a_summary_declares_nothing_so_that_a_name_finds_its_definition() -> None:
    found = summarise(read(COOKIES))
    assert found
    assert (found.symbol_name, found.qualified_name, found.defines, found.calls) == (None, None, (), ())
    assert lexical_tokens(found).symbol == ""
    assert "parse" in lexical_tokens(found).body.split()


def test_the_embedded_text_of_a_summary_is_its_text_which_begins_with_the_path() -> None:
    found = summarise(read(COOKIES))
    assert found
    assert embedded_text(found) == found.text.rstrip()
    assert embedded_text(found).startswith("web/cookies.py\n")


@pytest.mark.parametrize(
    ("text", "path", "language"),
    [
        ("", "a.py", "python"),
        ("def one():\n    return 1\n", "a.py", "python"),
        ("# One\n\n" + "Words. " * 200 + "\n\n# Two\n\n" + "Words. " * 200, "a.md", "markdown"),
        ("a: 1\n" * 400, "a.yaml", "yaml"),
        ("word word word\n" * 400, "a.txt", "text"),
    ],
)
def test_only_code_of_several_chunks_with_declarations_has_a_summary(text: str, path: str, language: str) -> None:
    assert summarise(read(text, path, language)) is None


@pytest.mark.parametrize("functions", [5, 40, 400])
def test_a_summary_is_never_larger_than_the_target_size(functions: int) -> None:
    text = "".join(
        f'def function_{number}(argument):\n    """Do the work of number {number}."""\n    return {number}\n\n\n'
        for number in range(functions)
    )
    found = summarise(read(text))
    assert found
    assert count_tokens(found.text) <= SIZES.target
    assert "function_0" in found.text


def test_the_path_is_shown_however_long_it_is() -> None:
    path = "folder/" * 100 + "cookies.py"
    found = summarise(read(COOKIES, path))
    assert found
    assert found.text == path + "\n"
