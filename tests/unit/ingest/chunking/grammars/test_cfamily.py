"""C and C++ files."""


def test_c_declarations_have_exact_names(sample):
    assert sample("invoice.c").names == ["invoice_t", "state", "apply_fee", "pay"]


def test_the_first_chunk_of_a_c_file_has_its_comment_and_includes(sample):
    first = sample("invoice.c")[0]
    assert first.doc == "Invoices and their payment."
    assert first.imports == ("stdio.h", "billing/gateway.h")
    assert first.dependencies == ("billing",)


def test_a_typedef_of_a_struct_has_the_new_name_and_defines_both(sample):
    invoice = sample("invoice.c").named("invoice_t")
    assert (invoice.symbol_type, invoice.symbol_kind) == ("class", "struct")
    assert invoice.defines == ("invoice", "total", "gateway", "state", "invoice_t")


def test_macros_are_constants(sample):
    (macros,) = sample("invoice.c").defining("MAX")
    assert macros.defines == ("FEE", "MAX")


def test_a_prototype_does_not_take_the_name_of_the_function(sample):
    chunks = sample("invoice.c")
    pay = chunks.named("pay")
    assert pay.signature == "int pay(invoice_t *invoice, const char *card)"
    assert pay.doc == "Pays it at most once."
    assert pay.calls == ("charge", "apply_fee", "fprintf")
    assert pay.complexity_score == 4
    assert len(chunks.defining("pay")) == 2


def test_static_functions_are_not_exported(sample):
    chunks = sample("invoice.c")
    assert (chunks.named("apply_fee").exported, chunks.named("pay").exported) == (False, None)


def test_a_cpp_header_is_read_as_cpp_despite_an_export_macro(sample):
    chunks = sample("invoice.h")
    assert chunks.names == ["acme.billing.Invoice", "acme.billing.Invoice.Pay"]
    invoice = chunks.named("acme.billing.Invoice")
    assert invoice.signature == "class ACME_EXPORT Invoice : public Document"
    assert invoice.language == "c"


def test_an_include_guard_is_part_of_the_prologue(sample):
    first = sample("invoice.h")[0]
    assert first.symbol_type == "file"
    assert first.text.startswith("#ifndef ACME_INVOICE_H\n")
    assert first.imports == ("string", "billing/gateway.h")
    assert first.defines == ()


def test_a_cpp_method_in_its_class_has_context_doc_and_facts(sample):
    pay = sample("invoice.h").named("acme.billing.Invoice.Pay")
    assert pay.context.splitlines()[:3] == [
        "namespace acme", "namespace billing", "class ACME_EXPORT Invoice : public Document",
    ]  # fmt: skip
    assert pay.doc == "Pays it at most once."
    assert pay.calls == ("Charge", "ApplyFee")
    assert pay.complexity_score == 4


def test_cpp_definitions_outside_their_class_have_its_name(sample):
    assert sample("invoice.cc").names == [
        "acme.billing.kFee", "acme.billing.Largest", "acme.billing.Settle", "Invoice.operator==", "Invoice.~Invoice",
    ]  # fmt: skip


def test_a_template_prefix_belongs_to_its_declaration(sample):
    largest = sample("invoice.cc").named("acme.billing.Largest")
    assert largest.text.startswith("template <typename T>\nT Largest(")
    assert largest.symbol_type == "function"


def test_cpp_calls_are_named_by_their_last_part(sample):
    chunks = sample("invoice.cc")
    assert chunks.named("acme.billing.Settle").calls == ("Pay", "max")
    assert chunks.named("Invoice.~Invoice").calls == ("make_unique", "Close")


def test_both_branches_of_a_conditional_are_chunks(chunked):
    body = "{\n  int a = 1;\n  int b = 2;\n  return a + b;\n}\n"
    text = f"#if defined(FAST)\nint sum(void)\n{body}#else\nint slow_sum(void)\n{body}#endif\n"
    assert chunked("x.c", text).names == ["sum", "slow_sum"]
