"""Java, Kotlin and Scala files."""


def test_java_members_have_exact_names(sample):
    assert sample("Invoice.java").names == [
        "Invoice", "Invoice.Invoice", "Invoice.pay", "Invoice.applyFee", "Invoice.State", "Payable",
    ]  # fmt: skip


def test_a_java_method_has_annotations_doc_package_and_facts(sample):
    pay = sample("Invoice.java").named("Invoice.pay")
    assert pay.signature == "public boolean pay(String card) throws PaymentException"
    assert pay.doc == "Pays it at most once."
    assert "@Override" in pay.text
    assert pay.package == "com.acme.billing"
    assert pay.context.startswith("package com.acme.billing\npublic final class Invoice<T extends Money>")
    assert pay.calls == ("charge", "applyFee", "isFatal", "PaymentException")
    assert (pay.complexity_score, pay.exported) == (5, True)


def test_java_imports_bind_names_and_organisations_are_dependencies(sample):
    first = sample("Invoice.java")[0]
    assert first.imports == ("com.acme.Money.zero", "com.acme.gateway.Gateway", "java.util.*")
    assert first.dependencies == ("com.acme", "java")


def test_a_licence_is_not_documentation(sample):
    assert sample("Invoice.java")[0].doc == ""


def test_consecutive_java_fields_share_a_chunk(sample):
    (fields,) = sample("Invoice.java").defining("FEE")
    assert fields.defines == ("FEE", "gateway", "total", "tax")


def test_java_visibility_is_unknown_without_a_modifier(sample):
    chunks = sample("Invoice.java")
    assert chunks.named("Invoice.applyFee").exported is False
    assert chunks.named("Payable").exported is None


def test_kotlin_members_have_exact_names(sample):
    names = sample("Invoice.kt").names
    assert names == ["Invoice", "Invoice.pay", "Invoice.Companion", "State", "Cash.slug"]


def test_a_kotlin_method_has_doc_and_facts(sample):
    pay = sample("Invoice.kt").named("Invoice.pay")
    assert pay.signature == "override suspend fun pay(card: String): Boolean"
    assert pay.doc == "Pays it at most once."
    assert {"charge", "applyFee"} <= set(pay.calls)
    assert (pay.complexity_score, pay.exported) == (4, True)


def test_the_comment_below_the_last_kotlin_import_belongs_to_what_follows(sample):
    chunks = sample("Invoice.kt")
    (constant,) = chunks.defining("FEE")
    assert constant.text.startswith("/** Added to each payment. */\nconst val FEE")
    assert chunks[0].imports == ("com.acme.gateway.Gateway", "com.acme.money.Money")


def test_a_kotlin_class_names_its_properties(sample):
    invoice = sample("Invoice.kt").named("Invoice")
    assert invoice.defines == ("Invoice", "total", "gateway", "state")
    assert {"Document", "Payable", "Cash"} <= set(invoice.references)


def test_kotlin_internal_is_not_exported(sample):
    assert sample("Invoice.kt").named("Cash.slug").exported is False


def test_scala_members_have_exact_names_and_both_package_clauses_count(sample):
    chunks = sample("Invoice.scala")
    assert chunks.names == ["Invoice", "Invoice.pay", "Invoice.isOpen", "Invoice", "Payable"]
    assert {chunk.package for chunk in chunks} == {"com.acme.billing"}


def test_a_scala_method_has_doc_and_facts(sample):
    pay = sample("Invoice.scala").named("Invoice.pay")
    assert pay.signature == "override def pay(card: String)(implicit ctx: Context): Boolean"
    assert pay.doc == "Pays it at most once."
    assert pay.calls == ("charge", "applyFee", "PaymentException")
    assert pay.complexity_score == 3


def test_scala_imports_are_read_with_groups_and_renames(sample):
    first = sample("Invoice.scala")[0]
    assert first.imports == ("com.acme.gateway.Gateway", "scala.collection")
    assert {"im", "mutable", "Gateway"} <= set(first.references)
