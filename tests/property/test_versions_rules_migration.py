"""Rule 17: moving to another index, on both stores, with models that differ in dimension, window and prefix."""

import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from codequarry.ingest.migration import migrate as migration
from codequarry.ingest.migration import note as migration_note
from codequarry.ingest.migration import switch as migration_switch
from codequarry.ingest.migration.leftovers import remove_left_editions
from codequarry.ingest.migration.migrate import MigrationReport, migrate
from codequarry.ingest.migration.note import unfinished_migrations
from codequarry.ingest.removal.removal import remove_repository
from codequarry.ingest.request.index_request import IndexReport, IndexRequest, Workshop
from codequarry.ingest.run.pipeline import index_repository
from codequarry.ingest.run.rename import rename_repository
from codequarry.search_api.answers.json import to_json
from codequarry.search_api.query.request import SearchRequest
from codequarry.search_api.search.backend import Backend
from codequarry.shared.access.grants import OWNER
from codequarry.shared.catalog.ledger import change_head, published_transactions, read_head
from codequarry.shared.embedding.table_embedder import TableEmbedder
from codequarry.shared.errors import IndexMoved, LeaseHeld, ModelMismatch, TextsRejected
from codequarry.shared.index.identity import read_identity
from codequarry.shared.index.opened_index import OpenIndex, open_index, open_index_to_write
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.embedded.store import EmbeddedStore
from codequarry.shared.store.factory import editions_of
from codequarry.shared.store.opensearch.store import OpenSearchStore
from codequarry.shared.store.records import StoredFile, StoredRow
from codequarry.shared.versions.moves import published
from codequarry.shared.versions.refs import Ref
from codequarry.shared.versions.snapshots import version_snapshot
from codequarry.shared.versions.transactions import begin, check_held, publish, raise_floor

# The same weights cut to other dimensions are different and fast models; the `make_home` fixture writes them.
TABLES = {"large": 128, "small": 64}
OLD: dict[str, Any] = {"model": "large"}
NEW: dict[str, Any] = {"model": "small"}
WINDOWED: dict[str, Any] = {"model": "small", "context_window": 64}
BUILT_IN: dict[str, Any] = {"model": "codequarry-1"}


@dataclass(frozen=True)
class Place:
    """The location of an index; ``settings`` returns the settings of a run there."""

    home: Path
    sections: dict[str, Any]

    def settings(self, embedding: dict[str, Any] = OLD, **sections: Any) -> SettingsModel:
        """Return settings with an [embedding] section."""
        indexing = {"processes": 0, "grace_seconds": 0, "lease_seconds": 2}
        given = {"indexing": indexing, "retention": {"grace_seconds": 0}, **self.sections, **sections}
        return SettingsModel(home=self.home, embedding=embedding, **given)

    def index(self, origin: str, embedding: dict[str, Any] = OLD, **request: Any) -> IndexReport:
        """Index a repository as a separate run does."""
        settings = self.settings(embedding)
        with closing(editions_of(settings)) as editions:
            index = open_index_to_write(settings, editions)
        with closing(index):
            return index_repository(IndexRequest(origin, **request), Workshop(index.store, index.embedder, settings))

    @contextmanager
    def opened(self, embedding: dict[str, Any] = OLD) -> Iterator[OpenIndex]:
        """Open the index as a reader does."""
        settings = self.settings(embedding)
        with closing(editions_of(settings)) as editions, closing(open_index(settings, editions)) as index:
            yield index

    def migrate(self, embedding: dict[str, Any]) -> MigrationReport:
        """Move the index to the model of an [embedding] section."""
        return migrate(self.settings(embedding), embedding["model"])

    def search(self, query: str, embedding: dict[str, Any] = OLD, **request: Any) -> dict[str, Any]:
        """Search as a newly started service does."""
        with closing(Backend(self.settings(embedding))) as backend:
            return to_json(backend.search(SearchRequest(query, **request), OWNER))


@pytest.fixture
def make_home(tmp_path: Path, place_table: Callable[[Path, int], Path]) -> Callable[[str], Path]:
    """Return a function that makes a data folder with the models in it."""

    def make(name: str) -> Path:
        for model, dimension in TABLES.items():
            place_table(tmp_path / name / "models" / model, dimension)
        return tmp_path / name

    return make


