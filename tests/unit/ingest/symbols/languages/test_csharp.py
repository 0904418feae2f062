"""What a C# file says about its names."""

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
