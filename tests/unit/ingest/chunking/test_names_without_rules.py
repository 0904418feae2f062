import pytest

from codequarry.shared.relations import ANYWHERE, decode

LUA = """local M = {}
function M.price(item)
  return item.cost * 2
end
function M.total(items)
  return M.price(items[1])
end
return M
"""
SCALA = """package acme
class Shop {
  def price(i: Int): Int = helper(i)
  def helper(i: Int): Int = i
}
"""
SHELL = "build() { echo hi; }\nmain() { build; }\n"
SQL = """CREATE TABLE customers (id int);
CREATE TABLE orders (id int, customer int REFERENCES customers(id));
CREATE VIEW open_orders AS SELECT * FROM orders;
"""


def symbols_of(chunks):
    decoded = [decode(chunk.relations) for chunk in chunks]
    definitions = [found for symbols in decoded for found in symbols.definitions]
    return definitions, [found for symbols in decoded for found in symbols.references]


@pytest.mark.parametrize(
    ("path", "text", "defined", "used"),
    [
        ("shop.lua", LUA, (("M", "total"), "function", 5, 7), ("call", "price", 6, ("M", "total"))),
        ("Shop.scala", SCALA, (("Shop", "helper"), "method", 4, 4), ("call", "helper", 3, ("Shop", "price"))),
        ("run.sh", SHELL, (("main",), "function", 2, 2), ("call", "build", 2, ("main",))),
        ("shop.sql", SQL, (("orders",), "table", 2, 2), ("type", "customers", 2, ("orders",))),
        ("shop.sql", SQL, (("orders", "customer"), "column", 2, 2), ("type", "orders", 3, ("open_orders",))),
    ],
)
def test_names_are_defined_and_used_with_places(chunked, path, text, defined, used):
    definitions, references = symbols_of(chunked(path, text))
    assert defined in [(found.path, found.symbol_kind, found.line, found.end_line) for found in definitions]
    assert used in [(found.kind, found.name, found.line, found.within) for found in references]
    assert {(found.target.origin, found.target.module) for found in references} == {("name", ANYWHERE)}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.yaml", "server:\n  port: 80\n"),
        ("a.json", '{"server":\n  {"port": 80}}\n'),
        ("a.toml", "[server]\nport = 80\n"),
        ("a.properties", "\nserver.port=80\n"),
    ],
)
def test_keys_are_symbols_by_their_dotted_names(chunked, path, text):
    chunks = chunked(path, text)
    definitions, _ = symbols_of(chunks)
    (port,) = [found for found in definitions if found.path == ("server", "port")]
    assert (port.symbol_type, port.line) == ("config", 2)
    assert "port" in {name for chunk in chunks for name in chunk.symbols}


def test_each_use_stands_in_its_own_declaration_among_thousands(chunked):
    text = "".join(f"function f{number}()\n  return f{number}()\nend\n" for number in range(3_000))
    _, references = symbols_of(chunked("many.lua", text))
    assert {found.within for found in references} == {(f"f{number}",) for number in range(3_000)}
