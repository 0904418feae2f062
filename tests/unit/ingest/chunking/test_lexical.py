"""Lexical fields and embedded text."""

from codequarry.ingest.chunking.lexical import embedded_text, lexical_tokens


def test_each_field_has_its_own_tokens(sample):
    tokens = lexical_tokens(sample("invoice.ts").named("applyFee"))
    assert tokens.symbol == "apply fee applyfee"
    assert tokens.signature.startswith("export const apply fee applyfee total money")
    assert tokens.path == "src billing invoice ts"
    assert "factor" in tokens.body.split()


def test_the_symbol_field_contains_every_defined_name_once(chunked):
    text = 'class Box:\n    """Holds."""\n\n    def put(self, what):\n        self.what = what\n        return self\n'
    tokens = lexical_tokens(chunked("box.py", text).named("Box"))
    assert tokens.symbol == "box put"


def test_the_symbol_field_contains_the_qualified_name(sample):
    assert lexical_tokens(sample("invoice.py").named("Invoice.pay")).symbol.split() == ["invoice", "pay", "pay"]


def test_the_symbol_field_contains_dotted_keys_only_by_their_last_part(chunked):
    (chunk,) = chunked("a.yml", "server:\n  port: 1\n  host: a\n")
    assert chunk.defines == ("server", "port", "server.port", "host", "server.host")
    assert lexical_tokens(chunk).symbol == "server port host"


def test_the_doc_field_contains_the_documentation(sample):
    tokens = lexical_tokens(sample("invoice.py").named("settle"))
    assert tokens.doc.startswith("pay all open invoices")


def test_the_embedded_text_begins_with_path_and_context(sample):
    chunk = sample("invoice.py").named("Invoice.pay")
    lines = embedded_text(chunk).splitlines()
    assert lines[:2] == ["src/billing/invoice.py", "class Invoice(Document)"]
    assert "Invoice.pay" in lines[:5]
    assert embedded_text(chunk).endswith(chunk.text.rstrip())


def test_names_and_signature_come_before_the_text(sample):
    chunk = sample("invoice.ts").named("applyFee")
    expected = ["applyFee", "export const applyFee = (total: Money): Money", "apply fee"]
    head = embedded_text(chunk).removesuffix(chunk.text.rstrip()).splitlines()
    assert head[-3:] == expected


def test_the_embedded_text_names_no_repository_blob_or_line(chunked):
    function = "def f(a):\n    b = a\n    c = b\n    return c\n"
    first = chunked("a.py", f"X = 1\n\n\n{function}").named("f")
    moved = chunked("a.py", f"X = 1\nY = 2\nZ = 3\n\n\n{function}").named("f")
    assert embedded_text(first) == embedded_text(moved)
    assert "acme/shop" not in embedded_text(first)
    assert "b10b" not in embedded_text(first)


def test_documentation_that_the_text_begins_with_is_not_repeated(sample):
    chunk = sample("invoice.go").named("Invoice.Pay")
    assert embedded_text(chunk).count("Pay pays the invoice") == 1


def test_a_later_part_of_a_long_function_is_embedded_with_its_documentation(chunked):
    body = "".join(f"    a = step_{index}(a, {index})\n" for index in range(200))
    chunks = chunked("a.py", f'def long(a):\n    """Take all steps."""\n{body}')
    assert "Take all steps." in embedded_text(chunks[-1])
