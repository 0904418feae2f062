"""Chunks looked up only by the values of their fields."""

import pytest

from codequarry.shared.errors import UnknownName, UsageError
from codequarry.shared.model import Filters, Layer, PathGlobs, Snapshot


def having(name: str, *values: str) -> Filters:
    return Filters(terms=((name, values),))


class TestFind:
    def test_all_matching_chunks_are_ordered_by_path_and_position(self, store, make_row, write, snapshot):
        rows = [
            make_row(f"text {number}", path, ordinal=number, symbol_name=name)
            for path, number, name in (("b.py", 1, "f"), ("b.py", 0, "g"), ("a.py", 2, "f"), ("c.py", 3, "h"))
        ]
        write(store, *rows)
        found = store.find(snapshot(), having("symbol_name", "f", "g"), 10)
        assert found == [rows[2].chunk, rows[1].chunk, rows[0].chunk]
        assert store.find(snapshot(), having("symbol_name", "F"), 10) == []

    @pytest.mark.parametrize(
        ("limit", "paths"), [(0, []), (1, ["a.py"]), (2, ["a.py", "b.py"]), (3, ["a.py", "b.py", "c.py"])]
    )
    def test_the_limit_keeps_the_first_paths(self, store, make_row, write, snapshot, limit, paths):
        write(store, *(make_row(path, path) for path in ("c.py", "a.py", "b.py")))
        assert [chunk.path for chunk in store.find(snapshot(), Filters(), limit)] == paths

    def test_hundreds_of_values_and_chunks_are_allowed(self, store, make_row, write, snapshot):
        write(store, *(make_row(f"text {number}", ordinal=number, content_hash=f"h{number}") for number in range(1200)))
        found = store.find(snapshot(), having("content_hash", *(f"h{number}" for number in range(0, 1200, 2))), 550)
        assert len(found) == 550

    @pytest.mark.parametrize(("at", "text"), [(2, "old"), (3, "new"), (9, "new")])
    def test_each_transaction_sees_its_own_content(self, store, make_row, write, snapshot, at, text):
        write(store, make_row("old", born=2))
        store.retire(1, 3, ["src/app.py"], [])
        write(store, make_row("new", born=3))
        assert [chunk.text for chunk in store.find(snapshot(at=at), having("language", "python"), 10)] == [text]
        assert store.find(snapshot(2), having("language", "python"), 10) == []

    def test_a_chunk_of_two_versions_is_returned_once_and_a_masked_chunk_never(self, store, make_row, write):
        write(store, make_row("same", "s.py"), make_row("base", "m.py"), make_row("base only", "o.py"))
        write(store, make_row("same", "s.py", timeline=7, born=5), make_row("own", "m.py", timeline=7, born=5))
        base = Layer((1,), 9, frozenset(), frozenset({"m.py"}))
        found = store.find(Snapshot((Layer((7,), 9), base)), Filters(), 10)
        assert [(chunk.path, chunk.text) for chunk in found] == [
            ("m.py", "own"),
            ("o.py", "base only"),
            ("s.py", "same"),
        ]

    def test_a_chunk_of_several_strides_is_returned_once(self, store, make_row, write, snapshot):
        write(store, *(make_row("long", stride=(number, 3)) for number in range(3)))
        (found,) = store.find(snapshot(), having("language", "python"), 10)
        assert found.stride_info.stride_index == 0

    def test_globs_apply_and_filters_are_checked(self, store, make_row, write, snapshot):
        write(store, make_row("one", "src/a.py"), make_row("two", "docs/a.py"))
        found = store.find(snapshot(), Filters(paths=PathGlobs(include=("docs/**",))), 10)
        assert [chunk.text for chunk in found] == ["two"]
        with pytest.raises(UnknownName):
            store.find(snapshot(), having("born", "2"), 10)
        with pytest.raises(UsageError):
            store.find(snapshot(), having("masked", "perhaps"), 10)

    def test_an_empty_store_has_no_chunks(self, store, snapshot):
        assert store.find(snapshot(), Filters(), 10) == []
