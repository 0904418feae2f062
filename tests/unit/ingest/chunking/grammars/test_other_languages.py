"""C#, Ruby, PHP, Swift and Bash files."""


def test_csharp_members_have_exact_names(sample):
    assert sample("Invoice.cs").names == [
        "Invoice", "Invoice.Invoice", "Invoice.PayAsync", "Invoice.ApplyFee", "IPayable", "State",
    ]  # fmt: skip


def test_a_csharp_method_has_doc_attributes_namespace_and_facts(sample):
    pay = sample("Invoice.cs").named("Invoice.PayAsync")
    assert pay.signature == "public async Task<bool> PayAsync(string card)"
    assert pay.doc == "Pays it at most once.\ncard: The card's number."
    assert '[HttpPost("pay")]' in pay.text
    assert pay.package == "Acme.Billing"
    assert pay.context.startswith("namespace Acme.Billing\npublic sealed class Invoice<T> : Document, IPayable")
    assert pay.calls == ("Range", "ChargeAsync", "ApplyFee", "PaymentException")
    assert (pay.complexity_score, pay.exported) == (4, True)


def test_csharp_usings_are_imports(sample):
    first = sample("Invoice.cs")[0]
    assert first.imports == ("System", "Newtonsoft.Json", "System.Math")
    assert first.doc == "An invoice of one Customer."


def test_a_file_scoped_namespace_is_the_package(chunked):
    text = "using System;\n\nnamespace Acme.Billing;\n\npublic class A\n{\n    int x;\n    int y;\n    int z;\n}\n"
    chunk = chunked("A.cs", text).named("A")
    assert chunk.package == "Acme.Billing"


def test_ruby_names_include_their_modules(sample):
    assert sample("invoice.rb").names == [
        "Acme.Billing.FEE",
        "Acme.Billing.Invoice",
        "Acme.Billing.Invoice.initialize",
        "Acme.Billing.Invoice.pay",
        "Acme.Billing.Invoice.settle",
        "Acme.Billing.Invoice.apply_fee",
    ]


def test_a_ruby_method_has_doc_and_facts(sample):
    pay = sample("invoice.rb").named("Acme.Billing.Invoice.pay")
    assert pay.signature == "def pay(card)"
    assert pay.doc == "Pays it at most once."
    assert pay.context == "module Acme\nmodule Billing\nclass Invoice < Document"
    assert {"charge", "apply_fee", "open?"} <= set(pay.calls)
    assert "PaymentFailed" in pay.references
    assert pay.complexity_score == 4


def test_a_ruby_namespace_is_not_a_definition(sample):
    assert not sample("invoice.rb").defining("Billing")


def test_ruby_requires_are_imports(sample):
    assert sample("invoice.rb")[0].imports == ("bigdecimal", "./billing/gateway")
    assert sample("invoice.rb")[0].dependencies == ("bigdecimal",)


def test_php_members_have_exact_names(sample):
    assert sample("Invoice.php").names == [
        "FEE", "Invoice", "Invoice.__construct", "Invoice.pay", "Payable", "apply_fee",
    ]  # fmt: skip


def test_a_php_method_has_doc_attributes_namespace_and_facts(sample):
    pay = sample("Invoice.php").named("Invoice.pay")
    assert pay.signature == "public function pay(string $card): bool"
    assert pay.doc == "Pays it at most once."
    assert '#[Route("/pay")]' in pay.text
    assert pay.package == "Acme.Billing"
    assert pay.calls == ("range", "charge", "apply_fee", "PaymentException")
    assert (pay.complexity_score, pay.exported) == (4, True)


def test_php_uses_are_imports_and_aliases_are_resolved(sample):
    chunks = sample("Invoice.php")
    assert chunks[0].imports == (
        "Acme\\Gateway\\Client", "Acme\\Money\\Money", "Acme\\Money\\Currency", "Acme\\Log\\info", "./helpers.php",
    )  # fmt: skip
    assert chunks.named("Invoice.__construct").imports == ("Acme\\Gateway\\Client",)


def test_swift_members_have_exact_names(sample):
    assert sample("Invoice.swift").names == [
        "Invoice", "Invoice.init", "Invoice.pay", "extension Invoice", "Payable", "State", "applyFee",
    ]  # fmt: skip


def test_a_swift_method_has_doc_attributes_and_facts(sample):
    pay = sample("Invoice.swift").named("Invoice.pay")
    assert pay.signature == "open func pay(card: String, retries: Int = 3) throws -> Bool"
    assert pay.doc == "Pays it at most once."
    assert "@discardableResult" in pay.text
    assert pay.calls == ("charge", "applyFee")
    assert (pay.complexity_score, pay.exported) == (5, True)


def test_swift_kinds_map_to_the_nearest_symbol_type(sample):
    chunks = sample("Invoice.swift")
    assert (chunks.named("Payable").symbol_type, chunks.named("Payable").symbol_kind) == ("interface", "protocol")
    assert chunks.named("extension Invoice").symbol_kind == "extension"
    assert not any(chunk.symbol_kind == "extension" for chunk in chunks.defining("Invoice"))
    assert chunks.named("State").defines == ("State", "open", "paid")


def test_bash_functions_have_exact_names(sample):
    assert sample("invoice.sh").names == ["pay", "apply_fee"]


def test_a_bash_function_has_doc_and_facts(sample):
    pay = sample("invoice.sh").named("pay")
    assert (pay.language, pay.signature, pay.doc) == ("shell", "pay()", "Pays it at most once.")
    assert {"charge", "apply_fee", "log", "tee"} <= set(pay.calls)
    assert pay.complexity_score == 4


def test_bash_sources_are_imports_and_assignments_are_defined(sample):
    first = sample("invoice.sh")[0]
    assert first.imports == ("./lib/gateway.sh", "$HOME/.billing")
    assert first.defines == ("FEE", "CURRENCY")


def test_a_script_inside_braces_is_opened(chunked):
    body = "".join(f"f{index}() {{\n  local a=1\n  local b=2\n  echo $a $b {index}\n}}\n" for index in range(40))
    assert chunked("install.sh", f"{{ # all of it\n{body}}}\n").names == [f"f{index}" for index in range(40)]
