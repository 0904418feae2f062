import pytest

from codequarry.shared.embedding.declared import declared_names, summaries


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("def read_page(self):\n    return 1", ["read_page"]),
        ("    async def read(self):", ["read"]),
        ("class Reader(Base):\n    def read(self): ...\n    def close(self): ...", ["Reader", "read", "close"]),
        ("func (r *Reader) ReadPage(p []byte) error {", ["ReadPage"]),
        ("pub(crate) unsafe fn read_page<T>(page: T) {", ["read_page"]),
        ("export default async function readPage(page) {", ["readPage"]),
        ("public abstract class Reader<T> {", ["Reader"]),
        ("private suspend fun readPage(page: Int)", ["readPage"]),
        ("type Page struct {", ["Page"]),
        ("struct page {", ["page"]),
        ("def read(a):\n    pass\n\ndef read(b):\n    pass", ["read"]),
        ("return define(x)  # a function that reads", []),
        ("the functional part of it\nclassic", []),
        ("function* readPages() {\nasync function *writePages() {", ["readPages", "writePages"]),
        ("func größe() {", ["größe"]),
        ("enum class Colour {", ["Colour"]),
        ("for module in modules:\ntype of the object\nexport default class extends Base {", []),
        ("", []),
    ],
)
def test_the_names_that_lines_declare(text, names):
    assert declared_names(text) == names


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('def read(self):\n    """Read a page. Close it."""', ["Read a page"]),
        (
            "async def read(self):  # slow\n\n    r'''Read a page\n    of a book\n\n    more'''",
            ["Read a page\n    of a book"],
        ),
        (
            'class Page:\n    """\n    A page\n    :param x: more\n    """\n    def read():\n        """Read it"""',
            ["A page", "Read it"],
        ),
        ('"""Reads pages."""\nimport os', ["Reads pages."]),
        ("/**\n * Reads a page.\n * Closes it.\n */\npublic void read() {", ["Reads a page"]),
        ("/** Reads a page\n * @param page more */\nvoid read()", ["Reads a page"]),
        ("// ReadPage reads\n// a page. It closes it.\nfunc ReadPage() {", ["ReadPage reads\n// a page"]),
        ("/// Reads a page\n#[inline]\npub fn read() {", ["Reads a page"]),
        ("# Reads a page\ndef read", ["Reads a page"]),
        ("# Reads a page\n\nx = 1\n// A page\ny = 2\n#!/bin/sh\nfunction read {", []),
        ('query = """SELECT page"""\nread("""a page""")', []),
        ("", []),
    ],
)
def test_the_first_sentence_of_what_is_said_of_code(text, said):
    assert summaries(text) == said


def test_a_sentence_without_end_is_cut():
    assert len(summaries('"""' + "page " * 200)[0]) == len(summaries("// " + "page " * 200 + "\nfn f() {}")[0]) == 300


@pytest.mark.parametrize(
    "part", ["a ", "\t", "\n", "# a\n", "// a\n", "/** ", '"""', ":\n", '"""a ', ":\n '''b", "@a\n", "fn "]
)
def test_a_long_text_without_end_is_read_in_no_time(part):
    text = part * (200_000 // len(part))
    assert declared_names(text) == [] and len(summaries(text)) <= len(text) // 300 + 1
