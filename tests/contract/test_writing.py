"""Rows and file records are created once and never overwritten (rules 1 and 2)."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from codequarry.shared.errors import ModelMismatch, WriteRejected
from codequarry.shared.model import Filters, StrideInfo, Tokens
from codequarry.shared.store.records import RecallQuery, Tally


class TestCreate:
    def test_a_created_chunk_is_returned_with_every_field(self, store, make_row, write, snapshot, every_field):
        row = make_row("async def fetchAll(self):\n    ...\n", "src/net.py", **every_field)
        write(store, row)
        assert store.chunks(snapshot(), "src/net.py", "quarry") == [row.chunk]
        found = store.recall(RecallQuery(snapshot(), symbols=("fetchall",)))
        assert found.candidates[row.chunk.id].chunk == row.chunk
        assert found.candidates[row.chunk.id].tokens == row.tokens

    def test_a_chunk_with_only_required_fields_is_returned_the_same(self, store, make_row, write, snapshot):
        row = make_row("", tokens=Tokens())
        write(store, row)
        assert store.chunks(snapshot(), row.chunk.path, "quarry") == [row.chunk]

    @pytest.mark.parametrize(
        "text",
        [
            "line\r\nline\n\ttab\n",
            "é ü 日本語 \U0001f600 ﬁ ß İ\n",
            "a\0b\x01\x1f\x7f\u2028\ufeff",
            '"quotes" \'single\' \\back\\slash {"json": [1]} <b>&amp;</b> $x `y`',
            "x" * 100_000,
        ],
        ids=["line ends", "unicode", "control characters", "quotes", "long"],
    )
    def test_text_is_kept_byte_for_byte(self, store, make_row, write, snapshot, text):
        write(store, make_row(text, tokens=Tokens(body="word")))
        assert store.chunks(snapshot(), "src/app.py", "quarry")[0].text == text

    def test_creating_nothing_is_allowed(self, store, snapshot):
        store.create([], [], {})
        store.refresh()
        assert store.count(snapshot(), Filters()) == 0

    def test_records_without_rows_can_be_created(self, store, make_file, snapshot):
        skipped = make_file("logo.png", verdict="binary", rows=0, language=None, detail="NUL in the first 8,000 bytes")
        store.create([], [skipped], {})
        store.refresh()
        assert list(store.files(snapshot())) == [skipped]

    def test_many_rows_are_created_at_once(self, store, make_row, write, snapshot):
        write(store, *(make_row(f"text {number}", f"src/f{number % 300}.py", ordinal=number) for number in range(3000)))
        assert store.count(snapshot(), Filters()) == 3000
        assert store.tally(1, 2, [], []) == Tally(rows=3000, files=300, retirable=0)

    def test_another_store_object_sees_what_was_written(self, store, open_store, make_row, write, snapshot):
        other = open_store()
        assert other.count(snapshot(), Filters()) == 0
        write(store, make_row("first"))
        assert other.count(snapshot(), Filters()) == 1
        write(store, make_row("second", "src/b.py"))
        assert open_store().count(snapshot(), Filters()) == other.count(snapshot(), Filters()) == 2


class TestCreateTwice:
    def test_rows_created_twice_exist_once(self, store, make_row, write, snapshot):
        rows = [make_row(f"text {number}", ordinal=number) for number in range(5)]
        write(store, *rows)
        write(store, *rows)
        assert store.tally(1, 2, [], []) == Tally(rows=5, files=1, retirable=0)
        assert len(store.chunks(snapshot(), "src/app.py", "quarry")) == 5
        assert store.recall(RecallQuery(snapshot(), terms=("text",))).document_frequencies == {"text": 5}

    def test_existing_rows_are_not_changed(self, store, make_row, write, snapshot):
        row = make_row("old text")
        write(store, row)
        write(store, replace(row, chunk=replace(row.chunk, text="new text"), tokens=Tokens(body="new text")))
        assert store.chunks(snapshot(), "src/app.py", "quarry")[0].text == "old text"
        assert store.recall(RecallQuery(snapshot(), terms=("new",))).by_terms == ()

    def test_a_late_batch_does_not_revive_rows_that_were_retired_later(self, store, make_row, write, snapshot):
        row = make_row()
        write(store, row)
        store.retire(1, 5, [row.chunk.path], [])
        write(store, row)
        assert store.count(snapshot(), Filters()) == 0
        assert list(store.files(snapshot())) == []
        assert store.count(snapshot(at=4), Filters()) == 1

    def test_a_file_that_returns_to_an_older_content_has_two_lives(self, store, make_row, write, snapshot):
        for born in (2, 4):
            write(store, make_row("one", born=born))
            store.retire(1, born + 1, ["src/app.py"], [])
        write(store, make_row("one", born=6))
        for at, expected in ((2, 1), (3, 0), (4, 1), (5, 0), (6, 1)):
            assert store.count(snapshot(at=at), Filters()) == expected

    def test_an_interrupted_write_is_resumed(self, store, make_row, write, snapshot):
        rows = [make_row(f"text {number}", f"src/f{number}.py") for number in range(6)]
        write(store, *rows[:3])
        assert [file.path for file in store.written_files(1, 2)] == ["src/f0.py", "src/f1.py", "src/f2.py"]
        write(store, *rows[2:])
        assert [file.path for file in store.written_files(1, 2)] == [f"src/f{number}.py" for number in range(6)]
        assert store.tally(1, 2, [], []) == Tally(rows=6, files=6, retirable=0)

    def test_two_writers_of_the_same_rows_write_them_once(self, store, open_store, make_row, write, snapshot):
        rows = [make_row(f"text {number}", f"src/f{number}.py") for number in range(40)]
        failures = []

        def create(opened):
            try:
                for start in range(0, 40, 10):
                    write(opened, *rows[start : start + 10])
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=create, args=(open_store(),)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert store.tally(1, 2, [], []) == Tally(rows=40, files=40, retirable=0)
        assert store.recall(RecallQuery(snapshot(), terms=("text",))).document_frequencies == {"text": 40}


class TestRejected:
    def test_a_bad_document_is_named_and_the_others_are_written(self, store, make_row, write, snapshot, dimension):
        rows = [make_row(f"text {number}", f"src/f{number}.py") for number in range(3)]
        zero = {rows[1].vector_key: np.zeros(dimension, np.float32)}
        with pytest.raises(WriteRejected) as caught:
            write(store, *rows, vectors=zero)
        store.refresh()
        assert list(caught.value.reasons) == [rows[1].id]
        assert store.count(snapshot(), Filters()) == 2

    def test_a_file_that_lacks_a_row_has_no_record_yet(self, store, make_row, write, dimension):
        rows = [make_row("good", "src/a.py"), make_row("bad", "src/b.py"), make_row("good", "src/b.py", ordinal=1)]
        zero = {rows[1].vector_key: np.zeros(dimension, np.float32)}
        with pytest.raises(WriteRejected):
            write(store, *rows, vectors=zero)
        store.refresh()
        assert [file.path for file in store.written_files(1, 2)] == ["src/a.py"]
        write(store, *rows)
        assert store.tally(1, 2, [], []) == Tally(rows=3, files=2, retirable=0)

    def test_vectors_of_another_model_are_refused_before_anything_is_written(self, store, make_row, write, dimension):
        row = make_row()
        with pytest.raises(ModelMismatch):
            write(store, row, vectors={row.vector_key: np.ones(dimension + 1, np.float32)})
        store.refresh()
        assert store.tally(1, 2, [], []) == Tally(rows=0, files=0, retirable=0)


class TestStrides:
    def test_strides_are_rows_of_the_same_chunk(self, store, make_row, write, snapshot):
        rows = [make_row("long text", stride=(index, 3)) for index in range(3)]
        write(store, *rows, make_row("short text", ordinal=1))
        assert store.tally(1, 2, [], []).rows == 4
        assert store.count(snapshot(), Filters()) == 2
        chunks = store.chunks(snapshot(), "src/app.py", "quarry")
        assert [chunk.id for chunk in chunks] == [rows[0].chunk.id, chunks[1].id]
        assert chunks[0].stride_info == StrideInfo(rows[0].chunk.id, 0, 3, 0, 0)

    def test_strides_are_retired_and_revived_together(self, store, make_row, write, snapshot, make_vector):
        rows = [make_row("long text", stride=(index, 3)) for index in range(3)]
        write(store, *rows)
        assert store.retire(1, 3, ["src/app.py"], []) == 4
        store.refresh()
        query = RecallQuery(snapshot(), vector=make_vector("query"), terms=("text",))
        assert not store.recall(query).candidates
        store.undo(1, 3)
        store.refresh()
        assert list(store.recall(query).candidates) == [rows[0].chunk.id]