@pytest.fixture
def embedded_place(make_home: Callable[[str], Path]) -> Callable[[str], Place]:
    """Return a function that makes an embedded place."""
    return lambda name: Place(make_home(name), {})


@pytest.fixture
def opensearch_place(make_home: Callable[[str], Path], opensearch_node: Any) -> Iterator[Callable[[str], Place]]:
    """Yield a function that makes a place in the cluster; its indices are deleted at the end."""
    made: list[Place] = []

    def make(name: str) -> Place:
        index = f"test-move-{uuid.uuid4().hex[:12]}"
        section = {"urls": (opensearch_node.url,), "index": index}
        made.append(Place(make_home(name), {"store": "opensearch", "opensearch": section}))
        return made[-1]

    yield make
    for place in made:
        with closing(editions_of(place.settings())) as editions:
            for edition in editions.present():
                editions.remove(edition)


@pytest.fixture(params=["embedded", pytest.param("opensearch", marks=pytest.mark.opensearch)])
def make_place(request: pytest.FixtureRequest) -> Callable[[str], Place]:
    """Return a function that makes a place on each store."""
    make: Callable[[str], Place] = request.getfixturevalue(f"{request.param}_place")
    return make


@pytest.fixture
def place(make_place: Callable[[str], Place]) -> Place:
    """Return a place."""
    return make_place("home")


@pytest.fixture
def here(embedded_place: Callable[[str], Place]) -> Place:
    """Return an embedded place, for tests in which the store does not matter."""
    return embedded_place("home")


Version = dict[str, list[tuple[Any, ...]]]


def described(index: OpenIndex) -> dict[str, Version]:
    """Return the rows and records of every version that can be read, by commit, without their numbers."""
    head = read_head(index.store)
    return {
        f"{record.repo} {record.ref} {record.commit}": described_version(index, version_snapshot(head, record))
        for timeline in published(head)
        for record in published_transactions(index.store, head, timeline)
    }


def described_version(index: OpenIndex, snapshot: Any) -> Version:
    """Return the live contents of a snapshot."""
    store = index.store
    files = list(store.files(snapshot))
    chunks = [chunk for file in files for chunk in store.chunks(snapshot, file.path, file.repo)]
    return {
        "files": [(file.path, file.blob, file.verdict, file.rows, file.rules, file.lines) for file in files],
        "chunks": [
            (chunk.path, chunk.blob, chunk.id, chunk.text, chunk.start_line, chunk.stride_info) for chunk in chunks
        ],
        "rows": sorted(store.row_counts(snapshot).items()),
    }


def vectors_of(index: OpenIndex) -> dict[tuple[str, int], np.ndarray]:
    """Return the vector of every row, by chunk and stride."""
    store = index.store
    rows = [
        stored.row
        for key in published(read_head(store))
        for stored in store.history(key)
        if isinstance(stored, StoredRow)
    ]
    known = store.cached_vectors(row.vector_key for row in rows)
    return {
        (row.chunk.id, row.chunk.stride_info.stride_index if row.chunk.stride_info else 0): known[row.vector_key]
        for row in rows
    }


def lives(index: OpenIndex) -> list[tuple[Any, ...]]:
    """Return every row and record with its timeline, birth and death; only the first stride of a chunk."""
    store = index.store
    found = []
    for key in published(read_head(store)):
        for stored in store.history(key):
            if isinstance(stored, StoredFile):
                found.append(("file", key, stored.record.born, stored.died, stored.record.path, stored.record.blob))
            elif stored.row.chunk.stride_info is None or stored.row.chunk.stride_info.stride_index == 0:
                found.append(("row", key, stored.row.born, stored.died, stored.row.chunk.path, stored.row.chunk.id))
    return sorted(found)


FILES: dict[str, str | bytes] = {
    "app/server.py": "def serve(port):\n    # listen on a port\n    return open_socket(port)\n" * 3,
    "app/retry.py": "def backoff(attempt):\n    # wait longer after every failure\n    return 2 ** attempt\n",
    "long.py": "def long():\n" + "".join(f"    value_{line} = compute_something({line})\n" for line in range(60)),
    "docs/guide.md": "# Guide\n\nHow to begin.\n\n## Install\n\nRun the installer.\n",
    "logo.bin": b"\0\1\2",
    "empty.py": "",
}


