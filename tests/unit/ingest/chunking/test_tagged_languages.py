"""The languages that query files describe."""

import pytest

NAMES = {
    "invoice.lua": ["Invoice.pay", "Invoice.new", "apply_fee", "Invoice.describe"],
    "invoice.ex": [
        "Acme.Billing.Invoice", "Acme.Billing.Invoice.pay", "Acme.Billing.Invoice.total", "Acme.Billing.Invoice.priced",
        "Acme.Billing.Invoice.apply_fee", "String.Chars",
    ],
    "invoice.proto": ["Invoice", "Invoice.State", "Invoice.Line", "Billing", "PayRequest"],
    "Dockerfile": ["build", "service"],
    "main.tf": ["terraform", "region", "aws_instance.billing", "network", "address"],
    "Makefile": ["run_tests", "all", "billing"],
    "CMakeLists.txt": ["SOURCES", "billing_test", "billing_flags"],
    "invoice.graphql": ["Invoice", "Node", "State", "PayInput", "Query", "Pay", "Paid"],
    "invoice.css": [":root", ".invoice-line", ".invoice-line", "pay"],
    "invoice.scss": ["$fee", "box", "half", ".invoice"],
    "invoice.R": ["FEE", "pay", "total", "Line", "Ledger"],
    "invoice.jl": ["Billing", "Billing.Invoice", "Billing.pay", "Billing.priced"],
    "Invoice.hs": ["Invoice", "Line", "Card", "Payable", "Payable", "pay", "applyFee"],
    "invoice.erl": ["FEE", "invoice", "card", "pay", "total"],
    "invoice.ml": ["Payable", "Fee", "pay", "total", "ledger", "hash"],
    "invoice.zig": ["fee", "Invoice", "Invoice.pay", "State", "applyFee"],
    "invoice.dart": ["fee", "Invoice", "Invoice.pay", "Invoice.total", "applyFee", "Charge"],
    "Invoice.ps1": ["State", "Invoice", "Invoke-Payment", "Get-Total"],
    "Invoice.groovy": ["Invoice", "Invoice.pay", "Invoice.applyFee"],
    "invoice.pl": ["pay", "_apply_fee", "Acme::Ledger"],
    "Invoice.m": ["FEE", "Payable", "Invoice", "ApplyFee", "Invoice.payWithCard", "Invoice.draft"],
    "Ledger.mm": ["Ledger"],
    "Invoice.sol": [
        "Invoice", "Invoice.owner", "Invoice.onlyOwner", "Invoice.constructor", "Invoice.pay", "Payable", "Fees",
    ],
}  # fmt: skip

# The function or type that pays: its name, signature, and names that it calls or uses.
PAYING = {
    "invoice.lua": ("Invoice.pay", "function Invoice:pay(card, retries)", {"charge"}),
    "invoice.ex": ("Acme.Billing.Invoice.pay", "def pay(%{paid: true} = invoice, _card)", {"charge", "total"}),
    "invoice.R": ("pay", "pay <- function(invoice, card, retries = 3)", {"charge", "total", "seq_len"}),
    "invoice.jl": ("Billing.pay", "function pay(invoice::Invoice, card; retries=3)::Bool", {"charge", "total"}),
    "Invoice.hs": ("pay", "pay :: Card -> Invoice -> Either String Invoice", {"charge", "applyFee"}),
    "invoice.erl": (
        "pay", "-spec pay(#invoice{}, card()) -> {ok, #invoice{}} | {error, term()}.", {"charge", "total"},
    ),
    "invoice.ml": ("pay", "let pay invoice card", {"charge", "apply"}),
    "invoice.zig": ("Invoice.pay", "fn pay(self: *Invoice, card: []const u8) !bool", {"charge", "applyFee"}),
    "invoice.dart": ("Invoice.pay", "Future<bool> pay(String card, {int retries = 3})", {"charge", "applyFee"}),
    "Invoice.ps1": ("Invoke-Payment", "function Invoke-Payment", {"Invoke-Charge", "Get-Total"}),
    "Invoice.groovy": ("Invoice.pay", "def pay(String card)", {"charge", "applyFee"}),
    "invoice.pl": ("pay", "sub pay", {"charge", "total"}),
    "Invoice.m": (
        "Invoice.payWithCard", "- (BOOL)payWithCard:(NSString *)card retries:(int)retries", {"charge", "ApplyFee"},
    ),
    "Invoice.sol": (
        "Invoice.pay", "function pay(uint256 amount) external payable onlyOwner returns (bool)", {"charge", "Paid"},
    ),
}  # fmt: skip

IMPORTS = {
    "invoice.lua": ("acme.gateway", "acme.money"),
    "invoice.ex": ("Acme.Gateway", "Acme.Money", "Ecto.Query"),
    "invoice.proto": ("acme/money.proto", "google/protobuf/timestamp.proto"),
    "Dockerfile": ("python",),
    "main.tf": ("./modules/network",),
    "Makefile": ("common.mk",),
    "CMakeLists.txt": ("GNUInstallDirs", "OpenSSL"),
    "invoice.css": ("base.css",),
    "invoice.scss": ("sass:math", "base"),
    "invoice.R": ("dplyr", "gateway.R"),
    "invoice.jl": ("Dates", "Gateway.charge"),
    "Invoice.hs": ("Acme.Gateway", "Data.Map.Strict"),
    "invoice.erl": ("gen_server", "billing.hrl", "kernel/include/logger.hrl"),
    "invoice.ml": ("Gateway",),
    "invoice.zig": ("std", "gateway.zig"),
    "invoice.dart": ("package:acme/gateway.dart", "line.dart"),
    "Invoice.ps1": ("Gateway",),
    "Invoice.groovy": ("acme.Gateway",),
    "invoice.pl": ("strict", "Acme::Gateway"),
    "Invoice.m": ("Foundation/Foundation.h", "Gateway.h"),
    "Ledger.mm": ("Invoice.h",),
    "Invoice.sol": ("./Gateway.sol", "./Money.sol"),
}


