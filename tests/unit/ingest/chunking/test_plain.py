"""Text that no grammar reads."""

import pytest

from codequarry.ingest.chunking.packing import Sizes

SMALL = Sizes(40, 80, 10)


@pytest.mark.parametrize(
    ("path", "symbol_type"),
    [
        ("a.yml", "config"),
        ("a.toml", "config"),
        ("a.ini", "config"),
        ("a.json", "config"),
        ("a.properties", "config"),
        ("a.rst", "documentation"),
        ("a.txt", "documentation"),
        ("a.sql", "file"),
        ("a.lua", "file"),
        ("unknown.xyz", "documentation"),
    ],
)
def test_a_small_file_is_one_chunk_of_its_languages_type(chunked, path, symbol_type):
    (chunk,) = chunked(path, "a: 1\n")
    assert (chunk.symbol_type, chunk.symbol_name) == (symbol_type, None)


def test_a_large_file_without_a_grammar_is_blocks(chunked):
    chunks = chunked("a.lua", "local x = 1\n" * 100, SMALL)
    assert {chunk.symbol_type for chunk in chunks} == {"block"}


def test_blank_lines_are_borders(chunked):
    paragraph = "Nine words stand in this line of the text.\n" * 3
    chunks = chunked("a.txt", f"{paragraph}\n" * 6, SMALL)
    assert len(chunks) > 1
    assert all(chunk.text.startswith("Nine") and chunk.text.endswith("\n\n") for chunk in chunks)


def test_top_level_keys_are_borders(chunked):
    service = "{name}:\n  image: acme\n  ports:\n    - 80\n    - 443\n  command: run it\n"
    text = "".join(service.format(name=f"service{index}") for index in range(12))
    chunks = chunked("compose.yml", text, SMALL)
    assert len(chunks) > 1
    assert all(chunk.text.startswith("service") for chunk in chunks)


def test_a_closing_bracket_stays_with_what_it_closes(chunked):
    block = "{\n  a = 1\n  b = 2\n  c = 3\n  d = 4\n}\n"
    chunks = chunked("a.hcl", block * 10, SMALL)
    assert all(chunk.text.endswith("}\n") for chunk in chunks)


def test_no_line_is_in_two_chunks(chunked):
    chunks = chunked("a.txt", "word\n" * 500, SMALL)
    assert [chunk.start_line for chunk in chunks[1:]] == [chunk.end_line + 1 for chunk in chunks[:-1]]
