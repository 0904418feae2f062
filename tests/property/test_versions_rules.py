"""The rules of docs/versioned-index.md, each with a test that fails without it."""

from contextlib import suppress
from dataclasses import replace

import pytest

from codequarry.ingest.removal.removal import remove_repository
from codequarry.ingest.request.wanted_version import resolve_request
from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.ingest.source.source import fetch_source
from codequarry.ingest.source.target import IndexTarget
from codequarry.ingest.transaction.acquisition import acquire, undo_transaction
from codequarry.ingest.transaction.holder import new_holder, retire_holder
from codequarry.ingest.transaction.lease import Heartbeat, Held, await_end, take_over_lease
from codequarry.ingest.transaction.placement import Placer
from codequarry.shared.catalog.ledger import change_head, published_transactions, read_head, read_transaction
from codequarry.shared.errors import Conflict, LeaseHeld, LimitExceeded, StoreError, StoreUnavailable
from codequarry.shared.model import INDEXED, FileRecord, Filters
from codequarry.shared.versions.head import Lease
from codequarry.shared.versions.snapshots import head_snapshot, snapshot_at
from codequarry.shared.versions.transactions import begin, publish


class World:
    """One repository and its index."""

    def __init__(self, repository, workshop, make_dying_store) -> None:
        self.repository, self.workshop, self.store = repository, workshop, workshop.store
        self.make_dying_store = make_dying_store
        self.request = IndexRequest(repository.origin)

    def index(self, **changes):
        return index_repository(replace(self.request, **changes), self.workshop)

    def crash(self, writes: int, when: str, only: str = "", **changes) -> None:
        """Run until the n-th write, and die there."""
        dying = self.make_dying_store(self.store, writes, when, only)
        with pytest.raises(StoreUnavailable):
            index_repository(replace(self.request, **changes), replace(self.workshop, store=dying))

    def placer(self, *, full: bool = False) -> Placer:
        settings = self.workshop.settings
        source = fetch_source(resolve_request(self.request, settings, self.store), settings, self.store)
        return Placer(self.store, source, "project", settings.indexing, full=full)

    @property
    def head(self):
        return read_head(self.store)

    @property
    def timeline(self) -> int:
        return self.head.defaults["project"]

    def files(self, snapshot=None) -> dict[str, str]:
        records = self.store.files(snapshot or head_snapshot(self.head))
        return {record.path: record.blob for record in records if record.verdict == INDEXED}

    def text(self, path: str, snapshot=None) -> str:
        chunks = self.store.chunks(snapshot or head_snapshot(self.head), path, "project")
        return "".join(chunk.text for chunk in chunks)


@pytest.fixture
def world(make_repository, make_workshop, make_dying_store) -> World:
    repository = make_repository(files={"a.py": "a = 1\n", "b.py": "b = 1\n", "c.py": "c = 1\n"})
    return World(repository, make_workshop(), make_dying_store)


def test_rule_1_a_file_that_returns_has_a_second_life_and_keeps_its_first(world):
    world.index()
    world.repository.write("a.py", "a = 2\n")
    world.repository.commit()
    world.index()
    world.repository.write("a.py", "a = 1\n")
    world.repository.commit()
    world.index()
    first, second, third = published_transactions(world.store, world.head, world.timeline)
    texts = [world.text("a.py", snapshot_at(world.head, world.timeline, t.number)) for t in (first, second, third)]
    assert texts == ["a = 1\n", "a = 2\n", "a = 1\n"]
    snapshots = [snapshot_at(world.head, world.timeline, t.number) for t in (first, third)]
    earlier, later = (world.store.chunks(snapshot, "a.py", "project")[0] for snapshot in snapshots)
    assert earlier.id == later.id, "the id that users see does not depend on the life"


def test_rule_2_a_batch_of_a_transaction_that_is_no_longer_held_is_refused(world):
    """The lease is taken away while the first batch is being embedded."""
    embedder = world.workshop.embedder

    class Slow:
        def __getattr__(self, name):
            return getattr(embedder, name)

        def embed_documents(self, texts):
            lease = next(iter(read_head(world.store).timelines.values())).lease
            (timeline,) = read_head(world.store).timelines
            assert take_over_lease(world.store, timeline, lease, "another process")
            return embedder.embed_documents(texts)

    with pytest.raises(LeaseHeld, match="another process took over this import"):
        index_repository(world.request, replace(world.workshop, embedder=Slow()))
    (number,) = world.head.open
    (timeline,) = world.head.timelines
    assert world.store.tally(timeline, number, [], []).rows == 0
    assert world.head.timelines[timeline].lease.holder == "another process"