@pytest.mark.parametrize("name", NAMES)
def test_declarations_have_exact_names(sample, name):
    assert sample(name).names == NAMES[name]


@pytest.mark.parametrize("name", PAYING)
def test_a_function_has_signature_doc_and_calls(sample, name):
    qualified, signature, calls = PAYING[name]
    pay = sample(name).named(qualified)
    assert (pay.signature, pay.doc.split("\n")[0]) == (signature, "Pays it at most once.")
    assert pay.symbol_type in {"function", "method"}
    assert calls <= set(pay.calls)
    assert pay.complexity_score > 1 or name == "invoice.ml"


@pytest.mark.parametrize("name", IMPORTS)
def test_imports_are_read(sample, name):
    found = [module for chunk in sample(name) for module in chunk.imports]
    assert set(IMPORTS[name]) <= set(found)


@pytest.mark.parametrize("name", NAMES)
def test_every_row_is_in_a_chunk(sample, name):
    rows = [row for chunk in sample(name) for row in range(chunk.start_line, chunk.end_line + 1)]
    assert rows == list(range(1, rows[-1] + 1))


def test_clauses_of_a_function_are_one_definition(sample):
    """Elixir, Erlang and Haskell define a function by cases."""
    for name, qualified in (
        ("invoice.ex", "Acme.Billing.Invoice.pay"), ("invoice.erl", "pay"), ("Invoice.hs", "pay"),
    ):  # fmt: skip
        pay = sample(name).named(qualified)
        assert pay.end_line - pay.start_line >= 5


def test_an_elixir_module_has_its_moduledoc(sample):
    module = sample("invoice.ex").named("Acme.Billing.Invoice")
    assert (module.symbol_kind, module.doc) == ("defmodule", "Invoices and how they are paid.")


def test_visibility_is_read_where_the_language_shows_it(sample):
    assert sample("invoice.lua").named("apply_fee").exported is False
    assert sample("invoice.lua").named("Invoice.new").exported is True
    assert sample("invoice.ex").named("Acme.Billing.Invoice.total").exported is False
    assert sample("invoice.pl").named("_apply_fee").exported is False
    assert sample("invoice.zig").named("Invoice").exported is True
    assert sample("invoice.zig").named("applyFee").exported is False
    assert sample("invoice.erl").named("pay").exported is True
    assert sample("invoice.erl").named("card").exported is False


def test_kinds_are_the_words_of_the_language(sample):
    chunks = sample("invoice.proto")
    assert [(chunk.symbol_type, chunk.symbol_kind) for chunk in chunks][1:4] == [
        ("class", "message"), ("enum", "enum"), ("class", "message"),
    ]  # fmt: skip
    assert chunks.named("Billing").symbol_kind == "service"
    assert sample("Invoice.sol").named("Fees").symbol_kind == "library"
    assert sample("main.tf").named("aws_instance.billing").symbol_kind == "resource"


def test_members_are_defined_by_their_types(sample):
    assert sample("invoice.proto").named("Billing").defines == ("Billing", "Pay", "Watch")
    assert sample("Invoice.hs").named("Line").defines == ("Line", "price")
    assert {"open", "paid"} <= set(sample("invoice.dart").defining("State")[0].defines)


def test_packages_are_read(sample):
    assert sample("invoice.proto")[1].package == "acme.billing"
    assert sample("invoice.erl")[1].package == "invoice"
    assert sample("invoice.pl")[1].package == "Acme::Invoice"
    assert sample("Invoice.hs")[1].package == "Acme.Billing.Invoice"


def test_a_stage_of_a_dockerfile_is_one_chunk(sample):
    build = sample("Dockerfile").named("build")
    assert (build.symbol_kind, build.doc) == ("stage", "Builds the wheels of the billing service.")
    assert "RUN pip wheel" in build.text


def test_a_header_of_cpp_with_a_part_for_objective_c_is_cpp(chunked):
    source = "#ifdef __OBJC__\n#import <Foundation/Foundation.h>\n#endif\nnamespace a {\nclass B {\n  int c;\n};\n}\n"
    assert {"B", "c"} <= {name for chunk in chunked("a.h", source) for name in chunk.defines}


def test_unquoted_addresses_do_not_hide_rules(chunked):
    chunks = chunked("a.css", ".a { background: url(../a-b/c.png);; }\n.b { color: red }\n")
    assert {".a", ".b"} <= {name for chunk in chunks for name in chunk.defines}


def test_an_interface_of_ocaml_is_read(sample):
    (chunk,) = sample("invoice.mli")
    assert chunk.defines == ("pay", "invoice")
