"""Properties of chunks of every kind of file."""

import hashlib
import pickle
from itertools import pairwise

import pytest

from codequarry.ingest.chunking.chunker import chunk_file
from codequarry.ingest.chunking.pieces import Sizes
from codequarry.ingest.chunking.source_file import PathLabels, SourceFile
from codequarry.ingest.chunking.text import count_tokens
from codequarry.ingest.chunking.version import CHUNKER_VERSION
from codequarry.shared.settings.config import ChunkingSettings

SETTINGS = Sizes.of(ChunkingSettings())


def long_function(statements: int) -> str:
    return "def long(a):\n" + "".join(f"    a = step_{index}(a, {index})\n" for index in range(statements))


def test_an_empty_file_has_no_chunk(chunked):
    assert chunked("a.py", "") == []


@pytest.mark.parametrize("text", ["\n", "\r", "\f", " ", "\n\n\n", "\ufeff", "\x00", "\u2028"])
@pytest.mark.parametrize("path", ["a.py", "a.go", "a.md", "a.txt", "a.c"])
def test_a_file_of_whitespace_is_one_chunk(chunked, path, text):
    (chunk,) = chunked(path, text)
    assert chunk.text == text


def test_the_id_is_a_hash_of_the_fields_that_determine_the_chunk(chunked):
    (chunk,) = chunked("a.txt", "word\n")
    words = ("acme/shop", "a.txt", "b10b", "0", "", CHUNKER_VERSION)
    assert chunk.id == hashlib.sha256("\0".join(words).encode()).hexdigest()[:32]
    assert chunk.content_hash == hashlib.sha256(b"word\n").hexdigest()


def test_parts_of_a_large_function_keep_its_name_and_overlap_at_statements(chunked):
    chunks = chunked("a.py", long_function(200))
    assert len(chunks) > 2
    assert [chunk.symbol_part for chunk in chunks] == [f"{index + 1}/{len(chunks)}" for index in range(len(chunks))]
    assert {chunk.qualified_name for chunk in chunks} == {"long"}
    for before, after in pairwise(chunks):
        shared = range(after.start_line, before.end_line + 1)
        assert 0 < count_tokens("\n".join(before.text.splitlines()[-len(shared) :])) <= SETTINGS.overlap
    assert [chunk.body_start_char is not None for chunk in chunks] == [True] + [False] * (len(chunks) - 1)
    assert chunks[0].defines == ("long",)
    assert all("long" not in chunk.defines for chunk in chunks[1:])


def test_a_large_function_is_cut_between_its_statements_not_inside_them(chunked):
    block = "    if a:\n" + "".join(f"        a = step_{index}(a)\n" for index in range(30))
    chunks = chunked("a.py", "def long(a):\n" + f"{block}\n" * 6)
    starts = [chunk.text.lstrip("\n").splitlines()[0] for chunk in chunks[1:]]
    assert starts == ["    if a:"] * len(starts)


def test_a_single_line_longer_than_the_maximum_stays_whole(chunked):
    line = "x = [" + "1, " * 3000 + "]\n"
    chunks = chunked("a.py", f"def f(a):\n    b = a\n    c = b\n    return c\n{line}y = 1\n")
    assert any(chunk.text == line for chunk in chunks)


def test_lines_end_with_a_line_feed_only(chunked):
    text = "a = 1\r\nb = '\x0c\u2028\x85'\r\nc = 2\r\n"
    (chunk,) = chunked("a.py", text)
    assert (chunk.start_line, chunk.end_line, chunk.text) == (1, 3, text)


def test_a_last_line_without_line_feed_is_kept(chunked):
    assert chunked("a.py", "a = 1\nb = 2")[-1].text.endswith("b = 2")


@pytest.mark.parametrize("name", ["main", "limit"])
def test_a_backslash_after_the_last_declaration_begins_no_chunk_below_the_last_row(chunked, name):
    """The grammar of C reports an empty syntax error in the row below it, which does not exist."""
    text = {"main": "int main() {\n    return 0;\n}", "limit": "int limit = 10;"}[name] + "\\\n"
    (chunk,) = chunked("a.c", text)
    assert (chunk.text, chunk.symbol_name) == (text, name)


def test_offsets_count_characters_not_bytes(chunked):
    text = "# Größe 😀\nX = '…'\n\n\ndef größe(a):\n    '''Größe 😀.'''\n    b = a\n    return b\n"
    chunk = chunked("a.py", text).named("größe")
    assert text[chunk.start_char : chunk.end_char] == chunk.text
    assert text[chunk.body_start_char :].startswith("'''Größe 😀.'''")
    assert chunk.doc == "Größe 😀."


