"""SQL scripts."""

import pytest

from codequarry.ingest.chunking.formats.sql_statements import MAX_PARSED_CHARACTERS
from codequarry.ingest.chunking.pieces import Sizes

ALONE = Sizes(30, 400, 20)


@pytest.fixture
def statements(chunked):
    """Return a function that cuts a script with sizes at which statements share no chunk."""
    return lambda text: chunked("a.sql", text, ALONE)


def test_declarations_are_named_by_their_kind(sample):
    chunks = sample("invoice.sql")
    assert [(chunk.symbol_type, chunk.symbol_kind, chunk.qualified_name) for chunk in chunks if chunk.symbol_name] == [
        ("class", "table", "billing.customers"),
        ("class", "table", "billing.invoices"),
        ("class", "view", "unpaid"),
        ("function", "function", "apply_fee"),
    ]
    assert chunks.defining("invoices_by_customer")[0].symbol_type == "block"
    assert chunks.defining("fee_on_insert")


def test_columns_are_defined_with_their_table(sample):
    chunks = sample("invoice.sql")
    assert chunks.named("billing.customers").defines == ("customers", "billing.customers", "id", "name", "e-mail")
    assert chunks.defining("paid_at")


def test_foreign_keys_and_queries_refer_to_tables(sample):
    chunks = sample("invoice.sql")
    assert chunks.named("billing.invoices").references == ("customers", "fees")
    assert chunks.named("unpaid").references == ("invoices", "customers", "payments")
    (last,) = chunks.defining("fee_on_insert")
    assert last.references == ("invoices", "add_fee", "archive_invoices")
    assert last.calls == ("add_fee", "archive_invoices")


def test_comments_document_the_statement_below_them(sample):
    view = sample("invoice.sql").named("unpaid")
    assert (view.doc, view.signature) == ("Invoices that nobody has paid yet.", "CREATE OR REPLACE VIEW unpaid")


def test_a_function_has_its_signature_and_its_body(sample):
    function = sample("invoice.sql").named("apply_fee")
    assert function.signature == "CREATE FUNCTION apply_fee(invoice integer, fee numeric) RETURNS numeric"
    assert function.text[function.body_start_char - function.start_char :].startswith("AS $body$")


@pytest.mark.parametrize("size", [1, 1 + MAX_PARSED_CHARACTERS // 100])
def test_statements_end_at_semicolons_outside_strings_and_comments(chunked, size):
    """Small scripts are read by sqlparse, large ones are not."""
    statement = (
        f"INSERT INTO t VALUES ('a; b', $$ c; d $$); -- e; f\n/* g;\n h; */\nSELECT {', '.join('abcdefghij')};\n"
    )
    chunks = chunked("a.sql", statement * size, Sizes(60, 120, 0))
    assert all(chunk.text.startswith(("INSERT", "/* g;")) for chunk in chunks)


def test_batches_of_t_sql_are_apart(statements):
    text = "".join(f"CREATE PROCEDURE p{n} AS\n    SELECT {', '.join('abcdefghijklmnop')}\nGO\n" for n in range(3))
    assert statements(text).names == ["p0", "p1", "p2"]


def test_a_delimiter_of_mysql_ends_statements(statements):
    body = "\n".join(f"    SET a{n} = {n};" for n in range(12))
    procedures = "".join(f"CREATE PROCEDURE p{n}()\nBEGIN\n{body}\nEND //\n" for n in range(2))
    assert statements(f"DELIMITER //\n{procedures}DELIMITER ;\nSELECT 1;\n").names[:2] == ["p0", "p1"]


def test_data_of_postgresql_is_one_statement(statements):
    data = "".join(f"{n}\tit's row {n}\n" for n in range(9))
    table = f"CREATE TABLE t (\n{', '.join(f'c{n} int' for n in range(12))});\n"
    chunks = statements(f"COPY t (id, name) FROM stdin;\n{data}\\.\n{table}")
    assert chunks.names == ["t"]
    assert chunks[-1].text == table


def test_commands_of_psql_are_no_part_of_a_statement(statements):
    (chunk,) = statements(
        '\\echo Use "CREATE EXTENSION x" to load this file. \\quit\nCREATE FUNCTION f() RETURNS int;\n'
    )
    assert chunk.defines == ("f",)


def test_a_large_statement_is_cut_between_rows(chunked):
    rows = "".join(f"  ({n}, 'customer number {n}'),\n" for n in range(60))
    chunks = chunked("a.sql", f"INSERT INTO customers VALUES\n{rows};\n", Sizes(60, 120, 0))
    assert [chunk.symbol_part for chunk in chunks] == [f"{n + 1}/{len(chunks)}" for n in range(len(chunks))]
    assert all(chunk.text.startswith("  (") for chunk in chunks[1:])


@pytest.mark.parametrize("unit", ["(", "BEGIN ", "CASE ", "$a$", "/*", "'", "CREATE TABLE a(\n", "x;\n"])
def test_hostile_scripts_are_cut_like_any_other(chunked, unit):
    chunks = chunked("a.sql", unit * 5_000)
    assert (chunks[0].start_line, len(chunks) < 500) == (1, True)
