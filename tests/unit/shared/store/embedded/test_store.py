"""The embedded store beyond the contract: errors of the folder, incremental refresh, and freeing space."""

import random
import subprocess
import sys
import threading

import apsw
import numpy as np
import pytest

from codequarry.shared.errors import ModelMismatch, StoreUnavailable, UsageError
from codequarry.shared.model import Filters, Layer, PathGlobs, Snapshot
from codequarry.shared.store.embedded import columns, deletion
from codequarry.shared.store.embedded.store import EmbeddedStore
from codequarry.shared.store.records import RecallQuery, StoredRow

HEAD = Snapshot((Layer((1,), 1000),))
DIMENSION = 8


def vector_files(folder):
    return sorted(path.name for path in folder.glob("vectors-*"))


def found(store, *terms, vector=None):
    return store.recall(RecallQuery(HEAD, terms=terms, vector=vector, vector_limit=1000, term_limit=1000))


class TestFolder:
    def test_the_folder_is_created_with_its_parents(self, tmp_path):
        EmbeddedStore(tmp_path / "a" / "b", DIMENSION).close()
        assert (tmp_path / "a" / "b" / "index.sqlite3").exists()

    def test_a_file_in_place_of_the_folder_is_an_error(self, tmp_path):
        (tmp_path / "file").write_text("not a folder")
        for path in (tmp_path / "file", tmp_path / "file" / "store"):
            with pytest.raises(StoreUnavailable, match=r"can't be read or written .* on a local disk"):
                EmbeddedStore(path, DIMENSION)

    def test_a_folder_without_permissions_is_an_error(self, tmp_path):
        """Run as nobody if the tests run as root, because permissions do not stop root."""
        folder = tmp_path / "locked"
        folder.mkdir(mode=0o500)
        script = (
            "import os, sys, pathlib\n"
            "from codequarry.shared.store.embedded.store import EmbeddedStore\n"
            "from codequarry.shared.errors import StoreUnavailable\n"
            "if os.getuid() == 0: os.setuid(65534)\n"
            "try: EmbeddedStore(pathlib.Path(sys.argv[1]), 8)\n"
            "except StoreUnavailable as error: print(error)\n"
        )
        done = subprocess.run([sys.executable, "-c", script, str(folder)], capture_output=True, text=True, check=True)
        assert f"the folder {folder} can't be read or written" in done.stdout

    def test_a_damaged_database_is_an_error_with_a_remedy(self, folder):
        folder.mkdir()
        (folder / "index.sqlite3").write_bytes(b"no database at all\n" * 1000)
        with pytest.raises(StoreUnavailable, match=r"damaged.*codequarry fsck --repair.*codequarry restore"):
            EmbeddedStore(folder, DIMENSION)

    @pytest.mark.parametrize("damage", ["missing", "short"])
    def test_a_damaged_vector_file_is_an_error_with_a_remedy(self, open_store, make_row, put, folder, damage):
        put(open_store(), make_row())
        if damage == "missing":
            (folder / "vectors-1.f32").unlink()
        else:
            (folder / "vectors-1.f32").write_bytes(b"short")
        with pytest.raises(StoreUnavailable, match=r"the index's vectors-1.f32 is .*fsck --repair"):
            found(open_store(), vector=np.ones(DIMENSION, np.float32))

    def test_another_dimension_is_refused(self, store, folder):
        with pytest.raises(ModelMismatch, match="holds vectors of 8 numbers, but the embedding model produces 9"):
            EmbeddedStore(folder, 9)

    def test_another_format_is_refused(self, store, folder):
        with store._database.writing() as connection:
            connection.pragma("user_version", 99)
        with pytest.raises(StoreUnavailable, match="newer release of Codequarry"):
            EmbeddedStore(folder, DIMENSION)

    def test_a_closed_store_raises_a_clear_error(self, open_store):
        closed = open_store()
        closed.close()
        closed.close()
        with pytest.raises(StoreUnavailable, match="closed"):
            closed.read_document("head")

    def test_a_zero_query_vector_is_refused(self, store):
        with pytest.raises(UsageError):
            found(store, vector=np.zeros(DIMENSION, np.float32))

    def test_many_processes_can_create_the_store_at_once(self, folder):
        script = (
            "import sys, pathlib\n"
            "from codequarry.shared.store.embedded.store import EmbeddedStore\n"
            "store = EmbeddedStore(pathlib.Path(sys.argv[1]), 8)\n"
            "store.write_document(sys.argv[2], {}, None)\n"
            "store.close()\n"
        )
        runs = [subprocess.Popen([sys.executable, "-c", script, str(folder), str(n)]) for n in range(6)]
        assert [run.wait() for run in runs] == [0] * 6
        store = EmbeddedStore(folder, DIMENSION)
        assert [document.key for document in store.list_documents("")] == [str(n) for n in range(6)]
        store.close()


