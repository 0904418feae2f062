"""What a PHP file says about its names."""

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
