"""Rules 16 and 18 of docs/versioned-index.md on both stores: random histories, and a collector that dies anywhere."""

import random
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha1, sha256

import numpy as np
import pytest

from codequarry.ingest.garbage_collection.collector import collect_after_run, collect_history
from codequarry.ingest.garbage_collection.sweeps import CLOCK_ALLOWANCE
from codequarry.ingest.transaction.chores import finish_chores
from codequarry.ingest.transaction.retention import TimelineExtent
from codequarry.shared.catalog.ledger import (
    change_head,
    check_counter,
    published_transactions,
    read_head,
    record_transaction,
)
from codequarry.shared.catalog.repositories import Summary, save_summary
from codequarry.shared.errors import Conflict, StoreError, StoreUnavailable
from codequarry.shared.model import INDEXED, Chunk, ChunkRow, FileRecord, Snapshot, Tokens
from codequarry.shared.settings.index import RetentionSettings
from codequarry.shared.store.embedded.store import EmbeddedStore
from codequarry.shared.store.opensearch.store import OpenSearchStore
from codequarry.shared.store.port import Store
from codequarry.shared.store.records import StoredRow
from codequarry.shared.versions.head import Place
from codequarry.shared.versions.snapshots import snapshot_at, version_snapshot
from codequarry.shared.versions.transactions import (
    TransactionRecord,
    abort,
    begin,
    drop_timeline,
    new_timeline,
    publish,
)

DIMENSION = 16
REPO = "project"
PATHS = [f"{name}.py" for name in "abcdefg"]
GRACE = 60.0
Tree = dict[str, str]


@pytest.fixture(params=["embedded", pytest.param("opensearch", marks=pytest.mark.opensearch)])
def store(request, tmp_path) -> Iterator[Store]:
    if request.param == "embedded":
        embedded = EmbeddedStore(tmp_path / "store", DIMENSION)
        yield embedded
        embedded.close()
        return
    node = request.getfixturevalue("opensearch_node")
    with node.empty_index(DIMENSION) as settings:
        opensearch = OpenSearchStore(settings, DIMENSION)
        yield opensearch
        opensearch.close()


