"""References are resolved among the definitions of all files, with how each was found."""

import pytest

from codequarry.search_api.graph.definitions import (
    WrittenReference,
)
from codequarry.search_api.graph.signatures import parameters
from tests.unit.search_api.graph.snapshot import Snapshot

WEB = {
    "package.json": '{"name": "@acme/shop", "main": "./lib/start.js"}',
    "src/index.ts": "export * from './shop.js';\nexport {default as Till} from './till';\n"
    "export {load as read} from './io';\n",
    "src/shop.ts": "import Till from './till';\nexport class Base { pay() {} }\n"
    "export class Shop extends Base { till = new Till(); run() { this.pay(); this.till.open().ring(); } }\n",
    "src/till.ts": "import {Bell} from './bell';\nclass Till { open(): Promise<Bell> { return new Bell(); } }\n"
    "export default Till;\n",
    "src/bell.ts": "export class Bell { ring() {} }\n",
    "src/io.ts": "export function load() {}\n",
    "lib/start.js": "module.exports = class Server { listen() {} };\n",
    "test/a.ts": "import {Shop, Till as Box, read} from '../src';\n"
    "const shop = new Shop();\nshop.pay();\nnew Box().open();\nread();\n",
    "test/b.ts": "import {Shop} from '@acme/shop';\nimport {Bell} from '@/bell';\nnew Shop().run();\nnew Bell();\n",
    "test/c.js": "const Server = require('..');\nnew Server().listen();\n",
}


@pytest.mark.parametrize(
    ("path", "name", "meant"),
    [
        ("src/shop.ts", "pay", "src/shop.ts Base.pay receiver"),
        ("src/shop.ts", "ring", "src/bell.ts Bell.ring receiver"),
        ("test/a.ts", "pay", "src/shop.ts Base.pay receiver"),
        ("test/a.ts", "open", "src/till.ts Till.open import"),
        ("test/a.ts", "load", ""),
        ("test/a.ts", "read", "src/io.ts load import"),
        ("test/b.ts", "run", "src/shop.ts Shop.run import"),
        ("test/b.ts", "Bell", "src/bell.ts Bell import"),
        ("test/c.js", "listen", "lib/start.js Server.listen import"),
    ],
)
def test_modules_pass_names_on(path, name, meant):
    snapshot = Snapshot(WEB)
    if not meant:
        with pytest.raises(IndexError):
            snapshot.resolve(path, name)
    else:
        assert snapshot.resolve(path, name) == [meant]


def test_an_import_reaches_the_file():
    assert Snapshot(WEB).resolve("src/shop.ts", "till", "import") == ["src/till.ts till.ts import"]


JAVA = {
    "a/Base.java": "package acme.a;\npublic class Base { protected int size; int size() { return size; }\n"
    "  static class Part { void cut() {} }\n  void pay(int a) {}\n  void pay(int a, int b) {}\n }\n",
    "a/Shop.java": "package acme.a;\nimport acme.b.Item;\nimport static acme.b.Checks.*;\n"
    "class Shop extends Base { Item item; void run() { pay(1, 2); item.sell().ship(); new Part().cut(); verify();\n"
    "  acme.b.Order.make(); size(); } int get() { return size; } }\n",
    "b/Item.java": "package acme.b;\npublic class Item { public Order sell() { return null; } }\n",
    "b/Order.java": "package acme.b;\npublic class Order { public void ship() {} public static void make() {} }\n",
    "b/Checks.java": "package acme.b;\npublic class Checks { public static void verify() {} }\n",
}


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("ship", "b/Order.java Order.ship receiver"),
        ("cut", "a/Base.java Base.Part.cut receiver"),
        ("verify", "b/Checks.java Checks.verify package"),
        ("make", "b/Order.java Order.make package"),
        ("size", "a/Base.java Base.size receiver"),
        ("pay", "a/Base.java Base.pay receiver"),
    ],
)
def test_members_of_java_are_inherited_imported_or_of_the_package(name, meant):
    assert Snapshot(JAVA).resolve("a/Shop.java", name)[0] == meant


def test_the_overload_with_as_many_parameters_is_first_and_a_field_is_not_called():
    snapshot = Snapshot(JAVA)
    place = next(place for place in snapshot.symbols if place.path == "a/Shop.java")
    snapshot.resolve("a/Shop.java", "pay")
    snapshot.resolve("a/Shop.java", "size")
    snapshot.resolve("a/Shop.java", "size", "mention")
    lines = {
        (found.name, found.kind): snapshot.resolver.resolve(WrittenReference(place, found))[0].symbol.definition
        for found in snapshot.symbols[place].references
        if found.name in {"pay", "size"}
    }
    assert lines["pay", "call"].signature.startswith("void pay(int a, int b)")
    assert lines["size", "call"].symbol_kind == "method"
    assert lines["size", "mention"].symbol_kind == "field"


