"""Declarations followed through states of a version."""

from codequarry.search_api.query.names import split_name
from codequarry.search_api.search.history.declared_texts import declared_texts
from codequarry.search_api.search.history.lineage import DeclaringFile, follow

NAME = split_name("load")


def told(states):
    """Return the kind, state and paths of each declaration's events."""
    return [
        [
            (event.kind, event.state, event.before and event.before.chunk.path, event.after and event.after.chunk.path)
            for event in lineage.events
        ]
        for lineage in follow(states)
    ]


BODY = "".join(f"    value_{line} = key + {line}\n" for line in range(10))


class Files:
    """Builds states; a file keeps its life while its text stays."""

    def __init__(self, make_chunk) -> None:
        self._make_chunk = make_chunk
        self._known = {}

    def __call__(self, **files):
        return {path: self._life(path, blocks) for path, blocks in files.items()}

    def _life(self, path, blocks):
        key = (path, repr(blocks))
        if key not in self._known:
            chunks = [
                self._make_chunk(
                    text, path, symbol_name="load", qualified_name=symbol, defines=("load",), ordinal=place,
                    start_line=1 + 100 * place,
                )
                for place, (symbol, text) in enumerate(blocks)
            ]  # fmt: skip
            self._known[key] = DeclaringFile(path, 1, len(self._known), 99, declared_texts(chunks, NAME))
        return self._known[key]


def function(edit=""):
    return f"def load(key):\n{BODY}    return {edit or 'key'}\n"


def test_a_declaration_appears_changes_and_vanishes(make_chunk):
    state = Files(make_chunk)
    one, two = [("load", function())], [("load", function("other"))]
    assert told([state(), state(a=one), state(a=one), state(a=two), state()]) == [
        [("appeared", 1, None, "a"), ("changed", 3, "a", "a"), ("vanished", 4, "a", None)]
    ]


def test_what_the_first_state_has_is_present_and_not_new(make_chunk):
    assert told([Files(make_chunk)(a=[("load", function())])]) == [[("present", 0, None, "a")]]
    assert told([]) == []


def test_an_equal_text_in_an_edited_file_is_no_event(make_chunk):
    state = Files(make_chunk)
    with_more = [("load", function()), ("Other.load", function("more"))]
    assert told(
        [state(a=[("load", function())]), state(a=with_more), state(a=[("load", "\n" + function() + "\n\n")])]
    ) == [
        [("present", 0, None, "a")],
        [("appeared", 1, None, "a"), ("vanished", 2, "a", None)],
    ]


def test_a_declaration_moves_with_the_same_or_a_similar_text(make_chunk):
    state = Files(make_chunk)
    one, two = [("load", function())], [("load", function("other"))]
    assert told([state(a=one), state(b=one), state(c=two)]) == [
        [("present", 0, None, "a"), ("moved", 1, "a", "b"), ("moved", 2, "b", "c")]
    ]


def test_another_text_elsewhere_is_another_declaration(make_chunk):
    state = Files(make_chunk)
    other = [("load", "def load(path):\n    with open(path) as file:\n        return file.read()\n")]
    assert told([state(a=[("load", function())]), state(b=other)]) == [
        [("present", 0, None, "a"), ("vanished", 1, "a", None)],
        [("appeared", 1, None, "b")],
    ]


def test_the_most_similar_declaration_is_the_one_that_moved(make_chunk):
    state = Files(make_chunk)
    old = state(a=[("load", function())], b=[("load", function("b"))])
    new = state(c=[("load", function("b"))], d=[("load", function())])
    assert told([old, new]) == [
        [("present", 0, None, "a"), ("moved", 1, "a", "d")],
        [("present", 0, None, "b"), ("moved", 1, "b", "c")],
    ]


def test_a_copy_does_not_move(make_chunk):
    state = Files(make_chunk)
    one = [("load", function())]
    assert told([state(a=one), state(a=one, b=one)]) == [[("present", 0, None, "a")], [("appeared", 1, None, "b")]]


def test_a_declaration_moves_between_scopes_of_a_file(make_chunk):
    state = Files(make_chunk)
    assert told([state(a=[("Old.load", function())]), state(a=[("New.load", function())])]) == [
        [("present", 0, None, "a"), ("moved", 1, "a", "a")]
    ]


def test_overloads_are_matched_by_text_then_in_order(make_chunk):
    state = Files(make_chunk)
    one, two, three = (("load", function(edit)) for edit in ("one", "two", "three"))
    assert told([state(a=[one, two]), state(a=[two, one]), state(a=[two, three])]) == [
        [("present", 0, None, "a"), ("changed", 2, "a", "a")],
        [("present", 0, None, "a")],
    ]


def test_a_declaration_that_returns_continues_its_history(make_chunk):
    state = Files(make_chunk)
    one, two = [("load", function())], [("load", function("other"))]
    assert told([state(a=one), state(), state(a=two)]) == [
        [("present", 0, None, "a"), ("vanished", 1, "a", None), ("appeared", 2, None, "a")]
    ]