# How databases of version 1 differ from current databases, in three known states.
OF_VERSION_1 = """
DROP TABLE vector_block; DROP INDEX chunk_path; DROP INDEX chunk_slot; DROP INDEX file_path; DROP INDEX vector_slot;
ALTER TABLE change DROP COLUMN checksum;
PRAGMA user_version = 1;
"""
INDICES_OF_PATHS = (
    "CREATE INDEX chunk_path ON chunk (timeline, path)",
    "CREATE INDEX chunk_path ON chunk (timeline, path, born)",
    "",
)


def schema(store):
    with store._database.reading() as connection:
        return sorted(connection.execute("SELECT name, sql FROM sqlite_master")), connection.pragma("user_version")


def without_checksums(folder):
    """Rewrite the database as older releases wrote it, without checksums of pages."""
    made = folder / "index.sqlite3"
    newer = made.rename(folder / "newer.sqlite3")
    connection = apsw.Connection(str(made), vfs="unix")
    connection.pragma("auto_vacuum", "incremental")
    connection.pragma("journal_mode", "wal")
    connection.execute("ATTACH ? AS newer", (str(newer),))
    objects = connection.execute("SELECT name, sql FROM newer.sqlite_master WHERE sql NOT NULL ORDER BY type DESC")
    for name, sql in list(objects):
        if name.startswith("sqlite_"):
            continue
        connection.execute(sql)
        if sql.startswith("CREATE TABLE"):
            connection.execute(f"INSERT INTO main.{name} SELECT * FROM newer.{name}")
    connection.execute("DELETE FROM sqlite_sequence; INSERT INTO sqlite_sequence SELECT * FROM newer.sqlite_sequence")
    connection.pragma("user_version", connection.execute("PRAGMA newer.user_version").get)
    assert connection.reserve_bytes("main", -1) == 0
    connection.close()
    newer.unlink()


class TestUpgrade:
    @pytest.fixture(params=INDICES_OF_PATHS, ids=["first index", "second index", "no index"])
    def older(self, request, open_store, make_row, put, folder):
        store = open_store()
        put(store, make_row("a.py"), make_row("b.py"))
        current = schema(store)
        with store._database.writing() as connection:
            connection.execute(OF_VERSION_1 + request.param)
        assert schema(store) != current
        store.close()
        without_checksums(folder)
        return current

    def test_an_older_folder_is_upgraded_when_it_is_opened(self, older, open_store, make_row, put):
        store = open_store()
        assert schema(store) == older
        assert found(store, "word").document_frequencies == {"word": 2}
        put(store, make_row("c.py", born=4))
        assert store.retire(1, 5, ["a.py"], []) == 2
        assert store.collect(1, -1, 5, []) == 2
        assert [stored.row for stored in store.history(1) if isinstance(stored, StoredRow)] == [
            make_row("b.py"),
            make_row("c.py", born=4),
        ]

    def test_many_processes_can_upgrade_an_older_folder_at_once(self, older, open_store, folder):
        script = (
            "import sys, pathlib\n"
            "from codequarry.shared.store.embedded.store import EmbeddedStore\n"
            "EmbeddedStore(pathlib.Path(sys.argv[1]), 8).close()\n"
        )
        runs = [subprocess.Popen([sys.executable, "-c", script, str(folder)]) for _ in range(4)]
        assert [run.wait() for run in runs] == [0] * 4
        assert schema(open_store()) == older


