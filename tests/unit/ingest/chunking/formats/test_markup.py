"""HTML, XML and SVG."""

from codequarry.ingest.chunking.pieces import Sizes

SMALL = Sizes(40, 80, 10)


def defined(chunks):
    return list(dict.fromkeys(name for chunk in chunks for name in chunk.defines))


def test_headings_and_ids_of_html_are_defined(sample):
    assert defined(sample("billing.html")) == [
        "Billing", "fees", "How much everybody pays", "how-much", "Refunds", "none",
    ]  # fmt: skip


def test_names_and_ids_of_xml_are_defined_with_those_around_them(sample):
    assert defined(sample("invoice.xml")) == [
        "invoice", "total", "invoice.total", "customer", "invoice.customer", "fee", "amount", "fee.amount",
        "java.version",
    ]  # fmt: skip


def test_ids_of_svg_are_defined(sample):
    assert defined(sample("invoice.svg")) == ["coin"]


def test_a_large_element_is_opened_and_its_children_are_named(chunked):
    bean = (
        '  <bean id="bean{0}" class="Bean">\n    <property name="a" value="b"/>\n    <property name="c"/>\n  </bean>\n'
    )
    text = "<beans>\n" + "".join(bean.format(n) for n in range(4)) + "</beans>\n"
    chunks = chunked("a.xml", text, Sizes(60, 120, 0))
    assert chunks.names == ["bean0", "bean1", "bean2", "bean3"]
    assert (chunks[1].symbol_type, chunks[1].symbol_kind, chunks[1].context) == ("block", "bean", "beans")
    assert chunks[-1].text.endswith("</beans>\n")


def test_a_heading_of_html_begins_a_chunk_with_its_name(chunked):
    section = "<h2>Part {0}</h2>\n<p>Words about it, which are many.</p>\n<p>And some more of them.</p>\n"
    chunks = chunked("a.html", "".join(section.format(n) for n in range(4)), SMALL)
    assert chunks.names == ["Part 0", "Part 1", "Part 2", "Part 3"]
    assert all(chunk.text.startswith("<h2>") for chunk in chunks)


def test_an_element_left_open_does_not_hold_the_rest(chunked):
    items = "".join(f"<li>Item {n} of a list that nobody closes, as in old pages\n" for n in range(30))
    chunks = chunked("a.html", f"<ul>\n{items}</ul>\n", SMALL)
    assert {chunk.context for chunk in chunks[1:]} == {"ul"}


def test_a_closing_tag_that_none_opened_closes_nothing(chunked):
    (chunk,) = chunked("a.xml", '<a id="x">\n</b>\n<c id="y"/>\n</a>\n')
    assert chunk.defines == ("x", "y", "x.y")
