"""Links between documents, and from documents to files that they name."""

import pytest

from codequarry.ingest.chunking.links import MAX_LINKS, links_in


@pytest.mark.parametrize(
    ("language", "text", "module", "names"),
    [
        ("markdown", "see [a](guide.md)", "docs/guide.md|guide.md", ("guide.md",)),
        ("markdown", 'see [a](../x/y%20z.md#part-2 "title")', "x/y z.md", ("#part-2", "y z.md")),
        ("markdown", "see [a](/top.md)", "top.md", ("top.md",)),
        ("markdown", "[a]: <./guide.md> 'title'", "docs/guide.md|guide.md", ("guide.md",)),
        ("markdown", '<img src="a.png">', "docs/a.png|a.png", ("a.png",)),
        ("markdown", "the file `app.py`", "docs/app.py|app.py", ("app.py",)),
        ("markdown", "the file src/shop/app.py.", "docs/src/shop/app.py|src/shop/app.py", ("app.py",)),
        ("html", "<a class=x href='b.html?q=1'>", "docs/b.html|b.html", ("b.html",)),
        ("restructuredtext", ":doc:`intro`", "docs/intro|intro|docs/intro.rst|intro.rst", ("intro",)),
        ("restructuredtext", "`text <a/b.rst>`_", "docs/a/b.rst|a/b.rst|docs/a/b.rst.rst|a/b.rst.rst", ("b.rst",)),
        ("restructuredtext", ".. literalinclude:: x.py", "docs/x.py|x.py|docs/x.py.rst|x.py.rst", ("x.py",)),
        ("asciidoc", "xref:other.adoc#there[text]", "docs/other.adoc|other.adoc|docs/other.adoc.adoc|other.adoc.adoc",
         ("#there", "other.adoc")),
        ("tex", r"\input{chapters/one}", "docs/chapters/one|chapters/one|docs/chapters/one.tex|chapters/one.tex",
         ("one",)),
    ],
)  # fmt: skip
def test_a_link_names_the_paths_that_may_be_meant(language, text, module, names):
    (link,) = links_in(text, language, "docs/index.md", 1)
    assert (link.kind, link.target.module, link.target.names) == ("link", module, names)


@pytest.mark.parametrize(
    "text",
    [
        "[a](https://example.org/x.md)",
        "[a](mailto:me@example.org)",
        "[a](#below)",
        "[a](../../outside.md)",
        "v1.2.3 and e.g. this",
        "the method `Store.load`",
        "//example.org/a/b.js",
    ],
)
def test_what_leads_elsewhere_is_no_link(text):
    assert links_in(text, "markdown", "docs/index.md", 1) == []


def test_lines_count_from_the_first_line_of_the_part():
    links = links_in("one\n[a](b.md)\n\n[c](d.md)", "markdown", "x.md", 10)
    assert [link.line for link in links] == [11, 13]


def test_a_list_of_thousands_is_cut():
    text = "".join(f"[a](page{number}.md)\n" for number in range(2 * MAX_LINKS))
    assert len(links_in(text, "markdown", "x.md", 1)) == MAX_LINKS
