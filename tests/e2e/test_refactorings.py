"""Refactorings are told as such: moved, renamed and edited code is neither removed nor added; on both stores.

Each case is a folder of one repository, before and after, and what a comparison must say about the code in it.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from codequarry.ingest.request.index_request import IndexRequest
from codequarry.ingest.run.pipeline import index_repository
from codequarry.search_api.query.diff_request import parse_diff
from codequarry.search_api.search.comparison import compare
from codequarry.search_api.search.engine import SearchEngine
from codequarry.shared.versions.refs import Ref

PRICE = """\
def price_with_discount(order, customer):
    discount = 0
    for item in order.items:
        if customer.is_loyal and item.is_eligible:
            discount += item.price * customer.loyalty_rate
        elif order.coupon and order.coupon.covers(item):
            discount += order.coupon.value_for(item)
    subtotal = sum(item.price * item.quantity for item in order.items)
    taxes = tax_of(subtotal - discount, customer.country)
    if subtotal > order.free_shipping_threshold:
        return subtotal - discount + taxes
    shipping = shipping_cost(order.weight, customer.country, order.is_express)
    return subtotal - discount + taxes + shipping


"""
CART = """\
class ShoppingCart:
    \"\"\"Holds what a customer is about to buy, until the order is placed or the session has expired.\"\"\"

    def __init__(self, customer, currency, warehouse):
        self.customer = customer
        self.currency = currency
        self.warehouse = warehouse
        self.lines = {}
        self.reserved_until = None

    def put(self, product, quantity):
        available = self.warehouse.stock_of(product, self.customer.region)
        if quantity > available:
            raise OutOfStock(product, available)
        self.lines[product.sku] = self.lines.get(product.sku, 0) + quantity
        self.warehouse.reserve(product, quantity, self.customer)
        self.reserved_until = self.warehouse.clock.now() + RESERVATION
        self.customer.events.record("put", product.sku, quantity)

    def take_out(self, product, quantity):
        held = self.lines.get(product.sku, 0)
        if quantity > held:
            raise ValueError(f"only {held} of {product.sku} are in the cart")
        self.lines[product.sku] = held - quantity
        self.warehouse.release(product, quantity, self.customer)
        if not self.lines[product.sku]:
            del self.lines[product.sku]
        self.customer.events.record("take_out", product.sku, quantity)

    def checkout(self, payment, address):
        if self.reserved_until is None or self.reserved_until < self.warehouse.clock.now():
            raise ReservationExpired(self.customer)
        order = Order(self.customer, address, self.currency)
        for sku, quantity in sorted(self.lines.items()):
            order.add_line(self.warehouse.product(sku), quantity)
        payment.authorise(order.total(), self.currency)
        self.lines.clear()
        return order


"""
OTHER = '''\
def render_invoice(invoice, template, locale):
    """Return the invoice as a page in the customer's language."""
    rows = [template.row.format(number=number, text=line.text) for number, line in enumerate(invoice.lines, 1)]
    footer = template.footer.format(date=locale.long_date(invoice.date), signer=invoice.signer.full_name)
    return template.page.format(title=invoice.title, rows="".join(rows), footer=footer)
