"""Collecting rows that can't be read any more (rule 16)."""

import random

import pytest

from codequarry.shared.model import Filters
from codequarry.shared.store.records import RecallQuery
from codequarry.shared.versions.snapshots import OPEN


@pytest.fixture
def walked(store, make_row, write):
    """Write a file in each of the transactions 2 to 9 of timeline 1; each but the last is retired by the next."""
    for born in range(2, 10):
        write(store, make_row(f"common own{born}", "a.py", born=born, vector_key=f"k{born}"))
        store.retire(1, born, ["a.py"], [])
        store.refresh()
    return store


class TestCollect:
    def test_rows_born_after_one_bound_and_died_by_the_other_are_deleted_and_counted(self, walked, lives_in):
        assert walked.collect(1, 3, 6, []) == 4
        assert lives_in() == [("a.py", born, born + 1) for born in (2, 3, 6, 7, 8)] + [("a.py", 9, OPEN)]

    def test_collecting_again_finds_nothing(self, walked):
        assert walked.collect(1, -1, 9, []) == 14
        assert walked.collect(1, -1, 9, []) == 0

    def test_live_rows_are_never_collected(self, walked, lives_in):
        assert walked.collect(1, -1, OPEN - 1, []) == 14
        assert lives_in() == [("a.py", 9, OPEN)]

    def test_retirement_by_an_aborted_transaction_does_not_count(self, walked, lives_in):
        assert walked.collect(1, -1, 5, [4, 77]) == 4
        assert ("a.py", 3, 4) in lives_in()

    def test_other_timelines_are_not_touched(self, walked, make_row, write, lives_in):
        write(walked, make_row("common", "b.py", timeline=9))
        walked.retire(9, 3, ["b.py"], [])
        walked.refresh()
        assert walked.collect(1, -1, 9, []) == 14
        assert lives_in(9) == [("b.py", 2, 3)]
        assert walked.collect(7, -1, 9, []) == 0

    def test_numbers_that_are_kept_see_the_same_as_before(self, walked, snapshot):
        walked.collect(1, -1, 7, [])
        walked.refresh()
        for at in (7, 8, 9):
            seen = snapshot(at=at)
            found = walked.recall(RecallQuery(seen, terms=("common", f"own{at}")))
            assert found.document_frequencies == {"common": 1, f"own{at}": 1}
            assert walked.count(seen, Filters()) == 1
            assert [file.born for file in walked.files(seen)] == [at]

    def test_pinned_numbers_are_kept_by_collecting_between_them(self, walked, lives_in):
        """The rows that 4 and 7 see are kept, although 9 is the oldest number that is otherwise kept."""
        for after, until in ((-1, 4), (4, 7), (7, 9)):
            walked.collect(1, after, until, [])
        assert [born for _, born, _ in lives_in()] == [4, 7, 9]

    def test_vectors_that_only_collected_rows_used_are_deleted(self, walked, make_row, write):
        write(walked, make_row("common", "b.py", timeline=9, vector_key="k3"))
        walked.collect(1, -1, 5, [])
        kept = walked.cached_vectors(f"k{born}" for born in range(2, 10))
        assert sorted(kept) == ["k3", "k5", "k6", "k7", "k8", "k9"]

    def test_vectors_that_no_row_has_used_yet_are_kept(self, walked, make_vector):
        walked.cache_vectors({"prepared": make_vector("prepared")})
        walked.collect(1, -1, 9, [])
        assert list(walked.cached_vectors(["prepared"])) == ["prepared"]

    def test_a_collected_file_can_be_written_again(self, walked, make_row, write, make_vector, snapshot):
        walked.collect(1, -1, 9, [])
        row = make_row("common own2", "a.py", timeline=3, born=12, vector_key="k2")
        write(walked, row)
        found = walked.recall(RecallQuery(snapshot(3), vector=make_vector("k2"), vector_limit=1))
        (candidate,) = found.candidates.values()
        assert candidate.chunk == row.chunk
        assert candidate.similarity == pytest.approx(1, abs=0.02)

    def test_thousands_of_rows_are_collected_at_once(self, store, make_row, write, lives_in):
        rows = [make_row(f"common {n}", f"f{n // 5}.py", ordinal=n, born=2) for n in range(6_000)]
        write(store, *rows, make_row("common", "kept.py"))
        store.retire(1, 3, [f"f{number}.py" for number in range(1_200)], [])
        store.refresh()
        assert store.collect(1, -1, 3, []) == 7_200
        assert lives_in() == [("kept.py", 2, OPEN)]
        assert store.cached_vectors(row.vector_key for row in rows) == {}

    def test_an_empty_store_has_nothing_to_collect(self, store):
        assert store.collect(1, -1, 100, [3]) == 0

    def test_another_store_object_sees_the_deletion(self, walked, open_store, snapshot, make_vector):
        other = open_store()
        everything = snapshot(at=8)
        query = RecallQuery(everything, vector=make_vector("k8"), terms=("own8",))
        assert len(other.recall(query).candidates) == 1
        walked.collect(1, -1, 9, [])
        walked.refresh()
        assert other.recall(query).candidates == {}
        now = RecallQuery(snapshot(), vector=make_vector("k9"), terms=("own9",), vector_limit=1)
        (found,) = other.recall(now).candidates.values()
        assert found.similarity == pytest.approx(1, abs=0.02)

    @pytest.mark.parametrize("seed", range(3))
    def test_random_histories_keep_what_kept_and_pinned_numbers_see(
        self, store, make_row, write, snapshot, lives_in, seed
    ):
        """Floor and pins are random; every number that is kept must see the same files as before."""
        rng, aborted = random.Random(seed), set()
        for number in range(2, 25):
            paths = rng.sample("abcdef", rng.randint(1, 4))
            write(store, *(make_row(f"common {number}", f"{path}.py", born=number) for path in paths))
            store.retire(1, number, [f"{path}.py" for path in paths], sorted(aborted))
            store.refresh()
            if rng.random() < 0.2:
                aborted.add(number)
                if rng.random() < 0.5:
                    store.undo(1, number)
                    store.refresh()
        published = [number for number in range(2, 25) if number not in aborted]
        floor = rng.choice(published[len(published) // 2 :])
        pins = sorted(rng.sample([number for number in published if number < floor], 2))
        asked = [*pins, *(number for number in published if number >= floor)]

        def seen(at):
            return sorted((file.path, file.born) for file in store.files(snapshot(at=at, hidden=aborted)))

        before = {at: seen(at) for at in asked}
        for after, until in zip([-1, *pins], [*pins, floor], strict=True):
            store.collect(1, after, until, sorted(aborted))
        store.refresh()
        assert {at: seen(at) for at in asked} == before
        needed = {place for places in before.values() for place in places}
        left = {(path, born) for path, born, died in lives_in() if born not in aborted and died not in aborted}
        assert left <= needed


def test_erasing_deleted_rows_keeps_live_rows(walked, lives_in):
    walked.collect(1, -1, 9, [])
    assert walked.erase_deleted()
    assert lives_in() == [("a.py", 9, OPEN)]
    assert walked.cached_vectors(["k9"]).keys() == {"k9"}