def test_rule_3_retiring_does_not_touch_rows_of_the_same_or_newer_transactions(world):
    world.index()
    world.repository.write("a.py", "a = 2\n")
    world.repository.commit()
    report = world.index()
    number = world.head.timelines[world.timeline].published
    assert report.files_changed == 1
    assert world.store.retire(world.timeline, number, ["a.py", "b.py"], []) == 2, "b.py: one row and its record"
    assert world.text("a.py") == "a = 2\n"


def test_rule_3_rows_retired_by_an_aborted_transaction_can_be_retired_again(world):
    world.index()
    timeline = world.timeline
    dead = change_head(world.store, lambda head: begin(head, timeline, "x"))
    world.store.retire(timeline, dead, ["a.py"], [])
    assert world.store.retire(timeline, dead + 1, ["a.py"], []) == 0
    assert world.store.retire(timeline, dead + 1, ["a.py"], [dead]) == 2


def test_rule_4_an_edited_ignore_file_changes_verdicts_of_unchanged_blobs(world):
    world.index()
    world.repository.write(".codequarryignore", "b.py\n")
    world.repository.commit()
    report = world.index()
    assert report.files_changed == 2, "the ignore file itself and b.py"
    assert set(world.files()) == {".codequarryignore", "a.py", "c.py"}
    assert report.skipped == {"excluded": 1}
    (skipped,) = world.store.files(head_snapshot(world.head), ["b.py"])
    assert (skipped.verdict, skipped.detail, skipped.rows) == ("excluded", "b.py", 0)


def test_rule_4_a_changed_setting_is_seen_without_a_new_commit(world, make_workshop):
    world.index()
    world.workshop = make_workshop(scan={"max_file_bytes": 5})
    report = world.index()
    assert (report.files_changed, report.skipped) == (3, {"too-large": 3})
    assert world.store.count(head_snapshot(world.head), Filters()) == 0


def test_rule_5_no_row_changes_if_only_the_commit_changes(world):
    first = world.index()
    world.repository.commit("nothing but a new commit")
    second = world.index()
    assert (second.changed, second.files_changed, second.chunks_written) == (True, 0, 0)
    assert second.commit != first.commit
    state = world.head.timelines[world.timeline]
    assert state.commit == second.commit
    (record,) = [r for r in world.store.files(head_snapshot(world.head)) if r.path == "a.py"]
    assert record.born < state.published


def test_rule_6_nothing_is_visible_before_publication(world):
    world.index()
    before = world.files()
    world.repository.write("a.py", "a = 2\n")
    world.repository.remove("b.py")
    new = world.repository.commit()
    deaths = 0
    while world.head.timelines[world.timeline].commit != new:
        assert world.files() == before
        assert world.text("a.py") == "a = 1\n"
        deaths += 1
        dying = world.make_dying_store(world.store, deaths, "after")
        with suppress(StoreUnavailable):
            index_repository(world.request, replace(world.workshop, store=dying))
    assert deaths > 5
    assert set(world.files()) == {"a.py", "c.py"}
    assert world.text("a.py") == "a = 2\n"


def test_rule_6_a_transaction_that_differs_from_its_plan_is_not_published(world):
    """A store that loses a row succeeds in every call; only the count shows it."""
    store = world.store

    class Forgetful:
        def __getattr__(self, name):
            return getattr(store, name)

        def create(self, rows, files, vectors):
            store.create(rows[1:], files, vectors)

    with pytest.raises(StoreError, match="wrote 2 rows of 3 files instead of 3 of 3"):
        index_repository(world.request, replace(world.workshop, store=Forgetful()))
    assert world.files() == {}
    assert not world.head.open
    assert world.index().chunks_live == 3


def test_rule_6_only_the_holder_publishes(world):
    world.index()
    timeline = world.timeline
    number = change_head(world.store, lambda head: begin(head, timeline, "one"))
    with pytest.raises(Conflict):
        change_head(world.store, lambda head: (publish(head, timeline, "two", number, "c"), None))


