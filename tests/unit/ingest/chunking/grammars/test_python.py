"""Python files."""

import ast

import pytest

from codequarry.ingest.chunking.pieces import Sizes


def test_functions_methods_and_classes_are_chunks_with_exact_names(sample):
    names = sample("invoice.py").names
    assert names == [
        "Document", "Invoice", "Invoice.__init__", "Invoice.is_open", "Invoice.pay", "settle", "apply_fee",
    ]  # fmt: skip


def test_the_first_chunk_contains_docstring_and_imports(sample):
    first = sample("invoice.py")[0]
    assert (first.symbol_type, first.symbol_kind, first.start_line) == ("file", "prologue", 1)
    assert first.doc == "Invoices and their payment."
    assert first.imports == ("decimal", "collections.abc", "acme.gateway", ".errors")
    assert first.dependencies == ("decimal", "collections", "acme")


def test_module_level_constants_are_a_chunk_that_names_them(sample):
    (constants,) = sample("invoice.py").defining("FEE")
    assert constants.symbol_type == "block"
    assert constants.defines == ("FEE", "_RETRIES")
    assert constants.exports == ("FEE",)


def test_a_method_has_class_comment_doc_and_facts(sample):
    pay = sample("invoice.py").named("Invoice.pay")
    assert (pay.symbol_type, pay.symbol_kind, pay.symbol_name) == ("method", "method", "pay")
    assert pay.signature == "def pay( self, card: str, *, retries: int = _RETRIES, ) -> bool"
    assert pay.text.startswith("    # Comments right above belong to the method.\n    def pay(")
    assert pay.doc == "Comments right above belong to the method."
    assert pay.context.splitlines()[0] == "class Invoice(Document)"
    assert pay.calls == ("range", "charge_card", "apply_fee")
    assert pay.imports == ("acme.gateway", ".errors")
    assert {"PaymentFailed", "charge_card", "apply_fee"} <= set(pay.references)
    assert "range" not in pay.references
    assert pay.complexity_score == 5
    assert pay.exported is True


def test_the_body_begins_after_the_signature_with_its_first_comment(sample):
    chunks = sample("invoice.py")
    pay = chunks.named("Invoice.pay")
    body = pay.text[pay.body_start_char - pay.start_char :]
    assert body.startswith("# The gateway answers at most once.")


def test_a_class_header_contains_docstring_and_fields(sample):
    invoice = sample("invoice.py").named("Invoice")
    assert invoice.signature == "class Invoice(Document)"
    assert invoice.doc == "An invoice of one customer.\n\nIt is paid once."
    assert invoice.defines == ("Invoice", "currency")
    assert invoice.references == ("Document",)


def test_decorators_belong_to_the_declaration(sample):
    assert sample("invoice.py").named("Invoice.is_open").text.startswith("    @property\n")


def test_an_import_inside_a_function_belongs_only_to_it(sample):
    chunks = sample("invoice.py")
    assert "math" in chunks.named("apply_fee").imports
    assert all("math" not in chunk.imports for chunk in chunks if chunk.qualified_name != "apply_fee")


def test_the_package_is_the_dotted_module(chunked):
    assert chunked("src/billing/invoice.py", "X = 1\n")[0].package == "billing.invoice"
    assert chunked("billing/__init__.py", "X = 1\n")[0].package == "billing"
    assert chunked("setup.py", "X = 1\n")[0].package == "setup"


def test_a_small_class_is_one_chunk_that_defines_its_methods(chunked):
    text = 'class Box:\n    """Holds."""\n\n    def put(self, what):\n        self.what = what\n        return self\n'
    (box,) = chunked("box.py", text)
    assert (box.qualified_name, box.defines) == ("Box", ("Box", "put"))


def test_one_liners_share_a_chunk(chunked):
    text = "\n\n".join(f"def f{index}(x):\n    return x + {index}\n" for index in range(6))
    (group,) = chunked("small.py", text)
    assert group.symbol_name is None
    assert group.defines == tuple(f"f{index}" for index in range(6))


def test_a_large_constant_has_its_own_chunk(chunked):
    table = "TABLE = {\n" + "".join(f"    'key{index}': {index},\n" for index in range(30)) + "}\n"
    chunks = chunked("tables.py", f"A = 1\nB = 2\n{table}C = 3\n")
    assert chunks.named("TABLE").text.endswith("}\n")


def test_private_names_are_not_exported(chunked):
    chunks = chunked("x.py", "def _hidden(a):\n    b = a\n    c = b\n    return c\n")
    assert chunks.named("_hidden").exported is False


@pytest.mark.parametrize(
    "written",
    [
        '"caf\\u00e9"',
        r'"a\tb\\n \'q\' \"q\" \x41\101\0 \N{BULLET} \U0001F600"',
        '"one \\\n  line"',
        '"""ends in a path C:\\\\dir"""',
        'u"caf\\u00e9"',
    ],
)
def test_escapes_in_a_docstring_are_resolved_as_in_python(chunked, written):
    found = chunked("a.py", f"def f(a):\n    {written}\n    b = a\n    return b\n").named("f")
    assert found.doc == ast.literal_eval(written)


@pytest.mark.parametrize(
    "written", [r'"\N{no such sign}\n"', r'"\x4\n"', r'"\U99999999\n"', r'"\UFFFFFFFF\n"', r'r"\n"', r'b"\n"', r'f"\n"']
)
def test_a_docstring_with_invalid_or_no_escapes_is_kept_as_written(chunked, written):
    found = chunked("b.py", f"def f(a):\n    {written}\n    b = a\n    return b\n").named("f")
    assert found.doc == written.lstrip("rbf").strip('"')


def test_imports_of_a_chunk_are_in_the_order_of_their_use(chunked):
    names = [f"{stem}{end}" for stem in ("Code", "Name", "Page") for end in ("Gen", "", "r")]
    lines = "".join(f"    {name.lower()} = {name}(pages, first=1, last=2, every=3)\n" for name in names)
    used = "\n\n".join(f"def {name}(pages):\n{lines}    return pages\n" for name in ("read", "write"))
    chunks = chunked(
        "a.py",
        f"from .codes import {', '.join(sorted(names))}\n\n\n{used}",
        Sizes(60, 400, 20),
    )
    assert chunks.named("write").context == f"uses {', '.join(names)} from .codes"
