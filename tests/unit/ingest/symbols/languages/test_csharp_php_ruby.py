"""What a C#, PHP or Ruby file says about its names."""

CSHARP = """
using Acme.Model;
using Cash = Acme.Money.Cash;

namespace Acme.Shop;

[Serializable]
public class Shop<T> : Base<T>, ISells
{
    private readonly Till till;
    public Item First { get; set; }

    public Shop(Till till) : base(till) { this.till = till; }

    public async Task<Item> Load(string key)
    {
        var found = await till.Open(key);
        found?.Pay();
        First.Pay(new Cash());
        return Refresh();
    }
}
"""


def test_csharp(defined, referred):
    assert defined("Shop.cs", CSHARP) == {
        "Shop": "class",
        "Shop.till": "field",
        "Shop.First": "property",
        "Shop.Shop": "constructor",
        "Shop.Load": "method",
    }
    around = "Acme.Shop|Acme|Acme.Model"
    assert referred("Shop.cs", CSHARP, "call", "inherits") == [
        f"package {around} Base",
        f"package {around} ISells",
        "scope Shop.till.Open",
        "scope Shop.till.Open.Pay",
        "scope Shop.First.Pay",
        "import Acme.Money Cash",
        f"scope {around} Shop.Refresh",
    ]


PHP = r"""<?php
namespace Acme\Shop;

use Acme\Model\Item as Good;

class Shop extends Base implements Sells
{
    use Logs;
    private Till $till;

    public function __construct(private Good $first, Till $till) { $this->till = $till; }

    public function load(string $key): ?Good
    {
        $this->till->open($key);
        $good = new Good();
        $good->pay();
        parent::load($key);
        return self::find($key) ?? helper($this->first->pay());
    }
}
"""


def test_php(defined, referred):
    assert defined("Shop.php", PHP) == {
        "Shop": "class",
        "Shop.till": "property",
        "Shop.__construct": "method",
        "Shop.first": "property",
        "Shop.load": "method",
    }
    assert referred("Shop.php", PHP, "call", "inherits", "implements", "import") == [
        "import Acme.Model Item",
        "package Acme.Shop| Base",
        "package Acme.Shop| Sells",
        "package Acme.Shop| Logs",
        "scope Shop.till.open",
        "import Acme.Model Item",
        "import Acme.Model Item.pay",
        "scope Shop.^.load",
        "scope Shop.find",
        "package Acme.Shop| helper",
        "scope Shop.first.pay",
    ]


RUBY = """
module Acme
  class Shop < Model::Base
    attr_reader :first, :last
    LIMIT = 3

    def initialize(till)
      @till = Till.new(till)
    end

    def load(key)
      @till.open(key)
      good = Good.new
      good.pay
      refresh
      self.first
    end

    def refresh; end
  end
end
"""


def test_ruby(defined, referred):
    assert defined("shop.rb", RUBY) == {
        "Acme": "module",
        "Acme.Shop": "class",
        "Acme.Shop.first": "attribute",
        "Acme.Shop.last": "attribute",
        "Acme.Shop.LIMIT": "constant",
        "Acme.Shop.initialize": "method",
        "Acme.Shop.@till": "attribute",
        "Acme.Shop.load": "method",
        "Acme.Shop.refresh": "method",
    }
    calls = referred("shop.rb", RUBY, "call", "inherits")
    assert {"scope Acme.Shop.@till.open", "scope Acme.Shop.refresh", "scope Acme.Shop.first"} <= set(calls)
