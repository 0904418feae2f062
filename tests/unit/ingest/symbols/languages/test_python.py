"""What a Python file says about its names."""

import pytest

STORE = """
import os.path
import numpy as np
from . import errors
from ..net.client import Client as Http, connect
from shop.money import *

LIMIT = 3


class Store(Base[int], errors.Mixin):
    size: int = 1

    def __init__(self, http: Http | None = None) -> None:
        self.http = http or connect()
        self._cache: "Cache" = Cache()

    def load(self, key: str) -> "Item":
        self.check(key)
        super().load(key)
        with self.http.session() as session:
            session.get(key)
        return self._cache.get(key)

    def check(self, key):
        def inner():
            return LIMIT
        inner()


def make(store: Store) -> Store:
    item = store.load("x")
    item.pay()
    unknown().pay()
    return Store(make(store))
"""


def test_every_definition_has_its_path_and_kind(defined):
    assert defined("src/shop/store.py", STORE) == {
        "LIMIT": "variable",
        "Store": "class",
        "Store.size": "variable",
        "Store.__init__": "method",
        "Store.http": "variable",
        "Store._cache": "variable",
        "Store.load": "method",
        "Store.check": "method",
        "Store.check.inner": "function",
        "make": "function",
    }


def test_calls_say_what_is_meant_as_far_as_the_file_shows(referred):
    calls = referred("src/shop/store.py", STORE, "call")
    assert calls == [
        "import src.net.client connect",
        "import shop.money Cache",
        "scope Store.check",
        "scope Store.^.load",
        "scope Store.http.session",
        "scope Store.http.session.get",
        "scope Store._cache.get",
        "scope Store.check.inner",
        "scope Store.load",
        "scope Store.load.pay",
        "import shop.money unknown",
        "import shop.money unknown.pay",
        "scope Store",
        "scope make",
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import a.b.c", ["import a", "import a.b.c"]),
        ("import a.b as c", ["import a.b"]),
        ("from a.b import c as d", ["import a.b c"]),
        ("from . import x", ["import pkg.sub x"]),
        ("from .. import x", ["import pkg x"]),
        ("from .m import x", ["import pkg.sub.m x"]),
        ("from a import *", ["import a"]),
    ],
)
def test_imports_name_full_modules(referred, source, expected):
    assert referred("pkg/sub/file.py", source, "import") == expected


def test_the_place_of_an_imported_name_is_its_own_line(read):
    text = "from a import (\n    b,\n    c as d,\n)\n"
    assert [(found.line, found.name) for found in read("m.py", text).references] == [(2, "b"), (3, "c")]


def test_parents_and_decorators_have_kinds_of_their_own(referred):
    text = "import abc\n@abc.register('x')\n@plain\nclass A(abc.ABC, metaclass=abc.ABCMeta):\n    pass\n"
    assert referred("a.py", text, "inherits") == ["import abc ABC"]
    assert referred("a.py", text, "decorates") == ["import abc register", "name plain"]


def test_types_of_values_are_remembered(read):
    text = "from shop import Item\ndef make() -> 'Item': ...\nlast = make()\nboth: Item | None = None\n"
    types = {found.name: found.type and found.type.names for found in read("a.py", text).definitions}
    assert types == {"make": ("Item",), "last": ("make",), "both": ("Item",)}


def test_local_names_hide_others_and_are_no_references(referred):
    text = "from a import f\ndef g(f):\n    f()\n    h = f\n    h()\n"
    assert referred("a.py", text, "call") == []


@pytest.mark.parametrize(
    "use",
    [
        "x = LIMIT", "x += LIMIT", "x < LIMIT", "x and LIMIT", "not LIMIT", "-LIMIT", "x * LIMIT", "(LIMIT)", "[LIMIT]",
        "{LIMIT}", "{LIMIT: x}", "x[LIMIT]", "x[LIMIT:]", "f'{LIMIT}'", "x if LIMIT else x", "(lambda: LIMIT)",
        "[x for x in LIMIT]", "[LIMIT for x in x]", "[x for x in x if LIMIT]", "return LIMIT, x", "return LIMIT",
        "yield LIMIT", "await LIMIT", "assert LIMIT", "for y in LIMIT: pass", "while LIMIT: pass", "if LIMIT: pass",
        "with LIMIT: pass", "with LIMIT as y: pass", "f(*LIMIT)", "f(y=LIMIT)", "def f(x=LIMIT): pass", "LIMIT.real",
    ],
)  # fmt: skip
def test_a_name_that_is_read_is_mentioned(referred, use):
    assert referred("a.py", f"LIMIT = 1\nasync def run(x):\n    {use}\n", "mention")[0] == "scope LIMIT"


def test_an_attribute_that_is_read_is_mentioned_as_a_member_of_what_the_file_shows(referred):
    text = "class A:\n    def run(self, other: 'A', any):\n        self.size < other.size.real or any.size\n"
    assert referred("a.py", text, "mention") == ["scope A.size", "scope A.size", "scope A.size.real"]


def test_the_name_of_an_argument_is_no_reference(referred):
    assert referred("a.py", "LIMIT = 1\ndef run(x):\n    run(LIMIT=x)\n", "mention") == []


@pytest.mark.parametrize(
    "block",
    [
        "if x:\n    LIMIT = 1",
        "if x:\n    pass\nelif y:\n    LIMIT = 1",
        "if x:\n    pass\nelse:\n    LIMIT = 1",
        "try:\n    LIMIT = 1\nexcept E:\n    pass",
        "try:\n    pass\nexcept E:\n    LIMIT = 1",
        "try:\n    pass\nexcept E:\n    pass\nelse:\n    LIMIT = 1",
        "with x:\n    LIMIT = 1",
    ],
)
def test_a_name_that_a_module_sets_in_a_block_is_a_definition(defined, block):
    assert defined("a.py", block + "\n") == {"LIMIT": "variable"}
    inside = "def f():\n    " + block.replace("\n", "\n    ")
    assert defined("a.py", inside + "\n") == {"f": "function"}


def test_attributes_that_are_set_together_are_members(defined):
    text = "class A:\n    def f(self, x):\n        self.a, x.no = x\n        (self.b, self.c) = x\n"
    assert set(defined("a.py", text)) == {"A", "A.f", "A.a", "A.b", "A.c"}


def test_the_result_of_a_call_goes_to_who_returns_or_takes_it(read):
    text = "def f(x): ...\ndef g(): ...\ndef h():\n    f(g())\n    return g()\n"
    flows = [found for found in read("a.py", text).references if found.kind == "data_flow"]
    assert [(found.line, found.name, found.within, found.into and found.into.names) for found in flows] == [
        (4, "g", ("h",), ("f",)),
        (5, "g", ("h",), None),
    ]
