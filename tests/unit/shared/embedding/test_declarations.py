import pytest

from codequarry.shared.embedding.declarations import declared_names, summaries


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
        ("fn from(x: X)\nfun to(x)\ndef is\ndef type", ["from", "to", "is", "type"]),
        ("this function is used where a type that is", []),
        ("def self.read\nfun String.words()\nfunction page.close()", ["read", "words", "close"]),
        ("object* page = open();\nmodule *m;", []),
        ("", []),
    ],
)
def test_declared_names_are_found_in_lines(text, names):
    assert declared_names(text) == names


@pytest.mark.parametrize(
    ("text", "summary"),
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
        ("// ReadPage reads a page\n//\n// It panics.\nfunc ReadPage() {", ["ReadPage reads a page"]),
        ("#\n# Reads a page\n#\n# page - the page\ndef read(page)", ["Reads a page"]),
        ("// Reads a page\n// @param page the page\nfunction read(page) {", ["Reads a page"]),
        ("# Reads a page\n\nx = 1\n// A page\ny = 2\n#!/bin/sh\nfunction read {", []),
        ("#include <page.h>\nstruct page {\n#endif\nclass Page {\n#pragma pack(1)\nstruct other {", []),
        ('{"include": ["src/**/*.ts", "test/**/*.ts"]}', []),
        ("- src/**\n- 'lib/**'\njobs: read\nint f(/**/) { return page; }", []),
        ('query = """SELECT page"""\nread("""a page""")\nx = """a""" """b"""', []),
        ('src/pages.py\npages\n"""Reads pages."""\nimport os', ["Reads pages."]),
        ('    rest of it\n    """\n    x = 1\n\ndef read():\n    """Read a page"""\n', ["Read a page"]),
        (
            '# quotes like """ here\nx = 1\ndef read():\n    """Read a page"""\n    return \'\'\'a\'\'\'',
            ["Read a page"],
        ),
        ('x = """a\nb"""\ndef read():\n    """Read a page"""\ny = """c"""', ["Read a page"]),
        ('def f():\n    usage = """Usage:\n    """\n    x = run(usage)\n    y = """a"""\n    return r"""\nb:\n"""', []),
        ('def read(self):\r\n    """Read a page.\r\n\r\n    More."""', ["Read a page"]),
        ("/**\r\n * Reads a page\r\n *\r\n * More\r\n */", ["Reads a page"]),
        ("", []),
    ],
)
def test_summaries_are_the_first_sentences_of_comments(text, summary):
    assert summaries(text) == summary


def test_a_sentence_without_end_is_cut():
    assert len(summaries('"""' + "page " * 200)[0]) == len(summaries("// " + "page " * 200 + "\nfn f() {}")[0]) == 300


@pytest.mark.parametrize("end", ["", "x", "\n"])
@pytest.mark.parametrize(
    "part",
    [
        "a ",
        "\t",
        "\n",
        "# a\n",
        "#\n",
        "// a\n",
        "/** ",
        "/**\n",
        '"""',
        ":\n",
        '"""a ',
        ":\n '''b",
        "@a\n",
        "fn ",
        "a.",
    ],
)
def test_long_texts_without_ends_are_read_in_linear_time(part, end):
    text = part * (200_000 // len(part)) + end
    assert len(declared_names(text)) <= 1 and len(summaries(text)) <= len(text) // 300 + 1
