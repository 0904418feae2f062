"""Retire, undo, tally and purge (rules 3, 9 and 16)."""

import pytest

from codequarry.shared.model import Filters
from codequarry.shared.store.records import RecallQuery, Tally


@pytest.fixture
def paths_at(store, snapshot):
    """Return a function that lists the live paths of a timeline at a transaction; records and rows must agree."""

    def paths(timeline=1, at=100, hidden=()):
        seen = snapshot(timeline, at=at, hidden=hidden)
        store.refresh()
        recorded = sorted(file.path for file in store.files(seen))
        found = store.recall(RecallQuery(seen, terms=("common",), term_limit=1000)).candidates.values()
        assert sorted({candidate.chunk.path for candidate in found}) == recorded
        return recorded

    return paths


class TestRetire:
    def test_only_the_named_paths_are_retired_and_counted(self, store, make_row, write, paths_at):
        write(store, *(make_row("common", f"{name}.py", ordinal=number) for name in "abc" for number in range(2)))
        assert store.retire(1, 3, ["a.py", "c.py", "unknown.py"], []) == 6
        assert paths_at() == ["b.py"]
        assert paths_at(at=2) == ["a.py", "b.py", "c.py"]

    def test_retiring_again_finds_nothing(self, store, make_row, write):
        write(store, make_row())
        assert store.retire(1, 3, ["src/app.py"], []) == 2
        store.refresh()
        assert store.retire(1, 3, ["src/app.py"], []) == 0

    def test_no_paths_retire_nothing(self, store, make_row, write):
        write(store, make_row())
        assert store.retire(1, 3, [], []) == 0

    def test_another_timeline_is_not_touched(self, store, make_row, write, paths_at):
        write(store, make_row("common", timeline=1), make_row("common", timeline=9))
        store.retire(1, 3, ["src/app.py"], [])
        assert (paths_at(1), paths_at(9)) == ([], ["src/app.py"])

    def test_rows_of_the_retiring_transaction_stay_alive(self, store, make_row, write, paths_at):
        write(store, make_row("common", born=2), make_row("common new", born=3))
        assert store.retire(1, 3, ["src/app.py"], []) == 2
        assert paths_at(at=2) == paths_at(at=3) == ["src/app.py"]

    def test_a_late_worker_does_not_retire_newer_rows(self, store, make_row, write, paths_at):
        write(store, make_row("common", born=5))
        assert store.retire(1, 4, ["src/app.py"], []) == 0
        assert paths_at() == ["src/app.py"]

    def test_the_first_retirement_stays(self, store, make_row, write, paths_at):
        write(store, make_row("common"))
        store.retire(1, 3, ["src/app.py"], [])
        store.refresh()
        assert store.retire(1, 5, ["src/app.py"], []) == 0
        assert paths_at(at=2) == ["src/app.py"]
        assert paths_at(at=3) == paths_at(at=4) == []

    def test_retirement_by_an_aborted_transaction_does_not_count(self, store, make_row, write, paths_at):
        write(store, make_row("common"))
        store.retire(1, 3, ["src/app.py"], [])
        assert paths_at(at=4, hidden={3}) == ["src/app.py"]
        assert store.retire(1, 5, ["src/app.py"], [3]) == 2
        assert paths_at(at=4, hidden={3}) == ["src/app.py"]
        assert paths_at(at=5, hidden={3}) == []

    def test_thousands_of_paths_are_retired_at_once(self, store, make_row, write, paths_at):
        names = [f"folder/with a long name/file number {number}.py" for number in range(2500)]
        write(store, *(make_row("common", name) for name in names))
        assert store.retire(1, 3, [*names[1:], *(f"unknown {number}" for number in range(2500))], []) == 2 * 2499
        assert paths_at() == [names[0]]


class TestUndo:
    def test_written_rows_are_deleted_and_retired_rows_are_revived(self, store, make_row, write, paths_at):
        write(store, make_row("common", "a.py"), make_row("common", "b.py"))
        write(store, make_row("common", "b.py", born=3), make_row("common", "c.py", born=3))
        store.retire(1, 3, ["a.py", "b.py"], [])
        store.refresh()
        store.undo(1, 3)
        assert paths_at() == ["a.py", "b.py"]
        assert store.tally(1, 3, ["a.py", "b.py", "c.py"], []) == Tally(rows=0, files=0, retirable=4)
        assert list(store.written_files(1, 3)) == []

    def test_undoing_again_or_nothing_is_allowed(self, store, make_row, write, paths_at):
        write(store, make_row("common"))
        store.undo(1, 3)
        store.undo(1, 3)
        store.undo(7, 7)
        assert paths_at() == ["src/app.py"]

    def test_other_timelines_and_other_retirements_are_not_touched(self, store, make_row, write, paths_at):
        write(store, make_row("common", "a.py"), make_row("common", "b.py"))
        write(store, make_row("common", "a.py", timeline=9), make_row("common", "c.py", timeline=9, born=3))
        store.retire(1, 2, ["a.py"], [])
        store.retire(1, 4, ["b.py"], [])
        store.retire(9, 3, ["a.py"], [])
        store.refresh()
        store.undo(1, 3)
        assert paths_at(1, at=3) == ["a.py", "b.py"]
        assert paths_at(1, at=4) == ["a.py"]
        assert paths_at(9) == ["c.py"]

    def test_an_undone_transaction_can_be_written_again(self, store, make_row, write, paths_at):
        write(store, make_row("common", "a.py", born=3))
        store.undo(1, 3)
        store.refresh()
        assert paths_at() == []
        write(store, make_row("common", "a.py", born=3))
        assert paths_at() == ["a.py"]

    def test_vectors_of_undone_rows_stay_in_the_cache(self, store, make_row, write):
        row = make_row(vector_key="k")
        write(store, row)
        store.undo(1, 2)
        assert list(store.cached_vectors(["k"])) == ["k"]


