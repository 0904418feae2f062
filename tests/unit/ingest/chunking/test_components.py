"""Components of Vue and Svelte."""


def test_script_style_and_template_are_cut_by_their_languages(sample):
    chunks = sample("InvoiceList.vue")
    assert [(chunk.start_line, chunk.symbol_kind, chunk.symbol_name) for chunk in chunks] == [
        (1, "template", None), (8, "function", "pay"), (19, "rule", ".x"),
    ]  # fmt: skip
    assert {chunk.language for chunk in chunks} == {"vue"}


def test_a_function_of_a_script_has_true_places(sample):
    chunks = sample("InvoiceList.vue")
    pay = chunks.named("pay")
    whole = "".join(chunk.text for chunk in chunks)
    assert whole[pay.start_char : pay.end_char] == pay.text
    assert whole[pay.body_start_char :].startswith("{\n  if (x)")
    assert (pay.signature, pay.doc, pay.exported) == (
        "export function pay(x: number): number", "Pays it.", True,
    )  # fmt: skip
    assert pay.imports == ("./InvoiceRow.vue",)


def test_a_template_refers_to_the_components_that_it_uses(sample):
    assert sample("InvoiceList.vue")[0].references == ("InvoiceRow", "my-button")
    template = next(chunk for chunk in sample("InvoiceList.svelte") if chunk.symbol_kind == "template")
    assert template.references == ("InvoiceRow",)


def test_a_script_without_lang_is_javascript(sample):
    assert sample("InvoiceList.svelte").named("payAll").signature == "function payAll(card)"


def test_a_script_that_never_ends_is_markup(chunked):
    text = "<script>\nfunction f() {\n"
    (chunk,) = chunked("a.vue", text)
    assert (chunk.text, chunk.symbol_name) == (text, None)


def test_a_script_in_a_comment_is_not_read(chunked):
    chunks = chunked("a.vue", "<!--\n<script>\nfunction f() {}\n</script>\n-->\n<p>x</p>\n")
    assert not any(chunk.defines for chunk in chunks)


def test_sections_on_one_row_stay_together(chunked):
    text = "<script>let a = 1</script><style>.a{}</style>\n<p>x</p>\n"
    assert "".join(chunk.text for chunk in chunked("a.svelte", text)) == text


def test_a_style_sheet_in_an_unread_language_is_cut_by_lines(chunked):
    chunks = chunked("a.vue", '<style lang="stylus">\n.a\n  color red\n</style>\n')
    assert [chunk.defines for chunk in chunks] == [()]
