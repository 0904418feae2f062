"""File records and the chunks of one file."""

import pytest

from codequarry.shared.model import Layer, Snapshot
from codequarry.shared.versions.snapshots import OPEN

ODD_PATHS = [
    "with space/and\ttab.py",
    "line\nbreak/fi\nle.py",
    "quote\"s'and`ticks`.py",
    "back\\slash\\x41.py",
    "ünï/日本/\U0001f600.py",
    "percent%20/and+plus&amp;.py",
    "brackets[1]/{a,b}/(c)/star*question?.py",
    "-dash/#hash/~tilde/@at/!bang/^caret/$dollar.py",
    ".hidden/..odd/...py",
    "a" * 300 + ".py",
]


class TestFiles:
    def test_a_record_is_returned_with_every_field(self, store, make_file, snapshot):
        record = make_file(
            "assets/logo.svg",
            repo="other",
            verdict="too-large",
            rows=0,
            rules="rules-2",
            language="svg",
            size=5_000_000_000,
            lines=12,
            detail="5 GB, the limit is 1 MB",
        )
        store.create([], [record], {})
        store.refresh()
        assert list(store.files(snapshot())) == [record]

    def test_records_are_ordered_by_path(self, store, make_file, snapshot):
        names = ["b.py", "a/z.py", "a.py", "a/b/c.py", "Z.py", "ä.py", "a-b.py"]
        store.create([], [make_file(name) for name in names], {})
        store.refresh()
        assert [file.path for file in store.files(snapshot())] == sorted(names)

    def test_only_the_requested_paths_are_returned(self, store, make_file, snapshot):
        store.create([], [make_file(f"{number}.py") for number in range(10)], {})
        store.refresh()
        asked = ["3.py", "7.py", "unknown.py", *(f"no {number}.py" for number in range(3000))]
        assert [file.path for file in store.files(snapshot(), asked)] == ["3.py", "7.py"]
        assert list(store.files(snapshot(), [])) == []

    def test_thousands_of_records_are_returned(self, store, make_file, snapshot):
        names = [f"src/{number:05d}.py" for number in range(12_000)]
        store.create([], [make_file(name, rows=0) for name in names], {})
        store.refresh()
        assert [file.path for file in store.files(snapshot())] == names

    def test_a_path_of_any_characters_is_found(self, store, make_row, write, snapshot):
        write(store, *(make_row(f"text of {path}", path) for path in ODD_PATHS))
        assert [file.path for file in store.files(snapshot())] == sorted(ODD_PATHS)
        for path in ODD_PATHS:
            assert [file.path for file in store.files(snapshot(), [path])] == [path]
            assert [chunk.path for chunk in store.chunks(snapshot(), path, "quarry")] == [path]
        assert store.retire(1, 3, ODD_PATHS, []) == 2 * len(ODD_PATHS)

    def test_timelines_of_a_layer_may_have_files_of_the_same_path(self, store, make_file):
        records = [make_file("a.py", repo="one", timeline=1), make_file("a.py", repo="two", timeline=9)]
        store.create([], records, {})
        store.refresh()
        seen = Snapshot((Layer((1, 9), 100),))
        assert list(store.files(seen)) == records

    def test_a_masked_path_comes_from_the_layer_above(self, store, make_file):
        base = [make_file(name, timeline=1) for name in ("a.py", "b.py", "gone.py")]
        overlay = [make_file("b.py", timeline=9, born=5, blob="new"), make_file("c.py", timeline=9, born=5)]
        store.create([], base + overlay, {})
        store.refresh()
        mask = frozenset({"b.py", "c.py", "gone.py"})
        seen = Snapshot((Layer((9,), 5), Layer((1,), 3, mask=mask)))
        assert list(store.files(seen)) == [base[0], *overlay]
        assert list(store.files(seen, ["b.py", "gone.py"])) == [overlay[0]]

    def test_no_layer_or_no_timeline_shows_nothing(self, store, make_file, snapshot):
        store.create([], [make_file()], {})
        store.refresh()
        assert list(store.files(Snapshot(()))) == []
        assert list(store.files(Snapshot((Layer((), 100),)))) == []

    def test_reading_may_stop_half_way_while_others_write(self, store, make_file, snapshot):
        store.create([], [make_file(f"{number:04d}.py") for number in range(3000)], {})
        store.refresh()
        reader = store.files(snapshot())
        assert next(reader).path == "0000.py"
        store.create([], [make_file("9999.py", born=3)], {})
        del reader
        store.refresh()
        assert sum(1 for _ in store.files(snapshot())) == 3001