def test_lone_surrogates_are_kept(chunked):
    text = "x = '\ud800'\ndef f(a):\n    b = a\n    c = b\n    return c\n"
    assert "".join(chunk.text for chunk in chunked("a.py", text)) == text


def test_labels_encoding_and_kind_are_copied_from_the_source(chunked):
    labels = PathLabels("billing", "invoice", ("core", "money"))
    (chunk,) = chunked("a.txt", "word\n", labels=labels, encoding="latin-1", kind_of_file="docs")
    assert (chunk.microservice, chunk.aggregate, chunk.tags) == ("billing", "invoice", ("core", "money"))
    assert (chunk.encoding, chunk.kind_of_file) == ("latin-1", "docs")


def test_source_and_chunks_can_be_sent_to_another_process():
    source = SourceFile("r", "a.py", "b", "python", long_function(3))
    chunks = chunk_file(pickle.loads(pickle.dumps(source)), SETTINGS)
    assert pickle.loads(pickle.dumps(chunks)) == chunks


def test_a_broken_file_still_has_its_intact_declarations(chunked):
    function = "func {name}(a int) int {{\n\tb := a\n\tc := b\n\treturn c\n}}\n"
    text = f"package x\n\n{function.format(name='First')}\nfunc ((( {{\n\n{function.format(name='Last')}"
    assert "First" in chunked("a.go", text).names


@pytest.mark.parametrize("nest", ["(", "[", "{", "if x:\n ", "a.", "<", "f(", "/*", "`"])
@pytest.mark.parametrize("path", ["a.py", "a.js", "a.tsx", "a.go", "a.rs", "a.java", "a.cc", "a.kt", "a.swift", "a.rb"])
def test_deep_nesting_is_not_an_error(chunked, path, nest):
    text = f"x = 1\n{nest * 2000}\n"
    chunks = chunked(path, text)
    assert (chunks[0].start_line, chunks[-1].end_line) == (1, text.count("\n"))


def test_the_smallest_sizes_are_respected(chunked):
    smallest = Sizes(40, 40, 20)
    chunks = chunked("a.py", long_function(50), smallest)
    assert all(count_tokens(chunk.text) <= 40 for chunk in chunks)
    assert chunks[-1].end_line == 51


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
        ("a.nim", "file"),
        ("unknown.xyz", "documentation"),
    ],
)
def test_a_small_file_is_one_chunk_of_its_languages_type(chunked, path, symbol_type):
    (chunk,) = chunked(path, "a: 1\n")
    assert (chunk.symbol_type, chunk.symbol_name) == (symbol_type, None)


def test_a_large_file_without_a_grammar_is_cut_into_blocks(chunked):
    chunks = chunked("a.nim", "local x = 1\n" * 100, SMALL)
    assert {chunk.symbol_type for chunk in chunks} == {"block"}


def test_chunks_end_at_blank_lines(chunked):
    paragraph = "Nine words stand in this line of the text.\n" * 3
    chunks = chunked("a.txt", f"{paragraph}\n" * 6, SMALL)
    assert len(chunks) > 1
    assert all(chunk.text.startswith("Nine") and chunk.text.endswith("\n\n") for chunk in chunks)


def test_chunks_start_at_top_level_keys(chunked):
    service = "{name}:\n  image: acme\n  ports:\n    - 80\n    - 443\n  command: run it\n"
    text = "".join(service.format(name=f"service{index}") for index in range(12))
    chunks = chunked("compose.yml", text, SMALL)
    assert len(chunks) > 1
    assert all(chunk.text.startswith("service") for chunk in chunks)


def test_a_closing_bracket_stays_with_its_block(chunked):
    block = "{\n  a = 1\n  b = 2\n  c = 3\n  d = 4\n}\n"
    chunks = chunked("a.hcl", block * 10, SMALL)
    assert all(chunk.text.endswith("}\n") for chunk in chunks)


def test_no_line_is_in_two_chunks(chunked):
    chunks = chunked("a.txt", "word\n" * 500, SMALL)
    assert [chunk.start_line for chunk in chunks[1:]] == [chunk.end_line + 1 for chunk in chunks[:-1]]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.js", "class A {\n  f() {\n    const A = this;\n    A.g();\n    this.h();\n  }\n}\n"),
        ("a.py", "class A:\n    def f(self):\n        A = self\n        A.g()\n        self.h()\n"),
    ],
)
def test_a_local_that_has_the_name_of_its_type_ends_the_search_for_its_meaning(chunked, path, source):
    """The type of ``A`` is that of ``this``, whose name is ``A``."""
    assert "A" in {name for chunk in chunked(path, source) for name in chunk.defines}
