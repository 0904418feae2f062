"""Posting lists: built from a batch, read from all segments, cached in memory."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codequarry.shared.store.embedded import postings
from codequarry.shared.store.embedded.postings import ListBuilder, PostingReader
from codequarry.shared.store.embedded.segments import all_segments, merge_due, rewrite, with_deleted, write_segment

NAMES = st.text(st.sampled_from("abä\U0001f600 ="), min_size=1, max_size=3)
BATCHES = st.lists(st.dictionaries(NAMES, st.integers(1, 400), max_size=5), max_size=8)


def built(batch, numbers, ranks=True):
    builder = ListBuilder("t", ranks)
    for row in batch:
        builder.add_row(row.keys(), row.values() if ranks else ())
    return list(builder.lists(np.array(numbers, np.int32)))


class TestListBuilder:
    @settings(deadline=None)
    @given(BATCHES, st.data())
    def test_each_key_lists_its_rows_with_their_weights(self, batch, data):
        kept = data.draw(st.lists(st.booleans(), min_size=len(batch), max_size=len(batch)))
        numbers = [10 + place if keep else -1 for place, keep in enumerate(kept)]
        expected = {}
        for row, number in zip(batch, numbers, strict=True):
            for name, weight in row.items():
                if number >= 0:
                    expected.setdefault(f"t{name}".encode(), []).append((number, min(weight, 255)))
        lists = built(batch, numbers)
        assert [key for key, _, _ in lists] == sorted(expected)
        for key, rows, weights in lists:
            assert list(zip(np.frombuffer(rows, "<i4").tolist(), weights, strict=True)) == expected[key]

    def test_unranked_keys_have_no_weights(self):
        assert built([{"a": 1}], [5], ranks=False) == [(b"ta", np.array([5], "<i4").tobytes(), None)]


@pytest.fixture
def segments(connection):
    """Return a function that writes a segment of rows with the words of the given texts."""
    number = 0

    def write(*texts):
        nonlocal number
        numbers = []
        builder = ListBuilder("t", ranks=True)
        for text in texts:
            number += 1
            numbers.append(number)
            builder.add_row(text.split(), [1] * len(text.split()))
            values = (number, str(number), 0, 1, 1, 1, 1, 0)
            connection.execute("INSERT INTO chunk VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
        write_segment(connection, numbers, builder.lists(np.array(numbers, np.int32)))

    return write


def rows_of(reader, connection, name):
    return sorted(reader.read(connection, "t", [name])[name].rows.tolist())


class TestReader:
    def test_a_list_is_joined_from_all_segments(self, segments, connection):
        segments("a b", "b")
        segments("b c")
        reader = PostingReader()
        assert [rows_of(reader, connection, name) for name in "abcd"] == [[1], [1, 2, 3], [3], []]

    def test_a_cached_list_is_updated_by_a_new_segment(self, segments, connection):
        reader = PostingReader()
        segments("a")
        assert rows_of(reader, connection, "a") == [1]
        segments("a")
        assert rows_of(reader, connection, "a") == [1, 2]

    def test_the_cache_is_limited(self, segments, connection, monkeypatch):
        monkeypatch.setattr(postings, "CACHE_BYTES", 1000)
        segments(*(f"w{number}" for number in range(50)))
        reader = PostingReader()
        for _ in range(2):
            for number in range(50):
                assert rows_of(reader, connection, f"w{number}") == [number + 1]
        assert reader._bytes <= 1000

    def test_more_keys_than_a_statement_accepts_are_read(self, segments, connection):
        segments(*(f"w{number}" for number in range(1300)))
        names = [f"w{number}" for number in range(1300)]
        found = PostingReader().read(connection, "t", names)
        assert [found[name].rows.tolist() for name in names] == [[number + 1] for number in range(1300)]


class TestMerging:
    @settings(deadline=None)
    @given(st.lists(st.integers(1, 3000), max_size=200))
    def test_the_number_of_segments_stays_small(self, sizes):
        held = []
        for size in sizes:
            held.append(size)
            while due := merge_due(held):
                assert due >= 2
                held[-due:] = [sum(held[-due:])]
            assert len([size for size in held if size < 32_768]) <= 7 * 5
        assert sum(held) == sum(sizes)

    def test_equal_batches_are_merged_like_digits(self):
        assert merge_due([1] * 7) == 0
        assert merge_due([1] * 8) == 8
        assert merge_due([8] * 7 + [1] * 7) == 0
        assert merge_due([8] * 7 + [1] * 8) == 15
        assert merge_due([40_000, 1, 1]) == 0

    def test_a_merge_keeps_every_list(self, segments, connection):
        for number in range(20):
            segments(f"all even{number % 2}", f"all own{number}")
        assert len(all_segments(connection)) < 10
        reader = PostingReader()
        assert rows_of(reader, connection, "all") == list(range(1, 41))
        assert rows_of(reader, connection, "even0") == list(range(1, 41, 4))
        assert rows_of(reader, connection, "own3") == [8]

    def test_a_rewrite_drops_deleted_rows(self, segments, connection):
        segments("a b", "a secret", "a")
        segments("a c")
        connection.execute("DELETE FROM chunk WHERE row = 2")
        (found,) = with_deleted(connection, 0)
        assert (found.first, found.last, found.rows) == (1, 3, 3)
        assert with_deleted(connection, 0.5) == []
        rewrite(connection, [found])
        assert with_deleted(connection, 0) == []
        reader = PostingReader()
        assert rows_of(reader, connection, "a") == [1, 3, 4]
        assert connection.execute("SELECT count(*) FROM posting WHERE key = ?", (b"tsecret",)).get == 0

    def test_a_segment_of_only_deleted_rows_is_dropped(self, segments, connection):
        segments("a", "a")
        connection.execute("DELETE FROM chunk")
        rewrite(connection, with_deleted(connection, 0))
        assert all_segments(connection) == []
        assert connection.execute("SELECT count(*) FROM posting").get == 0
