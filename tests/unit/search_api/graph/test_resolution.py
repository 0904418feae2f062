"""References are resolved among the definitions of all files, with how each was found."""

from collections.abc import Mapping

import pytest

from codequarry.ingest.chunking.grammar import load_grammar, spec_for
from codequarry.ingest.chunking.languages import language_of
from codequarry.ingest.symbols.file_symbols import read_names
from codequarry.search_api.graph.definitions import (
    DefinedSymbol,
    DefinitionTable,
    FilePlace,
    WrittenReference,
    gives_members,
)
from codequarry.search_api.graph.modules import is_module_file
from codequarry.search_api.graph.overloads import parameters
from codequarry.search_api.graph.packages import read_manifest
from codequarry.search_api.graph.resolution import ReferenceResolver
from codequarry.shared.relations import Symbols


class Snapshot:
    """Files with their symbols, of which a reference can be resolved."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.table = DefinitionTable()
        manifests = (read_manifest(path, text) for path, text in files.items() if path.endswith("package.json"))
        packages = [package for package in manifests if package is not None]
        self.resolver = ReferenceResolver(self.table, lambda repo: packages)
        sources = {path: text for path, text in files.items() if not path.endswith(".json")}
        self.symbols = {_place(path, text): _read(path, text) for path, text in sources.items()}
        for place, symbols in self.symbols.items():
            for definition in symbols.definitions:
                bases = [found.target for found in symbols.references if found.within == definition.path
                         and gives_members(place.family, found.kind)]  # fmt: skip
                if bases:
                    self.table.add_bases(DefinedSymbol(place, definition), bases)

    def resolve(self, path: str, name: str, kind: str = "call") -> list[str]:
        """Return the definitions that the last reference with a name in a file means."""
        place = next(place for place in self.symbols if place.path == path)
        written = [found for found in self.symbols[place].references if (found.name, found.kind) == (name, kind)][-1]
        for _ in range(8):
            found = self.resolver.resolve(WrittenReference(place, written))
            names, modules = self.table.take_wanted()
            for wanted in names:
                self.table.add(wanted, self._named(wanted))
            for module in modules:
                files = [place for place in self.symbols if is_module_file(module, place.path)]
                self.table.add_module(module, files)
        sure = [one for one in found if one.confidence >= 0.5]
        return [f"{one.symbol.place.path} {'.'.join(one.symbol.path)} {one.found_by}" for one in sure]

    def _named(self, name: str) -> list[DefinedSymbol]:
        return [
            DefinedSymbol(place, definition)
            for place, symbols in self.symbols.items()
            for definition in symbols.definitions
            if definition.name == name
        ]


def _spec(path: str, text: str):
    spec = spec_for(language_of(path) or "", path, text)
    assert spec is not None and spec.naming is not None
    return spec, spec.naming


def _parsed(path: str, text: str):
    grammar = load_grammar(_spec(path, text)[0])
    assert grammar is not None
    tree = grammar.parse(text.encode())
    assert tree is not None
    return grammar, tree.root_node


def _place(path: str, text: str) -> FilePlace:
    _, root = _parsed(path, text)
    return FilePlace(
        "acme/shop", path, language_of(path) or "", _spec(path, text)[0].package(root, text.encode(), path)
    )


def _read(path: str, text: str) -> Symbols:
    grammar, root = _parsed(path, text)
    spec, naming = _spec(path, text)
    data = text.encode()
    names = read_names(grammar.captures(root), naming, data, path, spec.package(root, data, path), {})
    return names.between(0, len(data))


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
