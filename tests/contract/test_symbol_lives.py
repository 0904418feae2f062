"""The rows that declare a symbol, whatever readers see of them."""

import pytest

from codequarry.shared.store.records import StoredRow
from codequarry.shared.versions.snapshots import OPEN


class TestSymbolLives:
    def test_dead_and_live_rows_are_returned_with_their_numbers(self, store, make_row, write):
        write(store, make_row("old", born=2, symbol_name="load", defines=("load",)))
        store.retire(1, 5, ["src/app.py"], [])
        write(store, make_row("new", born=5, symbol_name="load", defines=("load",)))
        lives = [(life.row.chunk.text, life.row.born, life.died) for life in store.symbol_lives([1], "load")]
        assert lives == [("old", 2, 5), ("new", 5, OPEN)]

    def test_a_row_is_returned_with_every_field(self, store, make_row, write, every_field):
        row = make_row("async def fetchAll(self):\n", "src/net.py", vector_key="k", **every_field)
        write(store, row)
        assert list(store.symbol_lives([1], "fetchAll")) == [StoredRow(row, OPEN)]

    def test_the_symbol_is_compared_exactly_with_the_name_and_all_definitions(self, store, make_row, write):
        write(
            store,
            make_row("a part without the name", "a.py", symbol_name="load", symbol_part="2/2"),
            make_row("several", "b.py", defines=("save", "load")),
            make_row("another case", "c.py", symbol_name="Load", defines=("Load",)),
            make_row("a longer name", "d.py", symbol_name="reload", defines=("reload",)),
            make_row("a call", "e.py", calls=("load",), references=("load",)),
        )
        assert [life.row.chunk.path for life in store.symbol_lives([1], "load")] == ["a.py", "b.py"]
        assert list(store.symbol_lives([1], "absent")) == []

    def test_only_rows_of_the_given_timelines_are_returned_in_order(self, store, make_row, write):
        rows = [
            make_row(f"{path} {number}", path, timeline=timeline, born=born, ordinal=number, symbol_name="load")
            for timeline, born in ((9, 7), (1, 4), (1, 2), (5, 3))
            for path in ("b.py", "a.py")
            for number in (1, 0)
        ]
        write(store, *rows)
        found = [
            (life.row.timeline, life.row.born, life.row.chunk.path, life.row.chunk.ordinal)
            for life in store.symbol_lives([9, 1], "load")
        ]
        expected = [
            (timeline, born, path, number)
            for timeline, born in ((1, 2), (1, 4), (9, 7))
            for path in ("a.py", "b.py")
            for number in (0, 1)
        ]
        assert found == expected
        assert list(store.symbol_lives([], "load")) == []

    def test_a_strided_chunk_is_returned_once(self, store, make_row, write):
        write(store, *(make_row("long", stride=(index, 3), symbol_name="load") for index in range(3)))
        assert [life.row.chunk.stride_info.stride_index for life in store.symbol_lives([1], "load")] == [0]

    @pytest.mark.parametrize("born", [2, 3])
    def test_deleted_rows_are_gone(self, store, make_row, write, born):
        write(store, make_row("old", born=2, symbol_name="load"), make_row("new", "b.py", born=3, symbol_name="load"))
        if born == 2:
            store.retire(1, 3, ["src/app.py"], [])
            store.collect(1, -1, 3, [])
        else:
            store.undo(1, 3)
        assert [life.row.born for life in store.symbol_lives([1], "load")] == [5 - born]

    def test_hundreds_of_rows_are_returned(self, store, make_row, write):
        write(store, *(make_row(f"text {number}", ordinal=number, symbol_name="load") for number in range(1_200)))
        assert sum(1 for _ in store.symbol_lives([1], "load")) == 1_200
