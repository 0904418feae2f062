"""Which methods of Go are alike, and which types have those of an interface."""

import pytest

from codequarry.search_api.graph.definitions import DefinedSymbol, FilePlace
from codequarry.search_api.graph.go_methods import GoMethod, GoType, implements, shape
from codequarry.shared.relations import Definition


@pytest.mark.parametrize(
    ("signature", "types"),
    [
        ("Pay()", ((), ())),
        ("Pay(int, string) error", (("int", "string"), ("error",))),
        ("func (t *Till) Pay(a, b int, c ...string) (n int, err error)",
         (("int", "int", "...string"), ("int", "error"))),
        ("func (t Till) Pay(a Item) *db.Row {", (("shop.Item",), ("*db.Row",))),
        ("func Pay(m map[string]Item, f func(a int, b Item) error)",
         (("map[string]shop.Item", "func(int,shop.Item)(error)"), ())),
        ("Pay(c <-chan Item, v interface{}) []Item", (("<-chanshop.Item", "any"), ("[]shop.Item",))),
        ("func (t *Till[K]) Pay(k K) K", (("shop.K",), ("shop.K",))),
        ("Pay(\n  a int,\n  b int,\n) bool", (("int", "int"), ("bool",))),
    ],
)  # fmt: skip
def test_the_types_of_a_signature(signature, types):
    """Names of parameters and results are left out, and types of the own package are qualified."""
    assert shape(GoMethod(signature, "shop")) == types


@pytest.mark.parametrize("signature", ["Pay(a int, b", "Pay(a int) (b int", "Pay", "", "Pay(" * 1_000])
def test_a_signature_that_is_cut_has_no_types(signature):
    assert shape(GoMethod(signature, "shop")) is None


def type_(name, kind, *signatures, package="shop", folder="shop", head=""):
    definition = Definition((name,), "interface" if kind == "interface" else "class", kind, 1, 2, signature=head)
    symbol = DefinedSymbol(FilePlace("repo", f"{folder}/a.go", "go", package), definition)
    methods = {signature.split("(")[0]: GoMethod(signature, package) for signature in signatures}
    return GoType(symbol, methods)


PAYER = type_("Payer", "interface", "Pay(a int) error", "Name() string", package="pay", folder="pay")


@pytest.mark.parametrize(
    ("own", "interface", "complete", "confidence"),
    [
        (type_("Till", "struct", "Pay(b int) error", "Name() string", "Open()"), PAYER, True, 0.95),
        (type_("Till", "struct", "Pay(b int) error"), PAYER, True, 0.0),
        (type_("Till", "struct", "Pay(b string) error", "Name() string"), PAYER, True, 0.0),
        (type_("Till", "struct", "Pay(b int)", "Name() string"), PAYER, True, 0.0),
        (type_("Till", "struct", "Pay(b int) error", "Name() string"), PAYER, False, 0.7),
        (type_("Till", "struct", "Pay(b int, c", "Name() string"), PAYER, True, 0.7),
        (type_("Till", "struct", "Open()"), type_("Any", "interface"), True, 0.0),
        (type_("Till", "struct", "pay()"), type_("P", "interface", "pay()"), True, 0.95),
        (type_("Till", "struct", "pay()"), type_("P", "interface", "pay()", package="q", folder="q"), True, 0.0),
        (type_("Till", "struct", "Get() x.File"), type_("P", "interface", "Get() y.File"), True, 0.5),
        (type_("Till", "struct", "Get() x.File"), type_("P", "interface", "Get() File"), True, 0.25),
        (type_("Till", "struct", "Get() pay.File"),
         type_("P", "interface", "Get() File", package="pay", folder="pay"), True, 0.95),
        (type_("Till", "struct", "Add(a int)"),
         type_("Set", "interface", "Add(a T)", head="Set[T any] interface"), True, 0.7),
        (type_("Till", "struct", "Add(a, b int)"),
         type_("Set", "interface", "Add(a T)", head="type Set[T any] interface"), True, 0.0),
    ],
)  # fmt: skip
def test_a_type_implements_an_interface_if_it_has_its_methods(own, interface, complete, confidence):
    assert implements(own, own.methods, interface, interface.methods, complete) == confidence