class TestRefresh:
    def test_two_store_objects_see_each_others_changes(self, open_store, make_row, put):
        first, second = open_store(), open_store()
        for number in range(1, 30):
            writer, reader = (first, second) if number % 2 else (second, first)
            put(writer, make_row(f"{number}.py", f"word own{number}", born=number))
            if number % 3 == 0:
                writer.retire(1, 500 + number, [f"{number}.py"], [])
            if number % 5 == 0:
                writer.undo(1, number)
            left = {n for n in range(1, number + 1) if n % 3 and n % 5}
            for store in (reader, writer):
                answer = found(store, "word", f"own{number}")
                assert {candidate.chunk.path for candidate in answer.candidates.values()} == {f"{n}.py" for n in left}
                assert answer.document_frequencies == {"word": len(left), f"own{number}": int(number in left)}

    def test_a_refresh_reads_only_what_changed(self, open_store, make_row, put):
        first, second = open_store(), open_store()
        put(first, *(make_row(f"{number}.py") for number in range(100)))
        assert found(second, "word").live_chunks == 100
        known = second._columns._columns
        put(first, make_row("new.py"))
        with second._database.reading() as connection:
            entries = columns._entries_after(connection, known.seq)
        assert [len(body) // columns.RECORD.itemsize for _, _, _, body in entries] == [1]
        assert found(second, "word").live_chunks == 101

    def test_a_store_object_catches_up_after_a_fold(self, open_store, make_row, put, monkeypatch):
        monkeypatch.setattr(columns, "FOLD_AFTER", 5)
        first, second = open_store(), open_store()
        put(first, make_row("first.py"))
        assert found(second, "word").live_chunks == 1
        for number in range(2, 20):
            put(first, make_row(f"{number}.py", born=number))
            first.retire(1, number + 1, [f"{number - 1}.py"], [])
        answer = found(second, "word")
        assert {candidate.chunk.path for candidate in answer.candidates.values()} == {"first.py", "19.py"}

    def test_threads_read_while_another_thread_writes(self, store, make_row, put):
        failures = []
        done = threading.Event()

        def read():
            try:
                while not done.is_set():
                    answer = found(store, "word", vector=np.ones(DIMENSION, np.float32))
                    assert len(answer.by_vector) == len(answer.by_terms) == answer.live_chunks
                    assert answer.document_frequencies["word"] == answer.live_chunks
            except Exception as error:
                failures.append(error)

        readers = [threading.Thread(target=read) for _ in range(4)]
        for reader in readers:
            reader.start()
        for number in range(1, 30):
            put(store, *(make_row(f"{number}.py", born=number, ordinal=ordinal) for ordinal in range(5)))
        done.set()
        for reader in readers:
            reader.join()
        assert failures == []


class TestRoom:
    def test_a_vector_is_stored_once_however_many_rows_use_it(self, store, make_row, put, folder):
        rows = [make_row("same.py", timeline=timeline, born=timeline) for timeline in range(1, 20)]
        store.cache_vectors({rows[0].vector_key: np.ones(DIMENSION, np.float32)})
        put(store, *rows)
        assert (folder / "vectors-1.f32").stat().st_size == DIMENSION * 4

    def test_a_purge_frees_space_and_removes_words(self, open_store, make_row, put, folder):
        store = open_store()
        keep = make_row("keep.py", "word kept")
        put(store, keep)
        small = sum(path.stat().st_size for path in folder.iterdir())
        text = " ".join(f"secretword{number}" for number in range(2000))
        for number in range(20):
            put(
                store,
                *(make_row(f"secretpath{n}.py", f"{text} {n}", timeline=9) for n in range(number * 5, number * 5 + 5)),
            )
        store.purge([9])
        store.close()
        assert vector_files(folder) == ["vectors-2.f32"]
        assert (folder / "vectors-2.f32").stat().st_size == DIMENSION * 4
        assert sum(path.stat().st_size for path in folder.iterdir()) < 2 * small
        assert b"secret" not in (folder / "index.sqlite3").read_bytes()
        assert list(found(open_store(), "kept").candidates) == [keep.chunk.id]

    def test_a_large_collection_frees_space_and_removes_words(self, open_store, make_row, put, folder):
        store = open_store()
        keep = make_row("keep.py", "word kept")
        put(store, keep)
        small = sum(path.stat().st_size for path in folder.iterdir())
        for born in range(2, 22):
            text = " ".join(f"oldword{number}of{born}" for number in range(500))
            put(store, *(make_row(f"oldpath{n}.py", f"{text} {n}", born=born) for n in range(5)))
            store.retire(1, born + 1, [f"oldpath{n}.py" for n in range(5)], [])
        assert store.collect(1, -1, 30, []) == 20 * 10
        store.close()
        assert vector_files(folder) == ["vectors-2.f32"]
        assert (folder / "vectors-2.f32").stat().st_size == DIMENSION * 4
        assert sum(path.stat().st_size for path in folder.iterdir()) < 2 * small
        store = open_store()
        assert list(found(store, "kept").candidates) == [keep.chunk.id]
        with store._database.reading() as connection:
            assert connection.execute("SELECT count(*) FROM posting WHERE key LIKE 'toldword%'").get == 0
            assert connection.execute("SELECT group_concat(path) FROM path").get == "keep.py"

    def test_a_small_collection_moves_no_vectors(self, store, make_row, put, folder):
        put(store, *(make_row(f"{number}.py") for number in range(20)))
        store.retire(1, 3, ["7.py"], [])
        assert store.collect(1, -1, 3, []) == 2
        assert vector_files(folder) == ["vectors-1.f32"]
        assert store.cached_vectors([make_row("7.py").vector_key]) == {}

    def test_many_rows_are_collected_in_several_transactions(self, store, make_row, put, monkeypatch):
        monkeypatch.setattr(deletion, "_DELETED_AT_ONCE", 3)
        put(store, *(make_row(f"{number}.py") for number in range(20)))
        store.retire(1, 3, [f"{number}.py" for number in range(19)], [])
        assert store.collect(1, -1, 3, []) == 38
        assert found(store, "word").live_chunks == 1

    def test_the_disk_has_the_room_back_as_soon_as_rows_are_collected(self, open_store, make_row, put, folder):
        store, other = open_store(), open_store()

        def used() -> int:
            return sum(file.stat().st_size for file in folder.iterdir())

        put(store, make_row("kept.py"))
        before = used()
        put(store, *(make_row(f"{number}.py", random.Random(number).randbytes(5_000).hex()) for number in range(400)))
        filled = used()
        store.retire(1, 3, [f"{number}.py" for number in range(400)], [])
        assert other.count(Snapshot((Layer((1,), 4),)), Filters()) == 1
        store.collect(1, -1, 3, [])
        assert used() - before < 0.2 * (filled - before)

    def test_few_unused_vectors_are_not_moved(self, store, make_row, put, folder):
        put(store, *(make_row(f"{number}.py") for number in range(20)), make_row("gone.py", timeline=9))
        store.purge([9])
        assert vector_files(folder) == ["vectors-1.f32"]
        assert store.cached_vectors([make_row("gone.py").vector_key]) == {}

    def test_a_reader_of_the_old_vectors_can_continue(self, open_store, make_row, put, folder):
        store, other = open_store(), open_store()
        rows = [make_row(f"{number}.py", timeline=1 + 8 * (number % 2)) for number in range(40)]
        put(store, *rows)
        before = other.cached_vectors([rows[0].vector_key])[rows[0].vector_key]
        with other._database.reading() as connection:
            old = other._vectors.matrix(connection)
            copied = old.copy()
            store.purge([9])
            assert vector_files(folder) == ["vectors-2.f32"]
            np.testing.assert_array_equal(old, copied)
        np.testing.assert_array_equal(other.cached_vectors([rows[0].vector_key])[rows[0].vector_key], before)
        answer = found(other, "word", vector=before / np.linalg.norm(before))
        assert answer.by_vector[0] == rows[0].chunk.id
        assert answer.live_chunks == 20

    def test_a_read_that_started_before_a_purge_is_restarted(self, open_store, make_row, put):
        store, other = open_store(), open_store()
        rows = [make_row(f"{number}.py", timeline=1 + 8 * (number % 2)) for number in range(40)]
        put(store, *rows)
        attempts = []

        def read(connection):
            attempts.append(connection.execute("SELECT count(*) FROM chunk").get)
            if len(attempts) == 1:
                store.purge([9])
            return len(other._vectors.matrix(connection))

        assert other._read(read) == 20
        assert attempts == [40, 20]

    def test_purged_paths_match_no_glob(self, open_store, make_row, put):
        store = open_store()
        put(store, make_row("src/a.py"), *(make_row(f"src/{number}.py", timeline=9) for number in range(10)))
        globs = Filters(paths=PathGlobs(("src/",)))
        both = Snapshot((Layer((1, 9), 1000),))
        assert store.count(both, globs) == 11
        store.purge([9])
        assert store.count(both, globs) == open_store().count(both, globs) == 1
        put(store, make_row("src/b.py"))
        assert store.count(both, globs) == open_store().count(both, globs) == 2

    def test_data_that_a_crash_left_after_the_last_slot_is_overwritten(self, store, make_row, put, folder):
        put(store, make_row("a.py"))
        with (folder / "vectors-1.f32").open("ab") as file:
            file.write(b"\xff" * 999)
        put(store, make_row("b.py"))
        keys = [make_row("a.py").vector_key, make_row("b.py").vector_key]
        for vector in store.cached_vectors(keys).values():
            assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)

    def test_undone_rows_are_removed_from_lists_if_they_fill_most_of_a_segment(self, store, make_row, put):
        put(store, *(make_row(f"{number}.py", f"undoneword{number}") for number in range(50)))
        store.undo(1, 2)
        with store._database.reading() as connection:
            assert connection.execute("SELECT count(*) FROM posting").get == 0
        assert store.count(HEAD, Filters()) == 0

    def test_undone_rows_in_lists_are_not_reported_as_damage(self, store, make_row, put):
        put(store, *(make_row(f"{number}.py", f"word{number}") for number in range(7)))
        put(store, *(make_row(f"{number}.py", f"word{number}", born=3) for number in range(2)))
        store.undo(1, 3)
        assert store.inspect(thoroughly=True) == []
