"""The overload that a call means, by the number and the types of its arguments."""

import pytest

from codequarry.search_api.graph.java_types import WRONG_TYPE, misfit_of_types, parameter_types
from tests.unit.search_api.graph.snapshot import Snapshot

JAVA = {
    "a/Base.java": "package acme;\nclass Base {\n  void log(String text) {}\n  void log(int code) {}\n"
    "  void log(String text, Object... rest) {}\n}\n",
    "a/Shop.java": "package acme;\nclass Shop extends Base {\n  int size;\n  char sign() { return 'a'; }\n"
    "  void log(char sign) {}\n  void log(Shop shop) {}\n  void log(int[] sizes) {}\n"
    "  void run(long count, String... names) {\n    CALL;\n  }\n}\n",
}


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        ("log('x')", "void log(char sign)"),
        ("log(sign())", "void log(char sign)"),
        ("log(names[0].charAt(0))", "void log(char sign)"),
        ("log(new Shop())", "void log(Shop shop)"),
        ('log("text")', "void log(String text)"),
        ('log("text" + size)', "void log(String text)"),
        ("log(names.toString())", "void log(String text)"),
        ("log(size)", "void log(int code)"),
        ("log(3)", "void log(int code)"),
        ('log("text", size)', "void log(String text, Object... rest)"),
    ],
)
def test_the_overload_whose_parameters_take_the_arguments_is_first(call, meant):
    files = JAVA | {"a/Shop.java": JAVA["a/Shop.java"].replace("CALL", call)}
    snapshot = Snapshot(files)
    best = snapshot.candidates("a/Shop.java", "log", "call")[0]
    assert best.symbol.definition.signature.startswith(meant)


def test_types_of_parameters_are_plain():
    signature = "void run(final @Nullable java.util.Map<String, List<X>> map, char [] rest, @Size(3) int n, T... more)"
    assert parameter_types(signature) == ("Map", "char[]", "int", "T...")


@pytest.mark.parametrize(
    ("better", "worse", "given"),
    [
        ("f(int a)", "f(long a)", "int"),
        ("f(long a)", "f(double a)", "int"),
        ("f(double a)", "f(Integer a)", "int"),
        ("f(Integer a)", "f(Object a)", "int"),
        ("f(int a)", "f(String a)", "char"),
        ("f(CharSequence a)", "f(Object a)", "String"),
        ("f(Object a)", "f(int a)", "String"),
        ("f(T a)", "f(Shop a)", "String"),
        ("f(Shop a)", "f(int a)", "null"),
        ("f(Runnable a)", "f(String a)", "->"),
        ("f(Shop a)", "f(Base a)", "Shop"),
        ("f(Base a)", "f(String a)", "Shop"),
        ("f(String... a)", "f(int a)", "String[]"),
    ],
)
def test_a_parameter_fits_the_better_the_nearer_its_type_is(better, worse, given):
    assert misfit_of_types(better, (given,)) < misfit_of_types(worse, (given,))


def test_an_unknown_type_fits_and_the_worst_possible_fits_are_still_fits():
    assert misfit_of_types("f(int a, String b)", ("", "String")) == 0
    assert misfit_of_types("f(Object a)", ("String",) * 6) < WRONG_TYPE <= misfit_of_types("f(int a)", ("String",))