def test_rule_7_a_crashed_run_with_the_same_target_is_resumed(world):
    world.index()
    for name in "abc":
        world.repository.write(f"{name}.py", f"{name} = 2\n")
    world.repository.commit()
    world.workshop = replace(world.workshop, settings=_in_batches_of_one(world.workshop.settings))
    world.crash(2, "after", "create")
    assert _written(world) == 2
    (number,) = world.head.open
    report = world.index()
    assert report.resumed
    assert world.head.timelines[world.timeline].published == number
    assert report.chunks_written == 1, "two of three files had been written"
    assert world.text("c.py") == "c = 2\n"


def test_rule_7_a_crashed_run_with_another_target_is_undone(world):
    world.index()
    world.repository.write("a.py", "a = 2\n")
    old = world.repository.commit()
    world.crash(1, "after", "create")
    assert _written(world) == 1
    (number,) = world.head.open
    world.repository.write("a.py", "a = 3\n")
    world.repository.commit()
    report = world.index()
    assert not report.resumed
    assert number in world.head.aborted
    assert read_transaction(world.store, world.timeline, number).commit == old, "its target never changed"
    assert world.store.tally(world.timeline, number, [], []).rows == 0
    assert world.text("a.py") == "a = 3\n"


@pytest.mark.parametrize("full", [False, True])
def test_rule_7_the_transaction_of_a_silent_run_is_undone_and_never_resumed(world, full):
    """It may wake up at any later time, and then nothing of it may be visible."""
    world.index()
    target, placer = (
        IndexTarget("project", "main", "c" * 40, "r", repo_id=world.head.id_of_repo("project")),
        world.placer(full=full),
    )
    silent = acquire(world.store, target, placer, "elsewhere", full=full, lease_seconds=1, say=lambda _: None)
    held = acquire(world.store, target, placer, "me", full=full, lease_seconds=0.1, say=lambda _: None)
    assert not held.resumed
    assert held.number > silent.number
    assert silent.number in world.head.aborted
    with pytest.raises(Conflict):
        undo_transaction(world.store, silent)
    assert held.number in world.head.open, "the silent run can't undo a transaction of another run"


def test_rule_8_a_lease_expires_by_the_clock_of_the_observer(world):
    world.index()
    timeline = world.timeline
    stuck = "elsewhere machine 1 2 3"
    number = change_head(world.store, lambda head: begin(head, timeline, stuck))
    messages = []
    seen = await_end(world.store, timeline, Lease(stuck, number), 0.2, messages.append)
    assert seen == Lease(stuck, number)
    assert messages == ["waiting for process 1 on elsewhere"]


def test_rule_8_a_holder_that_beats_keeps_its_lease(world):
    world.index()
    timeline = world.timeline
    number = change_head(world.store, lambda head: begin(head, timeline, "elsewhere"))
    held = Held(timeline, number, "elsewhere", new=False)
    with (
        Heartbeat(world.store, held, lease_seconds=0.3),
        pytest.raises(LeaseHeld, match="is being indexed by elsewhere"),
    ):
        await_end(world.store, timeline, world.head.timelines[timeline].lease, 30, lambda _: None)


def test_rule_8_a_holder_that_ended_on_this_machine_is_not_waited_for(world):
    world.index()
    holder = new_holder()
    retire_holder(holder)
    change_head(world.store, lambda head: begin(head, world.timeline, holder))
    world.repository.commit("another")
    assert world.index().resumed


def test_rule_9_an_aborted_run_leaves_nothing_and_its_number_stays_hidden(world):
    world.index()
    before = world.files()
    for name in "abcde":
        world.repository.write(f"{name}.py", f"{name} = 2\n")
    world.repository.commit()
    with pytest.raises(LimitExceeded):
        world.index(max_chunks=2)
    (number,) = world.head.aborted
    assert number in world.head.hidden
    assert world.files() == before
    assert world.store.tally(world.timeline, number, [], []).rows == 0
    assert world.index().chunks_live == 5


def test_rule_9_an_interrupted_abort_is_finished_by_the_next_run(world):
    world.index()
    world.repository.write("a.py", "a = 2\n")
    world.repository.commit()
    world.crash(1, "after", "create")
    assert _written(world) == 1
    (number,) = world.head.open
    world.repository.write("a.py", "a = 3\n")
    world.repository.commit()
    world.crash(1, "before", "undo")
    assert number in world.head.aborted
    assert world.store.tally(world.timeline, number, [], []).rows == 1, "aborted, not undone yet"
    world.index()
    assert world.store.tally(world.timeline, number, [], []).rows == 0
    assert not world.store.list_documents("chore:")