class Clock:
    """A clock that tests move by hand."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class World:
    """The timelines of one repository in a store, and the expected contents of each of its transactions."""

    def __init__(self, store: Store, settings: RetentionSettings, seed: int = 0) -> None:
        self.store, self.settings, self.clock = store, settings, Clock()
        self.chance = random.Random(seed)
        self.trees: dict[Place, Tree] = {}
        self.held: list[tuple[datetime, Snapshot, Tree]] = []

    @property
    def head(self):
        return read_head(self.store)

    def timeline(self, ref: str = "") -> int:
        return change_head(self.store, lambda head: new_timeline(head, REPO, ref))

    def advance(self, timeline: int, tree: Tree, *, base: Place | None = None, default: bool = False) -> Place:
        """Bring a timeline to a tree, as an overlay if ``base`` is given, and return its place."""
        number = change_head(self.store, lambda head: begin(head, timeline, "me", base))
        below = self.trees[base] if base else {}
        mask = tuple(path for path in PATHS if below.get(path) != tree.get(path)) if base else ()
        wanted = {path: blob for path, blob in tree.items() if path in mask or not base}
        self._write(timeline, number, wanted, (mask, base))
        change_head(
            self.store, lambda head: (publish(head, timeline, "me", number, f"c{number}", default=default), None)
        )
        self.trees[timeline, number] = dict(tree)
        return timeline, number

    def _write(self, timeline: int, number: int, wanted: Tree, lies: tuple[tuple[str, ...], Place | None]) -> None:
        mask, base = lies
        base_timeline, base_number = base or (None, None)
        began = self.clock().isoformat()
        record = TransactionRecord(
            timeline, number, REPO, "main", f"c{number}", "r", 1, began, base_timeline, base_number, mask
        )
        record_transaction(self.store, record)
        live = {file.path: file.blob for file in self.store.files(snapshot_at(self.head, timeline, number))}
        changed = [path for path in PATHS if live.get(path) != wanted.get(path)]
        fresh = {path: wanted[path] for path in changed if path in wanted}
        rows = [row_of(timeline, number, path, blob) for path, blob in fresh.items()]
        files = [file_of(timeline, number, path, blob) for path, blob in fresh.items()]
        self.store.create(rows, files, {row.vector_key: vector_of(row.vector_key) for row in rows})
        self.store.retire(timeline, number, changed, self.head.aborted)
        self.store.refresh()
        save_summary(self.store, Summary(timeline, number, len(wanted), len(wanted)))

    def aborted(self, timeline: int, tree: Tree) -> None:
        """Begin, write and abort a transaction, and leave some of its rows to be undone later."""
        number = change_head(self.store, lambda head: begin(head, timeline, "me"))
        self._write(timeline, number, tree, ((), None))
        change_head(self.store, lambda head: (abort(head, timeline, "me", number), None))
        if self.chance.random() < 0.5:
            self.store.undo(timeline, number)

    def collect(self, **options):
        return collect_history(self.store, self.settings, [REPO], clock=self.clock, **options)

    def edited(self, tree: Tree) -> Tree:
        """Return a tree that differs a little."""
        new = dict(tree)
        for path in self.chance.sample(PATHS, 2):
            new[path] = sha1(str(self.chance.randint(0, 5)).encode()).hexdigest()
            if self.chance.random() < 0.3:
                del new[path]
        return new

    def shown(self, snapshot: Snapshot) -> Tree:
        files = [(file.path, file.blob) for file in self.store.files(snapshot)]
        assert len(files) == len(dict(files)), "no path twice"
        assert self.store.row_counts(snapshot) == {pair: 1 for pair in files}
        return dict(files)

    def askable(self) -> list[TransactionRecord]:
        head = self.head
        return [record for key in head.timelines for record in published_transactions(self.store, head, key)]

    def hold(self) -> None:
        """Start to read a random version, for as long as a request may take."""
        record = self.chance.choice(self.askable())
        tree = self.trees[record.timeline, record.number]
        self.held.append((self.clock(), version_snapshot(self.head, record), tree))

    def check(self) -> None:
        """Check that every version that can be read, and every current reader, sees the right tree."""
        head = self.head
        for record in self.askable():
            shown = self.shown(version_snapshot(head, record))
            assert shown == self.trees[record.timeline, record.number], record
        self.held = [reader for reader in self.held if self.clock() - reader[0] < timedelta(seconds=GRACE)]
        for _, snapshot, tree in self.held:
            assert self.shown(snapshot) == tree

    def check_nothing_is_left(self) -> None:
        """Check that only rows that can still be read are stored, and no documents of other transactions."""
        head = self.head
        for timeline, state in head.timelines.items():
            extent = TimelineExtent.of(head, timeline)
            for stored in self.store.history(timeline):
                born = stored.row.born if isinstance(stored, StoredRow) else stored.record.born
                if born not in head.aborted and stored.died not in head.aborted:
                    assert not extent.frees(born, stored.died)
            records = published_transactions(self.store, head, timeline)
            kept = {record.number for record in records}
            assert state.pins == {record.base for record in records if record.base}
            for kind in ("transaction", "summary"):
                prefix = f"{kind}:{timeline:010d}:"
                numbers = {int(document.key.removeprefix(prefix)) for document in self.store.list_documents(prefix)}
                assert {n for n in numbers if n < state.floor} <= head.pinned(timeline)
                assert kept <= numbers
        gone = {key for key, _ in self.trees} - set(head.timelines)
        for timeline in gone:
            assert not list(self.store.history(timeline))
            assert not self.store.list_documents(f"transaction:{timeline:010d}:")
        swept = {int(document.key.removeprefix("swept:")) for document in self.store.list_documents("swept:")}
        assert not swept & gone
        assert not self.store.list_documents("sweep:")
        assert not self.store.list_documents("chore:")


class Life:
    """Random changes to a repository."""

    def __init__(self, world: World) -> None:
        self.world, self.chance = world, world.chance
        self.branches: list[int] = []
        self.tree = world.edited({})
        self.newest = world.advance(world.timeline(), self.tree, default=True)

    def step(self) -> None:
        kinds = ["edit", "edit", "edit", "branch", "branch", "abort", "rebuild", "drop", "hold", "hold"]
        self.tree = self.world.edited(self.tree)
        getattr(self, self.chance.choice(kinds))()

    def edit(self) -> None:
        self.newest = self.world.advance(self.newest[0], self.tree, default=True)

    def abort(self) -> None:
        self.world.aborted(self.newest[0], self.tree)

    def rebuild(self) -> None:
        if self.chance.random() < 0.5:
            self.newest = self.world.advance(self.world.timeline(), self.tree, default=True)

    def branch(self) -> None:
        bases = [
            (record.timeline, record.number) for record in self.world.askable() if record.timeline not in self.branches
        ]
        if len(self.branches) < 3:
            self.branches.append(self.world.timeline(f"refs/heads/{len(self.world.trees)}"))
        tree, base = self.world.edited(self.tree), self.chance.choice(bases)
        self.world.advance(self.chance.choice(self.branches), tree, base=base)

    def drop(self) -> None:
        """Drop a branch; its rows stay as if the run had died before purging them, which is not tested here."""
        if self.branches:
            gone = self.branches.pop()
            change_head(self.world.store, lambda head: (drop_timeline(head, gone), None))
            self.world.trees = {place: tree for place, tree in self.world.trees.items() if place[0] != gone}

    def hold(self) -> None:
        self.world.hold()


def row_of(timeline: int, born: int, path: str, blob: str) -> ChunkRow:
    text = f"{path} {blob}\n"
    chunk = Chunk(
        sha256(text.encode()).hexdigest()[:32], REPO, path, blob, "python", "file", 1, 1, 0, len(text), text,
        sha256(text.encode()).hexdigest(),
    )  # fmt: skip
    return ChunkRow(chunk, Tokens(body=blob), timeline, born, f"key of {text}")


def file_of(timeline: int, born: int, path: str, blob: str) -> FileRecord:
    return FileRecord(REPO, path, blob, INDEXED, 1, "r", timeline, born, "python", 10, 1)


def vector_of(key: str):
    seed = list(sha256(key.encode()).digest())
    vector = np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)
    return vector / np.linalg.norm(vector)


def blobs(**files: int) -> Tree:
    return {f"{name}.py": sha1(str(text).encode()).hexdigest() for name, text in files.items()}


@pytest.fixture
def world(store) -> World:
    return World(store, RetentionSettings(keep_commits=2, grace_seconds=GRACE))


def test_rule_16_dropped_commits_cannot_be_read_and_their_rows_are_deleted_after_the_grace(world):
    main = world.timeline()
    first = world.advance(main, blobs(a=1, b=1), default=True)
    reading = version_snapshot(world.head, world.askable()[0])
    world.advance(main, blobs(a=2, b=1))
    world.advance(main, blobs(a=3, b=1))
    done = world.collect()
    assert [record.number for cut in done.cuts for record in cut.given_up] == [first[1]]
    assert (done.deleted, done.waiting) == (0, (main,))
    assert [record.number for record in world.askable()] == sorted(n for _, n in world.trees)[1:]
    world.clock.move(GRACE - 1)
    assert world.collect().deleted == 0
    assert world.shown(reading) == blobs(a=1, b=1), "a current reader still sees all of it"
    world.clock.move(1)
    assert world.collect().deleted == 2, "a.py's first row and its record"
    world.check()
    world.check_nothing_is_left()
    assert world.collect().deleted == 0


def test_rule_16_a_pinned_commit_stays_below_the_floor_until_its_overlay_releases_it(world):
    main = world.timeline()
    base = world.advance(main, blobs(a=1, b=1), default=True)
    branch = world.timeline("refs/heads/dev")
    world.advance(branch, blobs(a=1, b=9), base=base)
    for text in (2, 3, 4, 5):
        world.advance(main, blobs(a=text, b=text))
    world.collect()
    world.clock.move(GRACE)
    assert world.collect().deleted == 8, "between the base and the floor: a and b twice, and their records"
    world.check()
    with pytest.raises(Conflict):
        change_head(world.store, lambda head: begin(head, branch, "me", base))
    change_head(world.store, lambda head: (drop_timeline(head, branch), None))
    assert world.collect().deleted == 0, "a reader may have started just before"
    world.clock.move(GRACE)
    assert world.collect().deleted == 4, "the base's own a and b, and their records"
    world.store.purge([branch])
    world.check()


def test_rule_16_a_base_released_while_older_rows_wait_has_a_separate_grace(world):
    main = world.timeline()
    base = world.advance(main, blobs(a=1, b=1), default=True)
    branch = world.timeline("refs/heads/dev")
    world.advance(branch, blobs(a=1, b=9), base=base)
    for text in (2, 3, 4, 5):
        world.advance(main, blobs(a=text, b=text))
    world.collect()
    world.clock.move(GRACE - 1)
    reading = version_snapshot(world.head, published_transactions(world.store, world.head, branch)[0])
    change_head(world.store, lambda head: (drop_timeline(head, branch), None))
    world.clock.move(1)
    assert world.collect().deleted == 8
    assert world.shown(reading) == blobs(a=1, b=9), "the reader started a second ago"


def test_rule_16_rows_retired_by_an_aborted_transaction_are_live(world):
    main = world.timeline()
    world.advance(main, blobs(a=1), default=True)
    number = change_head(world.store, lambda head: begin(head, main, "me"))
    world.store.retire(main, number, ["a.py"], [])
    change_head(world.store, lambda head: (abort(head, main, "me", number), None))
    for text in (1, 2, 3):
        world.advance(main, blobs(a=1, b=text))
    world.collect()
    world.clock.move(GRACE)
    world.collect()
    world.check()
    world.store.undo(main, number)
    world.check()


def test_rule_16_a_rebuilt_history_is_dropped_with_its_last_commit(world):
    old, new = world.timeline(), None
    world.advance(old, blobs(a=1), default=True)
    world.advance(old, blobs(a=2))
    new = world.timeline()
    world.advance(new, blobs(a=3), default=True)
    world.collect()
    assert [record.commit for record in world.askable()] == [f"c{number}" for _, number in list(world.trees)[1:]]
    reading = version_snapshot(world.head, world.askable()[0])
    world.advance(new, blobs(a=4))
    assert any(cut.dropped for cut in world.collect().cuts)
    assert set(world.head.timelines) == {new}
    assert world.shown(reading) == blobs(a=2)
    world.clock.move(GRACE)
    world.collect()
    world.check()
    world.check_nothing_is_left()


def test_rule_16_a_time_noted_by_another_machine_is_trusted_only_after_the_clock_allowance(world):
    main = world.timeline()
    for text in (1, 2, 3):
        world.advance(main, blobs(a=text), default=True)
    world.collect()
    (note,) = world.store.list_documents("sweep:")
    world.store.write_document(note.key, {**note.body, "noted_by": "another machine"}, note.version)
    world.clock.move(GRACE)
    assert world.collect().deleted == 0
    world.clock.move(CLOCK_ALLOWANCE.total_seconds())
    assert world.collect().deleted == 2


def test_rule_16_a_busy_repository_is_collected_although_its_floor_moves_with_every_run(world):
    main = world.timeline()
    deleted = 0
    for text in range(12):
        world.advance(main, blobs(a=text), default=True)
        deleted += collect_after_run(world.store, world.settings, REPO, "", clock=world.clock).deleted
        world.clock.move(GRACE / 4)
    assert deleted > 6
    world.check()


def test_rule_16_every_run_collects_some_other_versions_too(world):
    """A branch that is no longer indexed loses its expired commits."""
    main, branch = world.timeline(), world.timeline("refs/heads/dev")
    base = world.advance(main, blobs(a=1), default=True)
    for text in (2, 3):
        world.advance(branch, blobs(a=text), base=base)
    world.clock.move(timedelta(days=91).total_seconds())
    collect_after_run(world.store, world.settings, REPO, "", clock=world.clock)
    assert len(world.askable()) == 2


EMBEDDED = [("embedded", seed, 60) for seed in range(12)]
OPENSEARCH = [pytest.param("opensearch", seed, 25, marks=pytest.mark.opensearch) for seed in range(2)]


@pytest.mark.parametrize(("store", "seed", "steps"), EMBEDDED + OPENSEARCH, indirect=["store"])
def test_rule_16_random_histories_with_readers_overlays_and_crashes(store, seed, steps, make_dying_store):
    world = World(store, RetentionSettings(keep_commits=3, keep_days=0.02, grace_seconds=GRACE), seed)
    chance = world.chance
    life = Life(world)
    for _ in range(steps):
        life.step()
        world.clock.move(chance.choice([1, 10, GRACE / 2, GRACE]))
        dying = make_dying_store(store, chance.randint(1, 12), chance.choice(["before", "within", "after"]))
        with suppress(StoreUnavailable):
            collect_history(dying, world.settings, [REPO], clock=world.clock)
        world.check()
    for _ in range(3):
        world.clock.move(GRACE)
        world.collect()
    finish_chores(store)
    world.check()
    world.check_nothing_is_left()


def test_rule_18_an_index_with_a_row_newer_than_its_counter_is_refused(world):
    main = world.timeline()
    world.advance(main, blobs(a=1), default=True)
    check_counter(world.store)
    late = world.head.counter + 5
    row, file = row_of(main, late, "b.py", "b"), file_of(main, late, "b.py", "b")
    world.store.create([row], [file], {row.vector_key: vector_of(row.vector_key)})
    with pytest.raises(StoreError, match=f"transaction {late}, but .* counter is {world.head.counter}"):
        check_counter(world.store)


def test_rule_18_the_check_counts_retirements_too(world):
    main = world.timeline()
    world.advance(main, blobs(a=1), default=True)
    world.store.retire(main, world.head.counter + 1, ["a.py"], [])
    with pytest.raises(StoreError):
        check_counter(world.store)


def test_rule_18_an_empty_index_passes_the_check(store):
    check_counter(store)
