"""What a file of C or C++ says about its names."""

TILL_CC = """#include "store/db.h"
#include <vector>

namespace shop {

class Base {};

class Till : public Base {
 public:
  Till(Db* db) : db_(db) {}
  void Pay(int amount);
 private:
  Db* db_;
};

void Till::Pay(int amount) {
  Check(amount);
  db_->Save(amount);
  Till other(db_);
  other.Pay(helper(amount));
}

}  // namespace shop
"""

TILL_C = """#include "till.h"
#define LIMIT 3

struct till { int total; };
enum kind { CASH, CARD };

static int check(int amount) { return amount < LIMIT; }
int pay(struct till *t, int amount);

int pay(struct till *t, int amount) {
  if (check(amount)) t->total += amount;
  return audit(amount);
}
"""


def test_classes_have_members_wherever_they_are_defined(defined):
    assert defined("src/till.cc", TILL_CC) == {
        "shop": "namespace",
        "shop.Base": "class",
        "shop.Till": "class",
        "shop.Till.Till": "method",
        "shop.Till.Pay": "method",
        "shop.Till.db_": "field",
    }


def test_names_may_come_from_the_type_or_from_included_files(referred):
    seen = "import =shop::Till|store/db.h|vector"
    assert referred("src/till.cc", TILL_CC, "call") == [
        f"{seen} Check",
        f"{seen} db_.Save",
        "scope shop.Till.Pay",
        f"{seen} helper",
    ]
    assert referred("src/till.cc", TILL_CC, "inherits") == ["scope shop.Base"]


def test_structs_enumerators_macros_and_functions_of_c_are_definitions(defined, referred):
    assert defined("src/till.c", TILL_C) == {
        "LIMIT": "macro",
        "till": "struct",
        "till.total": "field",
        "kind": "enum",
        "CASH": "enumerator",
        "CARD": "enumerator",
        "check": "function",
        "pay": "function",
    }
    assert referred("src/till.c", TILL_C, "call") == ["scope check", "import till.h audit"]


def test_a_prototype_is_told_from_the_definition(read):
    found = [one for one in read("src/till.c", TILL_C).definitions if one.name == "pay"]
    assert [one.symbol_kind for one in found] == ["prototype", "function"]