class TestFileLives:
    def test_dead_and_living_records_of_the_timelines_are_returned_with_their_ends(self, store, make_file):
        records = [make_file(path, timeline=timeline, born=2) for path in "ba" for timeline in (9, 1, 5)]
        store.create([], records, {})
        store.refresh()
        store.retire(1, 4, ["a"], [])
        store.create([], [make_file("a", timeline=1, born=4, verdict="binary"), make_file("c", timeline=1)], {})
        store.refresh()
        lives = [
            (life.record.path, life.record.timeline, life.record.born, life.died, life.record.verdict)
            for life in store.file_lives([9, 1], ["b", "a", "none"])
        ]
        assert lives == [
            ("a", 1, 2, 4, "indexed"),
            ("a", 1, 4, OPEN, "binary"),
            ("a", 9, 2, OPEN, "indexed"),
            ("b", 1, 2, OPEN, "indexed"),
            ("b", 9, 2, OPEN, "indexed"),
        ]
        assert list(store.file_lives([], ["a"])) == list(store.file_lives([1], [])) == []


class TestWrittenFiles:
    def test_only_files_of_the_transaction_and_timeline_are_returned(self, store, make_file):
        records = [
            make_file(name, timeline=timeline, born=born) for name in "ba" for timeline in (1, 9) for born in (2, 3)
        ]
        store.create([], records, {})
        store.refresh()
        assert [(file.path, file.timeline, file.born) for file in store.written_files(9, 3)] == [
            ("a", 9, 3),
            ("b", 9, 3),
        ]
        assert list(store.written_files(9, 4)) == []

    def test_they_are_visible_before_the_transaction_is_published(self, store, make_file, snapshot):
        store.create([], [make_file(born=3)], {})
        store.refresh()
        assert len(list(store.written_files(1, 3))) == 1
        assert list(store.files(snapshot(hidden={3}))) == []


class TestChunks:
    def test_the_chunks_of_a_file_are_in_file_order(self, store, make_row, write, snapshot):
        write(store, *(make_row(f"text {number}", ordinal=number) for number in (11, 2, 0, 9, 10)))
        found = store.chunks(snapshot(), "src/app.py", "quarry")
        assert [chunk.ordinal for chunk in found] == [0, 2, 9, 10, 11]

    def test_only_chunks_of_the_path_and_repository_are_returned(self, store, make_row, write, snapshot):
        write(store, make_row("mine"), make_row("theirs", repo="other", timeline=9), make_row("longer", "src/app.pyi"))
        found = store.chunks(snapshot(1, 9), "src/app.py", "quarry")
        assert [chunk.text for chunk in found] == ["mine"]
        assert store.chunks(snapshot(1, 9), "app.py", "quarry") == []
        assert store.chunks(snapshot(1, 9), "SRC/APP.PY", "quarry") == []

    @pytest.mark.parametrize(("at", "text"), [(2, "old"), (3, "new"), (9, "new")])
    def test_a_commit_shows_its_own_content(self, store, make_row, write, snapshot, at, text):
        write(store, make_row("old", born=2))
        store.retire(1, 3, ["src/app.py"], [])
        write(store, make_row("new", born=3))
        assert [chunk.text for chunk in store.chunks(snapshot(at=at), "src/app.py", "quarry")] == [text]

    def test_a_file_of_hundreds_of_chunks_is_complete(self, store, make_row, write, snapshot):
        write(store, *(make_row(f"text {number}", ordinal=number) for number in range(1200)))
        found = store.chunks(snapshot(), "src/app.py", "quarry")
        assert [chunk.ordinal for chunk in found] == list(range(1200))