'''
GO = """\
package ledger

// Balance adds up what was posted to an account up to a day.
func Balance(entries []Entry, account string, day time.Time) (Money, error) {
\ttotal := Money{}
\tfor _, entry := range entries {
\t\tif entry.Account != account || entry.Posted.After(day) {
\t\t\tcontinue
\t\t}
\t\tif entry.Currency != total.Currency && !total.IsZero() {
\t\t\treturn Money{}, fmt.Errorf("account %s mixes currencies", account)
\t\t}
\t\ttotal = total.Plus(entry.Amount)
\t}
\treturn total, nil
}
"""
JAVA = """\
package com.example.shop;

import java.util.List;

/** Finds the nearest warehouse that has everything on a list. */
public class WarehouseFinder {
    private final List<Warehouse> warehouses;

    public WarehouseFinder(List<Warehouse> warehouses) {
        this.warehouses = warehouses;
    }

    public Warehouse nearest(Location customer, List<Product> products) {
        Warehouse best = null;
        double shortest = Double.MAX_VALUE;
        for (Warehouse warehouse : warehouses) {
            double distance = warehouse.location().distanceTo(customer);
            if (warehouse.hasAll(products) && distance < shortest) {
                best = warehouse;
                shortest = distance;
            }
        }
        return best;
    }
}
"""
GUIDE = """\
# Returning goods

A customer may send back unused goods within thirty days, in their original box, at our cost. The refund goes to the
card that paid for the order, as soon as the warehouse has looked at the goods.

## Damaged goods

Goods that arrive damaged are replaced at once. The courier collects them, and the customer need not wait for our check.
"""
LIMITS = """\
orders:
  largest_total: 1200
  currency: EUR
  review_above: 800
customers:
  open_orders: 5
  returns_per_year: 12
"""
WISHES = """\
class WishList:
    \"\"\"Remembers what a customer would like to have one day, and tells when it has become cheaper.\"\"\"

    def __init__(self, customer, currency, warehouse):
        self.wishes = WishStore(customer.profile, currency, cheapest=warehouse.price_list(customer.region))

    def cheaper(self, since):
        previous = self.wishes.prices_at(since)
        for wish in self.wishes.sorted_by_date():
            offer = wish.best_offer(self.wishes.cheapest)
            if offer.amount < previous.get(wish.product, offer.amount):
                yield wish, offer, previous[wish.product]
        self.wishes.remember_prices(until=since.next_day())


"""
CHECKOUT = CART[CART.index("    def checkout") :].rstrip() + "\n"
MORE_TAX = PRICE.replace("customer.country)\n    if", "customer.region)\n    if")
METHODS = ("ShoppingCart.__init__", "ShoppingCart.put", "ShoppingCart.take_out", "ShoppingCart.checkout")

Files = dict[str, str]
Told = set[tuple[str, str | None, str, str]]
"""What happened, the symbol now, and the path before and now; "" if there is none."""

CASES: dict[str, tuple[Files, Files, Told]] = {
    "function moved": (
        {"a.py": PRICE + OTHER, "b.py": CART},
        {"a.py": OTHER, "b.py": CART + PRICE},
        {("moved", "price_with_discount", "a.py", "b.py")},
    ),
    "function moved with an edit": (
        {"a.py": PRICE + OTHER, "b.py": CART},
        {"a.py": OTHER, "b.py": CART + MORE_TAX},
        {("moved", "price_with_discount", "a.py", "b.py")},
    ),
    "function renamed": (
        {"a.py": PRICE + OTHER},
        {"a.py": PRICE.replace("price_with_discount", "final_price") + OTHER},
        {("renamed", "final_price", "a.py", "a.py")},
    ),
    "function renamed with an edit": (
        {"a.py": PRICE + OTHER},
        {"a.py": MORE_TAX.replace("price_with_discount", "final_price") + OTHER},
        {("renamed", "final_price", "a.py", "a.py")},
    ),
    "function moved and renamed": (
        {"a.py": PRICE + OTHER, "b.py": CART},
        {"a.py": OTHER, "b.py": CART + PRICE.replace("price_with_discount", "final_price")},
        {("moved", "final_price", "a.py", "b.py")},
    ),
    "function made a method of another file": (
        {"a.py": PRICE + OTHER, "b.py": CART},
        {"a.py": OTHER, "b.py": CART.rstrip() + "\n\n" + "    " + PRICE.rstrip().replace("\n", "\n    ") + "\n"},
        {("moved", "ShoppingCart.price_with_discount", "a.py", "b.py")},
    ),
    "class moved with its methods": (
        {"a.py": CART + OTHER, "b.py": PRICE},
        {"a.py": OTHER, "b.py": PRICE + CART},
        {("moved", name, "a.py", "b.py") for name in ("ShoppingCart", *METHODS)},
    ),
    "class moved with an edited method": (
        {"a.py": CART + OTHER, "b.py": PRICE},
        {"a.py": OTHER, "b.py": PRICE + CART.replace("self.lines.clear()", "self.lines = {}\n        self.close()")},
        {("moved", name, "a.py", "b.py") for name in ("ShoppingCart", *METHODS)},
    ),
    "class renamed": (
        {"a.py": CART + OTHER},
        {"a.py": CART.replace("ShoppingCart", "Basket").replace("lines.clear()", "lines = {}") + OTHER},
        {("renamed", "Basket", "a.py", "a.py"), ("changed", "Basket.checkout", "a.py", "a.py")},
    ),
    "file renamed with edits": (
        {"old.py": CART + PRICE + OTHER},
        {"new.py": CART + MORE_TAX + OTHER},
        {
            ("moved", name, "old.py", "new.py")
            for name in ("ShoppingCart", *METHODS, "price_with_discount", "render_invoice")
        },
    ),
    "package renamed": (
        {"shop/go/ledger.go": GO, "shop/WarehouseFinder.java": JAVA, "shop/guide.md": GUIDE},
        {
            "store/go/ledger.go": GO.replace("package ledger", "package books"),
            "store/WarehouseFinder.java": JAVA.replace("example.shop", "example.store"),
            "store/guide.md": GUIDE.replace("thirty", "sixty"),
        },
        {
            ("moved", symbol, f"shop/{path}", f"store/{path}")
            for path, symbol in {
                "go/ledger.go": "Balance",
                "WarehouseFinder.java": "WarehouseFinder",
                "guide.md": "Returning goods",
            }.items()
        },
    ),
    "text without declarations moved with an edit": (
        {"old/limits.yaml": LIMITS, "a.py": OTHER},
        {"new/bounds.yaml": LIMITS.replace("1200", "1500"), "a.py": OTHER},
        {("moved", None, "old/limits.yaml", "new/bounds.yaml")},
    ),
    "method moved to another class with an edit": (
        {"a.py": CART + WISHES},
        {"a.py": CART.replace(CHECKOUT, "") + WISHES.rstrip() + "\n\n" + CHECKOUT.replace("clear()", "drop()")},
        {("moved", "WishList", "a.py", "a.py"), ("changed", "WishList", "a.py", "a.py")},
    ),
    "deleted and unrelated": (
        {"a.py": OTHER, "b.py": "def main():\n    load_settings()\n    return serve_forever(8080)\n"},
        {"a.py": OTHER, "c.py": "def main():\n    parser = build_parser()\n    return parser.parse_args().command\n"},
        {("removed", "main", "b.py", ""), ("added", "main", "", "c.py")},
    ),
    "one getter instead of another": (
        {"a.py": CART + "def get_name(self):\n    return self.name\n\n\n" + PRICE},
        {"a.py": CART + "def get_size(self):\n    return self.size\n\n\n" + PRICE},
        {("removed", "get_name", "a.py", ""), ("added", "get_size", "", "a.py")},
    ),
    "copied": (
        {"a.py": PRICE + OTHER, "b.py": CART},
        {"a.py": PRICE + OTHER, "b.py": CART + PRICE},
        {("added", "price_with_discount", "", "b.py")},
    ),
}


@pytest.fixture
def told(make_repository: Any, make_workshop_on_each: Any) -> Any:
    """Return a function that compares two states of a repository, and yields what is told of them."""

    def compared(before: Files, after: Files) -> Iterator[tuple[str, str | None, str, str]]:
        repository = make_repository(files=before)
        repository.git("tag", "before")
        for path in before.keys() - after.keys():
            repository.remove(path)
        for path, text in after.items():
            repository.write(path, text)
        repository.commit("after")
        workshop = make_workshop_on_each()
        index_repository(IndexRequest(repository.origin), workshop)
        commit = repository.git("rev-parse", "before").decode().strip()
        index_repository(IndexRequest(repository.origin, Ref("commit", commit)), workshop)
        engine = SearchEngine(workshop.store, workshop.embedder, workshop.settings)
        body = {"query": "return order customer", "from": commit, "to": "main", "top_k": 200, "max_per_file": 200}
        for hit in compare(engine, parse_diff(body)).results:
            yield hit.change, hit.symbol, hit.before.path if hit.before else "", hit.after.path if hit.after else ""

    return compared


@pytest.mark.parametrize("case", CASES)
def test_a_refactoring_is_told_as_such(told: Any, case: str) -> None:
    before, after, expected = CASES[case]
    assert set(told(before, after)) == expected