def grown(make_repository: Callable[..., Any], place: Place) -> Any:
    """Make and index a repository with a history: edits, a file that returns, a rename, a branch, a removal."""
    repository = make_repository("project", FILES)
    place.index(repository.origin)
    repository.write("app/retry.py", "def backoff(attempt):\n    return min(60, 2 ** attempt)\n")
    repository.remove("docs/guide.md")
    repository.commit("edit")
    place.index(repository.origin)
    repository.write("app/retry.py", FILES["app/retry.py"])
    repository.git("mv", "app/server.py", "app/listener.py")
    repository.commit("revert and rename")
    place.index(repository.origin)
    repository.git("checkout", "-q", "-b", "dev")
    repository.write("app/feature.py", "def feature_flag(name):\n    return name in ENABLED\n")
    repository.remove("long.py")
    repository.commit("branch")
    place.index(repository.origin, ref=Ref("branch", "dev"))
    repository.git("checkout", "-q", "main")
    return repository


def fresh(make_place: Callable[[str], Place], place: Place, repository: Any, embedding: dict[str, Any]) -> Place:
    """Index the same history into another place, with the other model from the first commit on."""
    other = make_place("fresh")
    commits = repository.git("rev-list", "--reverse", "main").decode().split()
    for commit in commits:
        repository.git("checkout", "-q", "-B", "main", commit)
        other.index(repository.origin, embedding)
    other.index(repository.origin, embedding, ref=Ref("branch", "dev"))
    return other


def assert_same(moved: OpenIndex, made: OpenIndex) -> None:
    """Compare a moved index with one made with the model: versions, vectors, identity."""
    assert described(moved) == described(made)
    left, right = vectors_of(moved), vectors_of(made)
    assert left.keys() == right.keys()
    for key, vector in left.items():
        np.testing.assert_allclose(vector, right[key], atol=1e-6)
    assert read_identity(moved.store) == read_identity(made.store)


@pytest.mark.parametrize("target", [NEW, WINDOWED], ids=["another dimension", "strides"])
def test_rule_17_a_moved_index_equals_a_fresh_index_of_the_model(make_repository, make_place, place, target):
    repository = grown(make_repository, place)
    with place.opened() as index:
        before = lives(index)
    report = place.migrate(target)
    assert (report.moved, report.dimension, report.resumed, report.refused) == (True, 64, False, ())
    assert report.embedded + report.reused_embeddings >= report.chunks >= 10
    other = fresh(make_place, place, repository, target)
    with place.opened(target) as moved, other.opened(target) as made:
        assert moved.edition == 2
        assert moved.embedder.name == made.embedder.name
        assert lives(moved) == before, "nothing is lost, and every row keeps its death"
        assert_same(moved, made)


def test_strides_are_joined_for_a_model_without_a_length_limit(make_repository, embedded_place):
    make_place = embedded_place
    place = make_place("windowed")
    repository = make_repository("project", FILES)
    place.index(repository.origin, WINDOWED)
    place.migrate(OLD)
    other = make_place("fresh")
    other.index(repository.origin, OLD)
    with place.opened() as moved, other.opened() as made:
        assert_same(moved, made)
        assert all(chunk[-1] is None for version in described(moved).values() for chunk in version["chunks"])


def renamed(place: Place, old: str, new: str, embedding: dict[str, Any] = OLD) -> None:
    """Rename a repository as `codequarry repos rename` does."""
    settings = place.settings(embedding)
    with closing(editions_of(settings)) as editions:
        index = open_index_to_write(settings, editions)
    with closing(index):
        rename_repository(old, new, Workshop(index.store, index.embedder, settings))


def test_a_renamed_repository_moves_with_all_its_commits(make_repository, place):
    grown(make_repository, place)
    renamed(place, "project", "better")
    with place.opened() as index:
        before, versions = lives(index), described(index)
    assert len(versions) == 4
    place.migrate(NEW)
    with place.opened(NEW) as moved:
        assert lives(moved) == before
        assert described(moved) == versions


