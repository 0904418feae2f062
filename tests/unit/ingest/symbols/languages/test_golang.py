"""What a Go file says about its names."""

TILL = """package shop

import (
	"fmt"
	store "example.org/shop/storage"
)

type Till struct {
	Base
	items map[string]int
	db    *store.DB
}

type Payer interface {
	Pay(amount int) error
}

const Limit = 3

func NewTill(db *store.DB) *Till { return &Till{db: db} }

func (t *Till) Pay(amount int) error {
	t.check(amount)
	t.db.Save(amount)
	other := NewTill(t.db)
	other.Pay(Limit)
	fmt.Println(amount)
	return helper(amount)
}
"""


def test_every_definition_has_its_path_and_kind(defined):
    assert defined("shop/till.go", TILL) == {
        "shop": "package",
        "Till": "struct",
        "Till.Base": "field",
        "Till.items": "field",
        "Till.db": "field",
        "Payer": "interface",
        "Payer.Pay": "method",
        "Limit": "const",
        "NewTill": "function",
        "Till.Pay": "method",
    }


def test_calls_follow_receivers_and_imports(referred):
    assert referred("shop/till.go", TILL, "call") == [
        "scope Till.check",
        "scope Till.db.Save",
        "scope NewTill",
        "scope NewTill.Pay",
        "import fmt Println",
        "package ./shop#shop helper",
    ]


def test_embedded_types_are_parents(referred):
    assert referred("shop/till.go", TILL, "inherits") == ["package ./shop#shop Base"]


def test_an_alias_stands_for_its_package(referred):
    types = set(referred("shop/till.go", TILL, "type"))
    assert types == {"import example.org/shop/storage DB", "scope Till"}
