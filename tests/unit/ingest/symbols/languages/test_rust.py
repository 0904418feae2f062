"""What a Rust file says about its names."""

TILL = """use crate::store::{Db, open as connect};
use super::money::Amount;

pub trait Pay {
    fn pay(&self, amount: Amount) -> Result<(), Error>;
}

pub struct Till {
    db: Db,
}

impl Till {
    pub fn new() -> Self {
        let db = connect();
        Self { db }
    }

    fn check(&self) -> bool {
        self.db.read().is_some()
    }
}

impl Pay for Till {
    fn pay(&self, amount: Amount) -> Result<(), Error> {
        self.check();
        let other = Till::new();
        other.pay(amount)
    }
}

pub mod inner {
    pub const LIMIT: u32 = 3;
}
"""


def test_members_of_impl_blocks_belong_to_the_type(defined):
    assert defined("src/shop/till.rs", TILL) == {
        "Pay": "trait",
        "Pay.pay": "method",
        "Till": "struct",
        "Till.db": "field",
        "Till.new": "method",
        "Till.check": "method",
        "Till.pay": "method",
        "inner": "module",
        "inner.LIMIT": "const",
    }


def test_calls_follow_use_declarations_and_types(referred):
    assert referred("src/shop/till.rs", TILL, "call") == [
        "import ./src::store open",
        "scope Till.db.read",
        "scope Till.db.read.is_some",
        "scope Till.check",
        "scope Till.new",
        "scope Till.new.pay",
    ]


def test_imports_begin_at_the_root_of_the_crate(referred):
    assert referred("src/shop/till.rs", TILL, "import") == [
        "import ./src::store Db",
        "import ./src::store open",
        "import ./src/shop::money Amount",
    ]


def test_a_type_implements_a_trait(read):
    found = [one for one in read("src/shop/till.rs", TILL).references if one.kind == "implements"]
    assert [(one.target.names, one.within) for one in found] == [(("Pay",), ("Till",))]