class WithoutVectors:
    """A store whose embedding cache knows nothing."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def cached_vectors(self, _: Any) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize("store", [lambda store: store, WithoutVectors], ids=["with vectors", "without vectors"])
def test_a_rename_copies_strides_with_their_vectors(make_repository, here, store):
    """The cache of a cluster may lack vectors of rows; they are made again from the rows' text."""

    def by_text(index: OpenIndex) -> dict[tuple[Any, ...], bytes]:
        history = (stored for key in published(read_head(index.store)) for stored in index.store.history(key))
        rows = [stored.row for stored in history if isinstance(stored, StoredRow)]
        known = index.store.cached_vectors(row.vector_key for row in rows)
        strides = ((row.chunk.stride_info.stride_index if row.chunk.stride_info else 0, row) for row in rows)
        return {(row.chunk.path, row.chunk.text, at): known[row.vector_key].tobytes() for at, row in strides}

    repository = make_repository("project", FILES)
    here.index(repository.origin, WINDOWED)
    repository.remove("long.py")
    repository.commit("no long file")
    here.index(repository.origin, WINDOWED)
    settings = here.settings(WINDOWED)
    with closing(editions_of(settings)) as editions:
        index = open_index_to_write(settings, editions)
    with closing(index):
        before = by_text(index)
        assert any(stride for _, _, stride in before)
        rename_repository("project", "better", Workshop(store(index.store), index.embedder, settings))
        assert by_text(index) == before


def test_an_index_can_move_twice_and_back(make_repository, place):
    repository = make_repository("project", FILES)
    place.index(repository.origin)
    with place.opened() as index:
        before = described(index)
    place.migrate(NEW)
    report = place.migrate(OLD)
    assert (report.moved, report.edition) == (True, 3)
    with place.opened() as index:
        assert described(index) == before
    with closing(editions_of(place.settings())) as editions:
        remove_left_editions(editions, grace_seconds=0)
        assert (editions.active(), editions.present()) == (3, [3])


def test_an_empty_index_takes_a_model_of_another_dimension(make_repository, place):
    repository = make_repository("project", FILES)
    place.index(repository.origin)
    with place.opened() as index:
        remove_repository("project", index.store, place.settings())
        counter = read_head(index.store).counter
    place.index(repository.origin, NEW)
    with place.opened(NEW) as index:
        assert (index.edition, index.embedder.dimension, len(described(index))) == (2, 64, 1)
        assert min(read_head(index.store).timelines) > counter, "numbers are never reused"


def test_a_service_that_indexes_after_the_move_keeps_the_chosen_model(make_repository, here):
    """Its settings still name the old model, but it indexes with the model of the index."""
    repository = make_repository("project", FILES)
    here.index(repository.origin)
    here.migrate(NEW)
    repository.write("new.py", "x = 1\n")
    repository.commit("new")
    with here.opened(OLD) as index:
        chosen = read_identity(index.store)
        index_repository(IndexRequest(repository.origin), Workshop(index.store, index.embedder, here.settings(OLD)))
        assert read_identity(index.store) == chosen
    with here.opened(OLD) as index:
        assert index.degraded == ()


def test_an_old_edition_is_kept_for_its_grace_and_then_deleted(make_repository, here):
    here.index(make_repository("project", FILES).origin)
    here.migrate(NEW)
    with closing(editions_of(here.settings())) as editions:
        assert remove_left_editions(editions, grace_seconds=60) == []
        assert editions.present() == [1, 2]
        assert remove_left_editions(editions, grace_seconds=0) == [1]
        assert editions.present() == [2]


def test_nothing_is_moved_if_nothing_differs(make_repository, here):
    assert not here.migrate(NEW).moved
    here.index(make_repository("project", FILES).origin)
    assert not here.migrate(OLD).moved
    with closing(editions_of(here.settings())) as editions:
        assert editions.present() == [1]


def test_imports_continue_in_the_new_edition_without_embedding_anything_twice(make_repository, here):
    repository = grown(make_repository, here)
    here.migrate(NEW)
    assert here.index(repository.origin, NEW).changed is False
    repository.write("app/new.py", "def fresh_function():\n    return 1\n")
    repository.commit("after the move")
    report = here.index(repository.origin, NEW)
    assert (report.files_changed, report.embedded) == (1, 1)
    with pytest.raises(ModelMismatch, match="codequarry migrate --model large"):
        here.index(repository.origin, OLD)


