"""Go files."""


def test_declarations_have_exact_names_with_the_receiver(sample):
    assert sample("invoice.go").names == ["Payable", "State", "Invoice", "Invoice.Pay", "Set.Len", "applyFee"]


def test_constants_and_variables_share_a_chunk_and_blanks_define_nothing(sample):
    (values,) = sample("invoice.go").defining("Fee")
    assert values.defines == ("Fee", "retries")
    assert values.exports == ("Fee",)


def test_kinds_map_to_the_nearest_symbol_type(sample):
    chunks = sample("invoice.go")
    assert (chunks.named("Payable").symbol_type, chunks.named("Payable").symbol_kind) == ("interface", "interface")
    assert (chunks.named("Invoice").symbol_type, chunks.named("Invoice").symbol_kind) == ("class", "struct")
    assert (chunks.named("State").symbol_type, chunks.named("State").symbol_kind) == ("class", "type")
    assert chunks.named("Invoice").defines == ("Invoice", "Total", "gateway", "state")


def test_a_method_has_doc_package_and_facts(sample):
    pay = sample("invoice.go").named("Invoice.Pay")
    assert pay.signature == "func (i *Invoice) Pay(ctx context.Context, card string) error"
    assert pay.doc == "Pay pays the invoice at most once."
    assert pay.package == "billing"
    assert pay.context.splitlines()[0] == "package billing"
    assert pay.calls == ("Charge", "applyFee", "Err", "Errorf")
    assert pay.imports == ("context", "fmt")
    assert (pay.complexity_score, pay.exported) == (5, True)


def test_an_aliased_import_counts_by_its_alias(sample):
    invoice = sample("invoice.go").named("Invoice")
    assert invoice.imports == ("github.com/acme/gateway/v2/client",)
    assert invoice.dependencies == ("github.com/acme/gateway",)


def test_only_capitalised_names_are_exported(sample):
    assert sample("invoice.go").named("applyFee").exported is False


def test_a_group_of_types_is_opened(chunked):
    struct = "\tA struct {\n\t\tX int\n\t\tY int\n\t}\n"
    interface = "\tB interface {\n\t\tDo(int) error\n\t\tGo()\n\t}\n"
    chunks = chunked("x.go", f"package x\n\ntype (\n{struct}\n{interface})\n")
    assert chunks.names == ["A", "B"]
