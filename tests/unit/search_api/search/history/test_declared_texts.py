"""Declarations cut out of chunks that hold more."""

import pytest

from codequarry.search_api.query.names import split_name
from codequarry.search_api.search.history.declared_texts import declared_texts


def cut(chunks, name):
    return [
        (text.symbol, text.start_line, text.end_line, text.text, text.shared)
        for text in declared_texts(chunks, split_name(name))
    ]


SMALL = """\
# Loads.
@cached
def load(key):
    return key

def save(key):
    return load(key)

"""


def test_a_small_function_is_cut_out_of_a_shared_chunk(make_chunk):
    chunk = make_chunk(SMALL, defines=("load", "save"), start_line=11)
    assert cut([chunk], "load") == [("load", 11, 14, "# Loads.\n@cached\ndef load(key):\n    return key", True)]
    assert cut([chunk], "save") == [("save", 16, 17, "def save(key):\n    return load(key)", True)]


CLASS = """\
class Store {
  // Loads it.
  load(key) {
    if (key) {
      return this.load(null);
    }
  }

  save() { return this.load(1); }
}
"""


def test_a_method_is_cut_out_of_the_chunk_of_its_class(make_chunk):
    chunk = make_chunk(CLASS, symbol_name="Store", qualified_name="Store", defines=("Store", "load", "save"))
    lines = CLASS.split("\n")
    assert cut([chunk], "Store.load") == [("Store.load", 2, 7, "\n".join(lines[1:7]), True)]
    assert cut([chunk], "save") == [("Store.save", 9, 9, lines[8], True)]
    assert cut([chunk], "Other.load") == []
    assert cut([chunk], "Store") == [("Store", 1, 10, CLASS.rstrip("\n"), False)]


@pytest.mark.parametrize(
    ("context", "symbol"),
    [
        ("class Store(Base):\nuses Store from base", "Store.load"),
        ("package base\npublic final class Store extends Base implements Other", "Store.load"),
        ("impl<T: Base> Base for Store<T>", "Store.load"),
        ("impl<T> Store<T>", "Store.load"),
        ("namespace outer\nclass Store : public Base", "outer.Store.load"),
        ("class Store < Base", "Store.load"),
    ],
)
def test_small_methods_are_found_by_the_class_around_them(make_chunk, context, symbol):
    chunk = make_chunk("    def load(self):\n        pass\n", defines=("load",), context=context)
    assert [found[0] for found in cut([chunk], "Store.load")] == [symbol]
    assert [found[0] for found in cut([chunk], "load")] == [symbol]
    assert cut([chunk], "Base.load") == []


def test_neighbours_and_the_end_of_the_class_are_not_part_of_a_declaration(make_chunk):
    method = "  load() {\n    a();\n    b();\n  }\n"
    fields = {"symbol_name": "load", "qualified_name": "Store.load", "defines": ("load",)}
    alone = cut([make_chunk(method + "\n", **fields)], "load")
    assert cut([make_chunk(method + "}\n\n", **fields)], "load") == alone
    prologue = "import a\n\n"
    (symbol, start, end, text, shared), *rest = cut([make_chunk(prologue + method, **fields)], "load")
    assert [(symbol, start - 2, end - 2, text, shared)] == alone and not rest


def test_the_parts_of_a_long_declaration_are_one_text(make_chunk):
    rows = ["def load():\n", *(f"    a{row} = {row}\n" for row in range(6))]
    ends = [0, *(sum(map(len, rows[: row + 1])) for row in range(7))]
    fields = {"symbol_name": "load", "qualified_name": "load"}
    parts = [
        make_chunk(
            "".join(rows[first:last]), start_line=first + 1, ordinal=place, symbol_part=f"{place + 1}/3",
            start_char=ends[first], end_char=ends[last], **fields,
        )
        for place, (first, last) in enumerate(((0, 3), (2, 5), (5, 7)))
    ]  # fmt: skip
    assert cut(parts, "load") == [("load", 1, 7, "".join(rows).rstrip("\n"), False)]


def test_a_name_that_no_line_of_code_has_gives_the_whole_chunk(make_chunk):
    chunk = make_chunk("# load\nx = 1\n", defines=("load", "x"))
    assert cut([chunk], "load") == [("load", 1, 2, "# load\nx = 1", True)]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_line_ends_are_no_part_of_a_text(make_chunk, ending):
    chunk = make_chunk(SMALL.replace("\n", ending), defines=("load", "save"))
    assert cut([chunk], "save")[0][3] == "def save(key):\n    return load(key)"


def test_a_class_that_lists_a_method_with_its_own_chunk_is_not_counted_again(make_chunk):
    header = make_chunk("class A:\n    load = None\n", symbol_name="A", qualified_name="A", defines=("A", "load"))
    own = make_chunk(
        "    def load(self):\n        pass\n", symbol_name="load", qualified_name="A.load", defines=("load",),
        ordinal=1, start_line=3,
    )  # fmt: skip
    assert [found[0] for found in cut([header, own], "load")] == ["A.load"]


def test_small_overloads_are_declarations_beside_the_long_one(make_chunk):
    stubs = "@overload\ndef load(key: int) -> int: ...\n@overload\ndef load(key: str) -> str: ...\n"
    long = "def load(key):\n    a = key\n    return a\n"
    fields = {"defines": ("load",)}
    chunks = [
        make_chunk(stubs, **fields),
        make_chunk(long, symbol_name="load", qualified_name="load", ordinal=1, start_line=5, **fields),
    ]
    assert [found[1:3] for found in cut(chunks, "load")] == [(1, 4), (5, 7)]