def test_a_file_that_the_new_model_refuses_is_listed_and_the_others_move(make_repository, here, monkeypatch):
    files = {f"f{number}.py": f"def f{number}():\n    pass\n" for number in range(6)}
    repository = make_repository("project", files | {"bad.py": "def poison():\n    pass\n"})
    here.index(repository.origin)
    embed = TableEmbedder.embed_documents

    def refusing(self, texts):
        vectors = embed(self, texts)
        refused = {at: "not such words" for at, text in enumerate(texts) if "poison" in text}
        if refused:
            raise TextsRejected(refused, {at: row for at, row in enumerate(vectors) if at not in refused})
        return vectors

    monkeypatch.setattr(TableEmbedder, "embed_documents", refusing)
    report = here.migrate(NEW)
    assert report.refused == (("bad.py", "not such words"),)
    with here.opened(NEW) as index:
        (version,) = described(index).values()
    assert {path: (verdict, rows) for path, _, verdict, rows, *_ in version["files"]} == {
        **dict.fromkeys(files, ("indexed", 1)),
        "bad.py": ("embedder-refused", 0),
    }
    assert len(version["chunks"]) == 6


class Killed(BaseException):
    """The process ends here, in the middle of its work."""


class Dying:
    """Passes a number of writes to the new edition and the old head document on, and dies at the next write."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, kind: type, writes: int) -> None:
        self.left = writes
        self.dead = False
        for name in ("write_document", "delete_document", "create", "retire", "undo", "cache_vectors"):
            monkeypatch.setattr(kind, name, self._wrapped(getattr(kind, name)))

    def _wrapped(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(store: Any, *arguments: Any, **keywords: Any) -> Any:
            if self.dead or self.left <= 0:
                self.dead = True
                raise Killed
            self.left -= 1
            return method(store, *arguments, **keywords)

        return call


KINDS = {"embedded": EmbeddedStore, "opensearch": OpenSearchStore}


def test_a_migration_that_dies_at_any_write_is_resumed_by_the_next(make_repository, make_place, monkeypatch):
    """Until it completes, the index answers as before; then like an index that was migrated without interruption."""
    place = make_place("home")
    repository = grown(make_repository, place)
    with place.opened() as index:
        before, first = described(index), lives(index)
    chance = random.Random(7)
    for _ in range(60):
        with monkeypatch.context() as patch:
            dying = Dying(patch, KINDS[place.settings().store], chance.randrange(0, 45))
            with suppress(Killed):
                place.migrate(NEW)
        with place.opened(NEW) as index:
            assert described(index) == before or index.edition > 1
            assert index.degraded == ()
            if index.edition > 1 and not dying.dead:
                break
    report = place.migrate(NEW)
    assert not report.moved
    other = fresh(make_place, place, repository, NEW)
    with place.opened(NEW) as moved, other.opened(NEW) as made:
        assert lives(moved) == first
        assert_same(moved, made)


@pytest.mark.parametrize("writes", range(0, 12))
def test_a_death_around_the_switch_leaves_one_edition_complete(make_repository, embedded_place, monkeypatch, writes):
    """Writes are counted from the moment when writers must wait."""
    place = embedded_place("home")
    repository = make_repository("project", FILES)
    place.index(repository.origin)
    monkeypatch.setattr("codequarry.shared.catalog.ledger.MOVE_SECONDS", 0.2)
    with monkeypatch.context() as patch:
        hold = migration_switch.hold_timelines

        def hold_then_die(*given):
            if not hasattr(hold_then_die, "dying"):
                hold_then_die.dying = Dying(patch, EmbeddedStore, writes)
            return hold(*given)

        patch.setattr(migration_switch, "hold_timelines", hold_then_die)
        with suppress(Killed):
            place.migrate(NEW)
    repository.write("later.py", "def written_later():\n    return 1\n")
    repository.commit("later")
    with place.opened() as index:
        current = OLD if index.edition == 1 else NEW
    report = place.index(repository.origin, current)
    assert (report.changed, report.files_changed) == (True, 1)
    place.migrate(NEW)
    assert place.search("written_later", NEW)["results"][0]["path"] == "later.py"
    with place.opened(NEW) as index:
        assert len(described(index)) == 2


def test_the_pointer_is_corrected_after_a_death_just_after_the_switch(make_repository, place, monkeypatch):
    place.index(make_repository("project", FILES).origin)
    with closing(editions_of(place.settings())) as editions:
        kind = type(editions)

        def die(*_):
            raise Killed

        with monkeypatch.context() as patch:
            patch.setattr(kind, "activate", die)
            with pytest.raises(Killed):
                place.migrate(NEW)
        assert editions.active() == 1
        with place.opened() as index:
            assert index.edition == 2
        assert editions.active() == 2


def test_a_late_writer_writes_nothing_visible(make_repository, here):
    repository = make_repository("project", FILES)
    here.index(repository.origin)
    settings = here.settings()
    with closing(editions_of(settings)) as editions:
        late = open_index_to_write(settings, editions)
    with closing(late):
        here.migrate(NEW)
        repository.write("late.py", "def late():\n    pass\n")
        repository.commit("late")
        with pytest.raises(IndexMoved, match="moved to model 'small'"):
            index_repository(IndexRequest(repository.origin), Workshop(late.store, late.embedder, settings))
    assert here.search("late.py", NEW)["results"][0]["path"] != "late.py"
    assert here.index(repository.origin, NEW).files_changed == 1


def test_an_import_running_at_the_switch_is_refused_and_starts_again(make_repository, here):
    """Its rows are not copied: only published rows move."""
    repository = make_repository("project", FILES)
    here.index(repository.origin)
    repository.write("more.py", "def more():\n    pass\n")
    commit = repository.commit("more")
    settings = here.settings()
    with closing(editions_of(settings)) as editions, closing(open_index_to_write(settings, editions)) as index:
        timeline = read_head(index.store).defaults["project"]
        number = change_head(index.store, lambda head: begin(head, timeline, "somebody"))
        here.migrate(NEW)
        with pytest.raises(IndexMoved):
            check_held(read_head(index.store), timeline, "somebody", number)
        with pytest.raises(IndexMoved):
            change_head(index.store, lambda head: (publish(head, timeline, "somebody", number, commit), None))
    with here.opened(NEW) as moved:
        head = read_head(moved.store)
        assert (head.open, head.timelines[timeline].lease, number in head.aborted) == ({}, None, True)
    report = here.index(repository.origin, NEW)
    assert (report.commit, report.resumed) == (commit, False)


def test_a_second_migration_at_the_same_time_is_refused(make_repository, here, monkeypatch):
    """It reports that the first migration is running, and changes nothing."""
    here.index(make_repository("project", FILES).origin)
    begun, go_on = threading.Event(), threading.Event()
    fill = migration._fill

    def slowly(*given):
        begun.set()
        assert go_on.wait(60)
        fill(*given)

    monkeypatch.setattr(migration, "_fill", slowly)
    monkeypatch.setattr(migration_note, "BEAT_SECONDS", 0.1)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(here.migrate, NEW)
        assert begun.wait(60)
        with closing(editions_of(here.settings())) as editions:
            (running,) = unfinished_migrations(editions)
            assert (running.edition, running.note.setting, running.is_running) == (2, "small", True)
        for other in (NEW, BUILT_IN):
            with pytest.raises(LeaseHeld, match="a migration to 'small' is running in process"):
                here.migrate(other)
        go_on.set()
        assert first.result().moved
    with closing(editions_of(here.settings())) as editions:
        assert unfinished_migrations(editions) == []


def test_leftovers_of_a_migration_to_a_third_model_are_deleted(make_repository, here, monkeypatch):
    here.index(make_repository("project", FILES).origin)
    with monkeypatch.context() as patch:
        patch.setattr(migration, "switch", lambda *_: (_ for _ in ()).throw(Killed()))
        with pytest.raises(Killed):
            here.migrate(BUILT_IN)
    with closing(editions_of(here.settings())) as editions:
        (left,) = unfinished_migrations(editions)
        assert (left.edition, left.is_running) == (2, False)
        assert here.migrate(NEW).edition == 3
        assert editions.dimension(2) is None


class Readers:
    """Search in a loop until told to stop; keep failures and the dimensions of the query vectors."""

    def __init__(self, patch: pytest.MonkeyPatch, pool: ThreadPoolExecutor) -> None:
        self.dimensions: list[int] = []
        self.failures: list[BaseException] = []
        self._stop, self._pool = threading.Event(), pool
        self._loops: list[Future[int]] = []
        for kind in KINDS.values():
            patch.setattr(kind, "recall", self._watched(kind.recall))

    def _watched(self, recall: Callable[..., Any]) -> Callable[..., Any]:
        def check(store: Any, query: Any) -> Any:
            found = recall(store, query)
            if query.vector is not None:
                self.dimensions.append(len(query.vector))
            return found

        return check

    def start(self, search: Callable[[], dict[str, Any]]) -> None:
        """Start a loop."""
        self._loops.append(self._pool.submit(self._read, search))

    def _read(self, search: Callable[[], dict[str, Any]]) -> int:
        done = 0
        while not self._stop.is_set():
            try:
                answer = search()
                assert answer["results"], answer["reason"]
                assert answer["degraded"] == []
                assert len({hit["commit"] for hit in answer["results"]}) == 1
            except BaseException as error:
                self.failures.append(error)
                return done
            done += 1
        return done

    def end(self) -> list[int]:
        """Wait until a search has used the new model, stop, and return the number of searches of each loop."""
        deadline = time.monotonic() + 30
        while 64 not in self.dimensions[-2:] and time.monotonic() < deadline and not self.failures:
            time.sleep(0.05)
        self._stop.set()
        return [loop.result() for loop in self._loops]


def write_on(repository: Any, place: Place) -> int:
    """Commit and index in a loop until the index has moved, and return the number of commits published before."""
    for number in range(100):
        repository.write(f"step{number}.py", f"def step_{number}():\n    return {number}\n")
        repository.commit(f"step {number}")
        try:
            place.index(repository.origin, OLD)
        except (IndexMoved, ModelMismatch):
            return number
    raise AssertionError("the index never moved")


def test_no_search_fails_or_mixes_models_while_writers_and_a_migration_run(
    make_repository, place, make_place, monkeypatch
):
    """Readers loop as threads of one service and as processes that reopen the index, with imports in between."""
    repository = grown(make_repository, place)
    monkeypatch.setattr(migration, "LAST_PASS_ROWS", 0)
    request = SearchRequest("how long do we wait after a failure", top_k=5)
    with closing(Backend(place.settings())) as backend, ThreadPoolExecutor(4) as pool:
        readers = Readers(monkeypatch, pool)
        for _ in range(2):
            readers.start(lambda: to_json(backend.search(request, OWNER)))
        readers.start(lambda: place.search("where is the port opened"))
        migrating = pool.submit(place.migrate, NEW)
        published_before = write_on(repository, place)
        assert migrating.result().moved
        place.index(repository.origin, NEW)
        assert all(count > 0 for count in readers.end())
    assert readers.failures == []
    assert set(readers.dimensions) == {128, 64}
    other = make_place("fresh")
    other.index(repository.origin, NEW)
    with place.opened(NEW) as moved, other.opened(NEW) as made:
        ((newest, version),) = described(made).items()
        everything = described(moved)
        assert everything[newest] == version
        # Four earlier commits, those published during the migration, and the commit at which the writer was refused.
        assert len(everything) == 4 + published_before + 1
        kept = vectors_of(moved)
        for row, vector in vectors_of(made).items():
            np.testing.assert_allclose(kept[row], vector, atol=1e-6)


def drop_history(store: EmbeddedStore, timeline: int) -> None:
    """Collect all but the newest commit of a timeline, at once."""
    number = read_head(store).timelines[timeline].published
    change_head(store, lambda head: (raise_floor(head, timeline, number, number, ()), None))
    assert store.collect(timeline, -1, number, ())


def test_rows_collected_while_they_are_copied_are_not_alive_in_the_copy(make_repository, embedded_place, monkeypatch):
    """Their retirement was collected too; only the count shows that they must not be there."""
    place = embedded_place("home")
    repository = make_repository("project", FILES)
    place.index(repository.origin)
    history = EmbeddedStore.history
    done = []

    def disturbed(store, timeline, after=-1):
        for stored in history(store, timeline, after):
            if isinstance(stored, StoredFile) and not done:
                done.append(True)
                repository.write("app/retry.py", "def backoff(attempt):\n    return 0\n")
                repository.commit("edit")
                place.index(repository.origin)
                drop_history(store, timeline)
            yield stored

    monkeypatch.setattr(EmbeddedStore, "history", disturbed)
    place.migrate(NEW)
    monkeypatch.undo()
    other = embedded_place("fresh")
    other.index(repository.origin, NEW)
    with place.opened(NEW) as moved, other.opened(NEW) as made:
        (newest,) = described(made).values()
        (version,) = described(moved).values()
        assert version == newest
