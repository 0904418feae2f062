"""What a JavaScript or TypeScript file says about its names."""

import pytest

SHOP = """
import Base, {Item as Good, type Price} from '../model/base.js';
import * as money from './money';
import fs = require('fs');

export enum State { Open, Closed = 2 }

export abstract class Shop<T extends Good> extends Base<T> implements Sells {
  size: Map<string, Good> = new Map();

  constructor(private readonly till: Till, plain: Good) {
    super();
    this.till.open(plain.name());
  }

  async load(key: string): Promise<Good | undefined> {
    const found = this.size.get(key);
    found.pay();
    for (const good of this.all()) good.pay();
    this.all().map(each => each.pay());
    const {price} = await this.load(key);
    price.round();
    console.log(key);
    return found as Good;
  }

  all = (): Good[] => [];
}

export const make = (till: Till) => new Shop(till);
const prices = {low: 1, high() { return money.add(1); }};
export default make;
export {Shop as Store};
export * from './other';
export {default as Extra} from './extra';
"""


def test_definitions_with_members_parameters_of_constructors_and_passed_on_names(defined):
    assert defined("src/shop/shop.ts", SHOP) == {
        "State": "enum",
        "State.Open": "enum member",
        "State.Closed": "enum member",
        "Shop": "class",
        "Shop.size": "property",
        "Shop.constructor": "method",
        "Shop.till": "property",
        "Shop.load": "method",
        "Shop.all": "method",
        "make": "function",
        "prices": "object",
        "prices.low": "property",
        "prices.high": "method",
        "default": "export",
        "Store": "export",
        "*": "export",
        "Extra": "export",
    }


def test_calls_follow_types_of_fields_parameters_elements_and_destructured_values(referred):
    assert referred("src/shop/shop.ts", SHOP, "call") == [
        "scope Shop.till.open",
        "import ./src/model/base.js Item.name",
        "scope Shop.size.get",
        "scope Shop.size.get.pay",
        "scope Shop.all",
        "scope Shop.all.pay",
        "scope Shop.all",
        "scope Shop.all.map",
        "scope Shop.all.pay",
        "scope Shop.load",
        "scope Shop.load.price.round",
        "scope Shop",
        "import ./src/shop/money add",
    ]


def test_imports_are_of_names_and_of_files(referred):
    assert referred("src/shop/shop.ts", SHOP, "import", "inherits", "implements") == [
        "import ./src/model/base.js#default Base",
        "import ./src/model/base.js Item",
        "import ./src/model/base.js Price",
        "import ./src/model/base.js#file base",
        "import ./src/shop/money",
        "import ./src/shop/money#file money",
        "import fs#default fs",
        "import ./src/model/base.js#default Base",
        "name Sells",
        "import ./src/shop/other#file other",
        "import ./src/shop/extra default",
        "import ./src/shop/extra#file extra",
    ]


COMMON = """
const tools = require('./tools'), {pay, refund: back} = require('../pay');
const only = require('./only').part;

module.exports = class Till extends tools.Base {
  constructor(limit) {
    this.limit = limit;
    this.back = () => back(limit);
  }
};

function open() { only(pay()); return new tools.Lock(); }
exports.open = open;
exports.close = function () { return this.open(); };
Till.prototype.empty = function () { open(); };
"""


def test_modules_of_node(defined, referred):
    assert defined("lib/till.js", COMMON) == {
        "tools": "variable",
        "only": "variable",
        "default": "export",
        "Till": "class",
        "Till.constructor": "method",
        "Till.limit": "variable",
        "Till.back": "method",
        "open": "function",
        "close": "function",
        "Till.empty": "method",
    }
    assert referred("lib/till.js", COMMON, "call", "inherits") == [
        "import ./lib/tools#default tools.Base",
        "import ./pay refund",
        "import ./lib/only part",
        "import ./pay pay",
        "import ./lib/tools#default tools.Lock",
        "scope open",
        "scope open",
    ]


def test_components_of_jsx_are_called(referred):
    text = (
        "import {Row} from './row';\nexport const Table = () => <div><Row.Cell wide={pick}/><Head/></div>;\n"
        "function Head() { return <b/>; }\nconst pick = 1;\n"
    )
    assert referred("ui/table.tsx", text, "call") == ["import ./ui/row Row.Cell", "scope Head"]
    assert "scope pick" in referred("ui/table.tsx", text, "mention")


@pytest.mark.parametrize(
    "text", ["import", "export default", "class {", "module.exports =", "const {a: {b} = ", "x?.("]
)
def test_broken_sources_are_read_as_far_as_they_go(read, text):
    for path in ("a.ts", "a.tsx", "a.js"):
        assert read(path, text) is not None


def test_an_awaited_call_with_type_arguments_is_a_call(referred):
    text = "import {a} from './m';\nasync function f() {\n  await a<Item>();\n  await a.b<Item>(1);\n}\n"
    assert referred("src/f.ts", text, "call") == ["import ./src/m a", "import ./src/m a.b"]