def test_extensions_and_companions_of_kotlin():
    files = {
        "a/Shop.kt": "package acme\nimport acme.more.twice\nfun run(shop: Shop) { shop.twice(); Shop.make() }\n",
        "b/Shop.kt": "package acme\nclass Shop {\n  companion object {\n    fun make() = Shop()\n  }\n}\n",
        "c/More.kt": "package acme.more\nimport acme.Shop\nfun Shop.twice() = this\n",
    }
    assert Snapshot(files).resolve("a/Shop.kt", "twice") == ["c/More.kt Shop.twice package"]
    assert Snapshot(files).resolve("a/Shop.kt", "make") == ["b/Shop.kt Shop.make package"]


def test_partial_classes_of_csharp_and_namespaces_of_php():
    csharp = {
        "A.cs": "namespace Acme;\npublic partial class Shop { void Run() { Pay(); Helper.Do(); } }\n",
        "B.cs": "namespace Acme;\npublic partial class Shop { void Pay() {} }\n",
        "C.cs": "namespace Acme;\nstatic class Helper { public static void Do() {} }\n",
    }
    assert Snapshot(csharp).resolve("A.cs", "Pay") == ["B.cs Shop.Pay scope"]
    assert Snapshot(csharp).resolve("A.cs", "Do") == ["C.cs Helper.Do package"]
    php = {
        "a.php": "<?php\nnamespace Acme;\nuse Acme\\Model\\Item;\nfunction run(Item $i) { $i->pay(); helper(); }\n",
        "b.php": "<?php\nnamespace Acme\\Model;\nclass Item { function pay() {} }\n",
        "c.php": "<?php\nfunction helper() {}\n",
    }
    assert Snapshot(php).resolve("a.php", "pay") == ["b.php Item.pay import"]
    assert Snapshot(php).resolve("a.php", "helper") == ["c.php helper package"]


@pytest.mark.parametrize(
    ("signature", "counts"),
    [
        ("void pay()", (0, 0)),
        ("Map<K, V> pay(Map<K, V> a, int b)", (2, 2)),
        ("void pay(int a, String... rest)", (1, 1_000)),
        ("void pay(int a, int b = 2)", (1, 2)),
        ("class Foo", (0, 1_000)),
        ("void pay(int a, int", (1, 1_000)),
    ],
)
def test_how_many_arguments_a_signature_takes(signature, counts):
    assert parameters(signature) == counts


STUBBED = {
    "shop/till.pyi": "class Till:\n    def ring(self) -> None: ...\ndef pay() -> None: ...\ndef fast() -> Till: ...\n",
    "shop/till.py": "from shop.till._made import pay\nclass Till:\n    def ring(self):\n        pass\n",
    "shop/till/_made.py": "def pay():\n    pass\n",
    "run.py": "from shop.till import fast, pay\npay()\nfast()\nany.ring()\n",
}


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("pay", ["shop/till/_made.py pay import"]),
        ("fast", ["shop/till.pyi fast import"]),
        ("ring", ["shop/till.py Till.ring unique_name"]),
    ],
)
def test_an_edge_leads_to_a_stub_only_if_no_source_has_the_definition(name, meant):
    assert Snapshot(STUBBED).resolve("run.py", name) == meant


def test_a_module_is_its_source_before_its_stub():
    files = {"shop/till.pyi": "x: int\n", "shop/till.py": "x = 1\n", "run.py": "from shop import till\ntill.pay\n"}
    found = Snapshot(files).resolve("run.py", "till", "mention")
    assert found == ["shop/till.py till.py import", "shop/till.pyi till.pyi import"]


def test_a_call_means_an_inherited_method_rather_than_a_field_of_the_same_name():
    files = {
        "a/Base.java": "package acme;\nclass Base { void size() {} }\n",
        "a/Shop.java": "package acme;\nclass Shop extends Base {\n  int size;\n  void run() { size(); }\n}\n",
    }
    assert Snapshot(files).resolve("a/Shop.java", "size")[0] == "a/Base.java Base.size receiver"


def test_the_body_of_an_enum_constant_has_members_of_its_own():
    text = (
        "enum State {\n  A { void run() { go(); stop(); } void go() {} },\n  B { void go() {} };\n  void stop() {}\n}\n"
    )
    assert Snapshot({"State.java": text}).resolve("State.java", "go") == ["State.java State.A.go scope"]
    assert Snapshot({"State.java": text}).resolve("State.java", "stop") == ["State.java State.stop scope"]


@pytest.mark.parametrize(("path", "confidence"), [("src/run.py", 0.1), ("tests/test_run.py", 0.7)])
def test_the_only_definition_with_a_name_is_seldom_meant_outside_of_tests_if_it_is_in_a_test(path, confidence):
    fake = "class Fake:\n    def ring(self):\n        pass\n"
    snapshot = Snapshot({"tests/test_shop.py": fake, path: "def run(any):\n    any.ring()\n"})
    assert [found.confidence for found in snapshot.candidates(path, "ring")] == [confidence]


@pytest.mark.parametrize("kind", ["call", "data_flow"])
def test_what_a_function_returns_comes_from_the_overload_that_it_calls(kind):
    text = "class Shop {\n  int price(int id) { return id; }\n  int price(String name) { return 1; }\n"
    text += '  int run() { return price("x"); }\n}\n'
    assert Snapshot({"Shop.java": text}).candidates("Shop.java", "price", kind)[0].symbol.definition.line == 3
