"""Rust files."""


def test_declarations_have_exact_names_with_the_implemented_type(sample):
    names = sample("invoice.rs").names
    assert names == [
        "FEE", "State", "Invoice", "Payable", "Invoice.Error", "Invoice.pay", "apply_fee", "money",
        "tests.fee_is_added",
    ]  # fmt: skip


def test_a_method_has_attributes_doc_and_facts(sample):
    pay = sample("invoice.rs").named("Invoice.pay")
    assert pay.signature == "fn pay(&mut self, card: &str) -> Result<bool, io::Error>"
    assert pay.text.lstrip().startswith("/// Pays it at most once.\n    #[inline]\n")
    assert pay.doc == "Pays it at most once."
    assert pay.context.splitlines()[0] == "impl<G: Gateway> Payable for Invoice<G>"
    assert pay.calls == ("charge", "apply_fee", "Ok", "println")
    assert pay.complexity_score == 5


def test_every_path_of_a_use_is_an_import(sample):
    first = sample("invoice.rs")[0]
    assert first.imports == ("std::fmt", "std::io", "std::io::Read", "crate::gateway::Gateway", "serde::Serialize")
    assert first.dependencies == ("std", "serde")
    assert first.doc == "Invoices and their payment."


def test_a_small_impl_is_one_chunk_and_defines_no_type(chunked):
    body = '        let x = 1;\n        write!(f, "{}", x)\n'
    method = f"    fn fmt(&self, f: &mut Formatter) -> fmt::Result {{\n{body}    }}\n"
    text = f"impl fmt::Display for Money {{\n{method}}}\n"
    (chunk,) = chunked("money.rs", text)
    assert (chunk.symbol_type, chunk.symbol_kind) == ("class", "impl")
    assert chunk.symbol_name == "impl Display for Money"
    assert chunk.defines == ("fmt",)


def test_kinds_map_to_the_nearest_symbol_type(sample):
    chunks = sample("invoice.rs")
    kinds = {name: (chunks.named(name).symbol_type, chunks.named(name).symbol_kind) for name in chunks.names}
    assert kinds["State"] == ("enum", "enum")
    assert kinds["Invoice"] == ("class", "struct")
    assert kinds["Payable"] == ("interface", "trait")
    assert kinds["money"] == ("function", "macro")
    assert kinds["FEE"] == ("block", "const")


def test_only_pub_items_are_exported(sample):
    chunks = sample("invoice.rs")
    assert chunks.named("Invoice").exported is True
    assert chunks.named("apply_fee").exported is False


def test_an_import_of_the_test_module_belongs_only_to_it(sample):
    chunks = sample("invoice.rs")
    assert chunks.named("tests.fee_is_added").imports == ("super::apply_fee",)
    assert "super::apply_fee" not in chunks.named("apply_fee").imports


def test_the_package_is_the_crates_folder(chunked):
    assert chunked("crates/billing/src/lib.rs", "pub const A: u8 = 1;\n")[0].package == "billing"
