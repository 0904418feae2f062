"""The reads of checks and copies of an index: history, row counts, the newest number."""

from dataclasses import replace

import pytest

from codequarry.shared.model import FileRecord, Layer, Snapshot
from codequarry.shared.store.records import StoredFile, StoredRow
from codequarry.shared.versions.snapshots import OPEN


class TestHistory:
    def test_a_row_is_returned_with_every_field_and_its_key(self, store, make_row, write, every_field):
        row = make_row(
            "async def fetchAll(self):\n",
            "src/net.py",
            vector_key="k",
            **every_field,
        )
        write(store, row)
        assert next(iter(store.history(1))) == StoredRow(row, OPEN)

    def test_records_are_returned_with_every_field(self, store):
        skipped = FileRecord("quarry", "logo.png", "b" * 40, "binary", 0, "rules", 1, 2, None, 7, 0, "NUL")
        indexed = FileRecord("quarry", "a.py", "c" * 40, "indexed", 3, "rules", 1, 2, "python", 900, 31, "")
        store.create([], [skipped, indexed], {})
        held = sorted(store.history(1), key=lambda stored: stored.record.path)
        assert held == [StoredFile(indexed, OPEN), StoredFile(skipped, OPEN)]

    def test_every_stride_is_returned(self, store, make_row, write):
        rows = [make_row("long", stride=(index, 4)) for index in range(4)]
        write(store, *rows)
        held = [stored.row for stored in store.history(1) if isinstance(stored, StoredRow)]
        assert sorted(held, key=lambda row: row.id) == sorted(rows, key=lambda row: row.id)

    def test_dead_rows_have_their_died_number_and_undone_rows_are_gone(self, store, make_row, write):
        write(store, make_row("one", "a.py"), make_row("two", "b.py"))
        write(store, make_row("three", "a.py", born=3))
        store.retire(1, 3, ["a.py"], [])
        write(store, make_row("four", "b.py", born=4))
        store.retire(1, 4, ["b.py"], [])
        store.refresh()
        store.undo(1, 4)
        held = [
            (stored.row.chunk.path, stored.row.born, stored.died)
            for stored in store.history(1)
            if isinstance(stored, StoredRow)
        ]
        assert held == [("a.py", 2, 3), ("b.py", 2, OPEN), ("a.py", 3, OPEN)]

    def test_one_timeline_is_listed_by_birth_with_rows_before_their_records(self, store, make_row, write):
        for born in (7, 3, 5):
            write(store, *(make_row(f"t{born} {n}", f"{born}.py", born=born, ordinal=n) for n in range(3)))
        write(store, make_row("other", timeline=9, born=4))
        kinds = [
            (stored.row.born, "row") if isinstance(stored, StoredRow) else (stored.record.born, "file")
            for stored in store.history(1)
        ]
        assert kinds == [(born, kind) for born in (3, 5, 7) for kind in ("row", "row", "row", "file")]

    def test_only_changes_after_a_number_are_returned(self, store, make_row, write):
        write(store, make_row("one", "a.py"), make_row("two", "b.py"), make_row("three", "c.py"))
        for born, path in ((3, "a.py"), (4, "b.py"), (6, "d.py")):
            write(store, make_row(f"new {born}", path, born=born))
            store.retire(1, born, [path], [])
        store.refresh()
        held = [
            ("row", stored.row.chunk.path, stored.row.born, stored.died)
            if isinstance(stored, StoredRow)
            else ("file", stored.record.path, stored.record.born, stored.died)
            for stored in store.history(1, after=3)
        ]
        assert held == [
            ("file", "b.py", 2, 4),
            ("row", "b.py", 4, OPEN),
            ("file", "b.py", 4, OPEN),
            ("row", "d.py", 6, OPEN),
            ("file", "d.py", 6, OPEN),
        ]
        assert list(store.history(1, after=6)) == []

    def test_history_longer_than_a_page_is_returned_once(self, store, make_row, write):
        rows = [
            make_row(f"text {number}", f"f{number % 700}.py", ordinal=number, stride=(number % 2, 2))
            for number in range(2_500)
        ]
        write(store, *rows)
        held = list(store.history(1))
        assert sorted(stored.row.id for stored in held if isinstance(stored, StoredRow)) == sorted(
            row.id for row in rows
        )
        assert len([stored for stored in held if isinstance(stored, StoredFile)]) == 700

    def test_history_is_enough_to_make_a_copy(self, store, make_row, write, lives_in):
        write(store, make_row("one", "a.py"), make_row("two", "b.py", ordinal=1))
        write(store, make_row("three", "a.py", born=5))
        store.retire(1, 5, ["a.py"], [])
        for stored in store.history(1):
            if isinstance(stored, StoredRow):
                row = replace(stored.row, timeline=2)
                store.create([row], [], store.cached_vectors([row.vector_key]))
            else:
                store.create([], [replace(stored.record, timeline=2)], {})
        store.refresh()
        store.retire(2, 5, ["a.py"], [])
        assert lives_in(2) == lives_in(1) == [("a.py", 2, 5), ("a.py", 5, OPEN), ("b.py", 2, OPEN)]


