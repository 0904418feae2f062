"""What a Java or Kotlin file says about its names."""

import pytest

JAVA = """
package com.acme.shop;

import com.acme.model.Item;
import com.acme.model.Outer.Inner;
import static com.acme.util.Checks.check;
import com.acme.money.*;

@Service
public class Shop<T extends Item> extends Base<T> implements Sells {
  private final List<Item> items = new ArrayList<>();

  public Shop(Till till) { super(till); this.till = till; }

  Item load(String key, Inner inner) {
    check(key);
    refresh();
    for (Item item : items) item.pay();
    items.forEach(each -> each.pay());
    var other = new Item();
    other.pay(1, 2);
    Money.of(inner.price()).round();
    return super.load(key);
  }

  enum State { OPEN, CLOSED }
  record Pair(Item left, Item right) {}
}
"""


def test_definitions_of_java(defined):
    assert defined("src/Shop.java", JAVA) == {
        "Shop": "class",
        "Shop.items": "field",
        "Shop.Shop": "constructor",
        "Shop.load": "method",
        "Shop.State": "enum",
        "Shop.State.OPEN": "enum constant",
        "Shop.State.CLOSED": "enum constant",
        "Shop.Pair": "record",
        "Shop.Pair.left": "component",
        "Shop.Pair.right": "component",
    }


def test_calls_of_java_are_of_imports_members_and_the_package(referred):
    around = "com.acme.shop|com.acme.money"
    assert referred("src/Shop.java", JAVA, "call", "inherits", "implements", "decorates") == [
        f"scope {around} Shop.Service",
        f"package {around} Base",
        f"package {around} Sells",
        f"scope {around} Shop.ArrayList",
        "import com.acme.util.Checks check",
        f"scope {around} Shop.refresh",
        "import com.acme.model Item.pay",
        "scope Shop.items.forEach",
        "scope Shop.items.pay",
        "import com.acme.model Item",
        "import com.acme.model Item.pay",
        f"scope {around} Shop.Money.of",
        "import com.acme.model.Outer Inner.price",
        f"scope {around} Shop.Money.of.round",
        "scope Shop.^.load",
    ]


def test_calls_say_how_many_arguments_they_have(read):
    calls = [found for found in read("src/Shop.java", JAVA).references if found.kind == "call"]
    assert {(found.name, found.arguments) for found in calls} >= {("load", 1), ("refresh", 0)}
    assert [found.arguments for found in calls if found.name == "pay"] == [0, 0, 2]


@pytest.mark.parametrize(
    ("arguments", "types"),
    [
        ("1, 2L, 0.5, 'x', \"x\", true", ("int", "long", "double", "char", "String", "boolean")),
        ("null, x -> x, this::run, Shop.class", ("null", "->", "->", "Class")),
        ("new java.util.ArrayList<String>(), (Item) null", ("ArrayList", "Item")),
        ("count, names, list, rest, own()", ("int", "String[]", "List", "Item[]", "byte")),
        ("evident, unknown, list.get(0)", ()),
        ("unknown, 1", ("", "int")),
        ("1, 2, 3, 4, 5, 6, 7", ("int",) * 6),
        ("", ()),
    ],
)
def test_calls_say_the_types_of_their_arguments_as_far_as_the_file_shows(read, arguments, types):
    text = (
        "class Shop {\n  int count;\n  byte own() { return 1; }\n"
        "  void run(String[] names, List<Item> list, Item... rest) {\n"
        f"    var evident = make();\n    pay({arguments});\n  }}\n}}\n"
    )
    assert [found.argument_types for found in read("Shop.java", text).references if found.name == "pay"] == [types]


KOTLIN = """
package com.acme.shop

import com.acme.model.Item as Good

class Shop(private val till: Till, plain: Good) : Base<Good>(till), Sells {
  val first by lazy { Good() }

  fun load(key: String): Good? {
    till.open(key)
    first.pay()
    goods().forEach { it.pay() }
    return this.find(key)?.also { found -> found.pay() }
  }

  companion object { fun make() = Shop(Till(), Good()) }
}

fun Good.twice() = this
interface Sells
typealias Goods = List<Good>
"""


def test_definitions_of_kotlin(defined):
    assert defined("src/Shop.kt", KOTLIN) == {
        "Shop": "class",
        "Shop.till": "property",
        "Shop.first": "property",
        "Shop.load": "method",
        "Shop.make": "method",
        "Good.twice": "extension",
        "Sells": "interface",
        "Goods": "typealias",
    }


def test_calls_of_kotlin(referred):
    assert referred("src/Shop.kt", KOTLIN, "call", "inherits", "implements") == [
        "package com.acme.shop Base",
        "scope Sells",
        "import com.acme.model Item",
        "scope Shop.till.open",
        "scope Shop.first.pay",
        "scope com.acme.shop Shop.goods",
        "scope com.acme.shop Shop.goods.forEach",
        "scope com.acme.shop Shop.goods.pay",
        "scope Shop.find",
        "scope Shop.find.also",
        "scope Shop.find.pay",
        "scope Shop",
        "scope com.acme.shop Shop.Till",
        "import com.acme.model Item",
    ]