class TestTally:
    def test_it_counts_written_and_retirable_rows(self, store, make_row, write):
        write(store, *(make_row("old", name) for name in ("a.py", "b.py", "c.py")))
        write(store, make_row("new", "a.py", born=3), make_row("new", "a.py", born=3, ordinal=1))
        assert store.tally(1, 3, ["a.py", "b.py"], []) == Tally(rows=2, files=1, retirable=4)
        store.retire(1, 3, ["a.py", "b.py"], [])
        store.refresh()
        assert store.tally(1, 3, ["a.py", "b.py"], []) == Tally(rows=2, files=1, retirable=0)

    def test_rows_retired_by_an_aborted_transaction_are_retirable(self, store, make_row, write):
        write(store, make_row("old"))
        store.retire(1, 3, ["src/app.py"], [])
        store.refresh()
        assert store.tally(1, 5, ["src/app.py"], []).retirable == 0
        assert store.tally(1, 5, ["src/app.py"], [3]).retirable == 2

    def test_other_timelines_do_not_count(self, store, make_row, write):
        write(store, make_row(timeline=9, born=3), make_row(timeline=9, born=2))
        assert store.tally(1, 3, ["src/app.py"], []) == Tally(rows=0, files=0, retirable=0)

    def test_an_empty_store_has_nothing_to_count(self, store):
        assert store.tally(1, 3, ["a.py"], [2]) == Tally(rows=0, files=0, retirable=0)


class TestPurge:
    def test_a_purged_timeline_is_gone_at_every_transaction(self, store, make_row, write, paths_at, snapshot):
        write(store, make_row("common secretword", "a.py"), make_row("common", "b.py", timeline=9))
        store.retire(1, 3, ["a.py"], [])
        store.refresh()
        store.purge([1])
        assert paths_at(1, at=2) == []
        assert paths_at(9) == ["b.py"]
        both = store.recall(RecallQuery(snapshot(1, 9), terms=("secretword", "common")))
        assert both.document_frequencies == {"secretword": 0, "common": 1}

    def test_vectors_that_are_no_longer_used_are_deleted(self, store, make_row, write):
        write(store, make_row("one", vector_key="own"), make_row("two", vector_key="shared", ordinal=1))
        write(store, make_row("two", vector_key="shared", timeline=9))
        store.purge([1])
        assert list(store.cached_vectors(["own", "shared"])) == ["shared"]

    def test_remaining_rows_keep_their_vectors(self, store, make_row, write, make_vector, snapshot):
        rows = {number: make_row(f"text {number}", f"{number}.py", timeline=number % 5 + 1) for number in range(100)}
        write(store, *rows.values())
        store.purge([1, 2, 3, 4])
        store.refresh()
        for number in range(4, 100, 5):
            asked = RecallQuery(snapshot(5), vector=make_vector(rows[number].vector_key), vector_limit=1)
            (found,) = store.recall(asked).candidates.values()
            assert found.chunk == rows[number].chunk
            assert found.similarity == pytest.approx(1, abs=0.02)

    def test_an_unknown_timeline_can_be_purged_and_a_purged_one_written(self, store, make_row, write, paths_at):
        store.purge([77])
        store.purge([])
        write(store, make_row("common"))
        store.purge([1])
        store.purge([1])
        assert paths_at() == []
        write(store, make_row("common", born=4))
        assert paths_at() == ["src/app.py"]

    def test_another_store_object_sees_the_purge(self, store, open_store, make_row, write, snapshot, make_vector):
        write(store, *(make_row(f"text {number}", f"{number}.py", timeline=number % 2 + 1) for number in range(20)))
        other = open_store()
        query = RecallQuery(snapshot(1, 2), vector=make_vector("query"), terms=("text",))
        assert len(other.recall(query).candidates) == 20
        store.purge([1])
        store.refresh()
        left = other.recall(query)
        assert {candidate.chunk.path for candidate in left.candidates.values()} == {f"{n}.py" for n in range(1, 20, 2)}
        assert left.document_frequencies == {"text": 10}
        assert other.count(snapshot(1), Filters()) == 0