class TestRowCounts:
    def test_live_rows_of_each_file_version_are_counted_with_strides(self, store, make_row, write, snapshot):
        write(
            store,
            *(make_row("a", "a.py", blob="A", ordinal=number) for number in range(3)),
            *(make_row("b", "b.py", blob="B", stride=(number, 4)) for number in range(4)),
            make_row("gone", "c.py", blob="C"),
        )
        write(store, make_row("a", "a.py", blob="A", ordinal=9, born=4), make_row("b", "b.py", blob="B2", born=4))
        store.retire(1, 4, ["b.py", "c.py"], [])
        store.refresh()
        assert store.row_counts(snapshot(at=3)) == {("a.py", "A"): 3, ("b.py", "B"): 4, ("c.py", "C"): 1}
        assert store.row_counts(snapshot(at=4)) == {("a.py", "A"): 4, ("b.py", "B2"): 1}

    def test_the_rows_of_two_layers_are_counted(self, store, make_row, write):
        write(store, make_row("base", "a.py", blob="A"), make_row("base", "b.py", blob="B"))
        write(store, make_row("over", "a.py", blob="A2", timeline=2, born=5))
        seen = Snapshot((Layer((2,), 5), Layer((1,), 2, mask=frozenset({"a.py"}))))
        assert store.row_counts(seen) == {("a.py", "A2"): 1, ("b.py", "B"): 1}

    def test_an_empty_timeline_has_no_counts(self, store, make_row, write, snapshot):
        assert store.row_counts(snapshot()) == {}
        write(store, make_row())
        assert store.row_counts(snapshot(7)) == {}

    def test_many_file_versions_are_counted(self, store, make_row, write, snapshot):
        write(store, *(make_row("x", f"{n % 6000}.py", blob=f"{n % 6000:040x}", ordinal=n) for n in range(6_500)))
        counts = store.row_counts(snapshot())
        assert len(counts) == 6000 and sum(counts.values()) == 6_500
        assert counts["7.py", f"{7:040x}"] == 2


class TestNewestNumber:
    def test_it_covers_births_and_deaths_of_rows_and_records_in_every_timeline(self, store, make_row, make_file, write):
        assert store.newest_number() == 0
        write(store, make_row(timeline=5, born=7))
        assert store.newest_number() == 7
        store.create([], [make_file("b.py", timeline=9, born=11)], {})
        assert store.newest_number() == 11
        store.retire(5, 30, ["src/app.py"], [])
        assert store.newest_number() == 30
        store.undo(5, 30)
        assert store.newest_number() == 11

    @pytest.mark.parametrize("timelines", [1, 40])
    def test_it_is_found_in_any_timeline(self, store, make_row, write, timelines):
        write(store, *(make_row(timeline=timeline, born=100 - timeline) for timeline in range(1, timelines + 1)))
        assert store.newest_number() == 99
