import io
import json

import pytest

from bench.relations.compare import calibration, definition_recall, is_right, pair, score, unlisted
from bench.relations.ctags import is_local
from bench.relations.language_server import LanguageServer
from bench.relations.python_names import read_source
from bench.relations.rust_pages import Lines, declared
from bench.relations.truth import Definition, Place, Reference

HERE = {"path": "a.py", "line": 1, "column": 4, "name": "run", "kind": "call"}
RUN = {"path": "b.py", "line": 7, "name": "run"}


def truth(to=RUN, **fields):
    return HERE | {"to": to} | fields


def ours(to=RUN, confidence=0.8, **fields):
    return HERE | {"to": to, "confidence": confidence, "found_by": "import"} | fields


@pytest.mark.parametrize(
    ("target", "right"),
    [
        (RUN, True),
        (RUN | {"line": 10}, True),
        (RUN | {"line": 11}, False),
        (RUN | {"path": "c.py"}, False),
        (RUN | {"name": "walk"}, False),
    ],
)
def test_an_edge_is_right_within_three_lines_of_the_same_name_in_the_same_file(target, right):
    assert is_right(truth(), target) is right


def test_any_of_several_targets_is_right():
    second = {"path": "c.py", "line": 3, "name": "run"}
    assert is_right(truth(to_any=[RUN, second]), second)


def test_an_imported_file_and_an_anonymous_export_are_compared_without_names():
    module = {"path": "b.py", "line": 1, "name": "b"}
    assert is_right(truth(module, kind="import"), module | {"name": "package.b"})
    assert not is_right(truth(module), module | {"name": "package.b"})
    assert is_right(truth(RUN | {"name": "default"}), RUN)


def test_an_edge_to_a_file_fits_the_first_line_of_that_file_only():
    module, file = {"path": "b.py", "line": 1, "name": "b"}, {"path": "b.py", "line": 1, "name": "b.py"}
    assert is_right(truth(module), file)
    assert not is_right(truth(module), file | {"path": "c.py"})
    assert not is_right(truth(module | {"line": 2}), file)


def test_edges_to_outside_the_repository_count_against_precision_and_unknown_ones_do_not_count():
    pairs = pair([truth(), truth(None, line=2), truth("unknown", line=3)], [ours(), ours(line=2), ours(line=3)])
    result = score(pairs, 0.0)
    assert (result.true_edges, result.judged, result.right) == (1, 2, 1)
    assert (result.precision, result.recall) == (0.5, 1.0)


def test_edges_below_the_threshold_are_no_edges():
    result = score(pair([truth()], [ours(confidence=0.4)]), 0.5)
    assert (result.judged, result.recall) == (0, 0.0)


def test_equal_names_on_a_line_are_matched_by_column_or_in_order():
    other = {"path": "b.py", "line": 30, "name": "run"}
    places = [truth(), truth(other, column=20)]
    by_column = pair(places, [ours(other, column=20), ours(column=4)])
    without = [{name: value for name, value in ours(to).items() if name != "column"} for to in (RUN, other)]
    assert [one.is_right for one in by_column] == [True, True]
    assert [one.is_right for one in pair(places, without)] == [True, True]


def test_calibration_counts_by_how_an_edge_was_found():
    assert calibration(pair([truth(), truth(None, line=2)], [ours(), ours(line=2)])) == [("import", 0.8, 2, 0.5)]


def test_edges_at_places_that_the_truth_does_not_list_are_counted():
    assert unlisted([truth()], [ours(), ours(line=9), ours(None, line=10)]) == 1


def test_definitions_are_found_by_path_line_and_name():
    tags = [
        RUN | {"kind": "function", "language": "Python"},
        RUN | {"line": 9, "kind": "function", "language": "Python"},
    ]
    assert definition_recall(tags, [RUN]) == [("Python", "function", 2, 1)]


def test_a_reference_lists_all_targets_only_if_there_are_several():
    place, first, second = Place(*HERE.values()), Definition("b.py", 7, "run"), Definition("c.py", 3, "run")
    assert Reference(place).row()["to"] == "unknown"
    assert Reference(place, outside=True).row()["to"] is None
    assert Reference(place, (first,)).row() == truth()
    assert [target["path"] for target in Reference(place, (first, second)).row()["to_any"]] == ["b.py", "c.py"]


def test_names_of_python_have_kinds_and_columns_in_characters():
    text = 'from a import b\n@mark\nclass C(Base):\n    x: int = "é", call()\n'
    uses = [(use.name, use.line, use.column, use.kind) for use in read_source("a.py", text).uses]
    assert uses == [
        ("b", 1, 14, "import"),
        ("mark", 2, 1, "decorates"),
        ("Base", 3, 8, "inherits"),
        ("int", 4, 7, "type"),
        ("call", 4, 18, "call"),
    ]


def test_local_variables_of_python_are_no_definitions_and_attributes_are():
    text = "class C:\n    kind = 1\n    def __init__(self, size):\n        self.size = size\n        local = 2\n"
    source = read_source("a.py", text)
    assert sorted(source.definitions.values()) == ["C", "__init__", "kind", "size"]
    assert source.constructors == {(3, 8): (1, 6)}


@pytest.mark.parametrize(
    ("lines", "name", "found"),
    [
        ((1, 4), "Mode", (1, "Mode", "enum")),
        ((2, 2), "Fast", (2, "Fast", "variant")),
        ((5, 7), "run", (5, "run", "fn")),
        ((5, 5), "path", None),
        ((6, 6), "found", None),
    ],
)
def test_linked_lines_of_rust_are_an_item_a_variant_or_a_variable(lines, name, found):
    source = ["pub enum Mode {", "    Fast,", "    Slow(u8),", "}", "fn run(path: &Path) {", "    let found = 1;", "}"]
    assert declared(source, Lines("page", *lines), name) == found


def test_a_language_server_that_stops_is_reported():
    with pytest.raises(ConnectionError, match="has stopped"):
        LanguageServer(io.BytesIO(), io.BytesIO(), {})._receive()


def test_a_message_is_read_by_its_length():
    body = json.dumps({"id": 1, "result": None}).encode()
    message = b"Content-Length: %d\r\nContent-Type: x\r\n\r\n%s" % (len(body), body)
    assert LanguageServer(io.BytesIO(message), io.BytesIO(), {})._receive() == {"id": 1, "result": None}


@pytest.mark.parametrize(
    ("fields", "local"),
    [
        ({"kind": "function"}, False),
        ({"kind": "parameter"}, True),
        ({"kind": "function", "name": "__anon1"}, True),
        ({"kind": "variable", "scopeKind": "function"}, True),
        ({"kind": "variable", "scopeKind": "class"}, False),
        ({"kind": "constant", "language": "TypeScript", "pattern": "/^    const run = 1$/"}, True),
        ({"kind": "constant", "language": "TypeScript", "pattern": "/^const run = 1$/"}, False),
        ({"kind": "namespace"}, True),
        ({"kind": "namespace", "language": "C++"}, False),
    ],
)
def test_local_tags_are_left_out(fields, local):
    assert is_local({"name": "run", "language": "Python", "pattern": "/^run$/"} | fields) is local