def test_rule_10_a_reader_keeps_its_first_view(world):
    world.index()
    snapshot = head_snapshot(world.head)
    world.repository.write("a.py", "a = 2\n")
    world.repository.remove("b.py")
    world.repository.commit()
    world.index()
    assert set(world.files(snapshot)) == {"a.py", "b.py", "c.py"}
    assert world.text("a.py", snapshot) == "a = 1\n"
    assert set(world.files()) == {"a.py", "c.py"}


def test_rule_11_a_rebuild_switches_the_default_timeline_in_its_publication(world):
    world.index()
    old = world.timeline
    report = world.index(full=True)
    assert report.full
    assert report.chunks_written == report.chunks_live == 3
    assert report.embedded == 0, "every vector is in the cache"
    assert world.timeline > old
    assert set(world.head.timelines) == {world.timeline}
    assert world.store.count(snapshot_at(world.head, old, world.head.counter), Filters()) == 0


def test_rule_11_an_interrupted_rebuild_is_resumed_by_the_same_request(world):
    world.index()
    world.crash(1, "after", "create", full=True)
    assert _written(world) == 3
    drafts = set(world.head.timelines) - {world.timeline}
    assert world.files(), "readers still see the old timeline"
    report = world.index(full=True)
    assert report.resumed
    assert {world.timeline} == drafts


def test_rule_11_an_interrupted_rebuild_is_dropped_if_it_is_not_requested_again(world):
    world.index()
    timeline = world.timeline
    world.crash(1, "after", "create", full=True)
    assert _written(world) == 3
    report = world.index()
    assert not report.changed
    assert set(world.head.timelines) == {timeline}
    assert not world.head.open


def test_only_one_run_at_a_time_works_on_a_repository(world):
    world.index()
    target, say = (
        IndexTarget("project", "main", "c" * 40, "r", repo_id=world.head.id_of_repo("project")),
        lambda _: None,
    )
    placer = world.placer()
    first = acquire(world.store, target, placer, "someone elsewhere", full=False, lease_seconds=1, say=say)
    assert first is not None
    with Heartbeat(world.store, first, 0.3), pytest.raises(LeaseHeld):
        acquire(world.store, target, world.placer(full=True), "me", full=True, lease_seconds=20, say=say)


def test_a_run_that_started_a_moment_earlier_is_noticed_when_the_number_is_taken(world):
    """The other run takes its lease just after this run has looked for leases."""
    world.index()
    timeline = world.timeline

    class Late:
        def __init__(self, store):
            self.store, self.reads = store, 0

        def __getattr__(self, name):
            return getattr(self.store, name)

        def read_document(self, key):
            document = self.store.read_document(key)
            self.reads += key == "head"
            if key == "head" and self.reads == 1:
                change_head(self.store, lambda head: begin(head, timeline, "elsewhere"))
            return document

    messages = []
    target = IndexTarget("project", "main", "c" * 40, "r", repo_id=world.head.id_of_repo("project"))
    placer = world.placer(full=True)
    held = acquire(Late(world.store), target, placer, "me", full=True, lease_seconds=0.1, say=messages.append)
    assert held is not None
    assert messages == ["waiting for elsewhere"]
    assert set(world.head.open) == {held.number}, "the other transaction was undone after its lease had expired"


def _written(world: World) -> int:
    """Return the number of file records of open transactions."""
    files: list[FileRecord] = []
    for number, timeline in world.head.open.items():
        files += world.store.written_files(timeline, number)
    return len(files)


def _in_batches_of_one(settings):
    return settings.model_copy(update={"indexing": settings.indexing.model_copy(update={"batch_files": 1})})


def test_rule_16_a_removed_repository_stays_visible_to_current_readers(world, monkeypatch):
    """The rows are deleted after the grace period, like those of a replaced timeline."""
    world.index()
    snapshot, seen = head_snapshot(world.head), []
    monkeypatch.setattr("codequarry.ingest.transaction.chores.time.sleep", lambda _: seen.append(world.files(snapshot)))
    before = world.files(snapshot)
    remove_repository("project", world.store, world.workshop.settings)
    assert seen == [before]
    assert world.files(snapshot) == {}
