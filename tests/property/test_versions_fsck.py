"""Every difference between an index and git is found, named, and repaired completely or not at all."""

from contextlib import suppress
from dataclasses import replace

import pytest

from codequarry.ingest.fsck.versions import check_version, repair_version
from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.ingest.transaction.chores import note_purge
from codequarry.ingest.transaction.holder import new_holder, retire_holder
from codequarry.shared.catalog.ledger import change_head, published_transactions, read_head
from codequarry.shared.errors import GitError, StoreError, StoreUnavailable, UsageError
from codequarry.shared.store.records import StoredFile, StoredRow
from codequarry.shared.versions.refs import Ref
from codequarry.shared.versions.snapshots import version_snapshot
from codequarry.shared.versions.transactions import abort, begin, drop_timeline

FILES = {f"{name}.py": f"def {name}():\n    return 1\n" for name in ("a", "b", "c", "d")}


@pytest.fixture
def workshop(make_workshop_on_each):
    """Return a workshop over an empty store of each kind."""
    return make_workshop_on_each()


class World:
    """A repository of two commits in an index, and ways to damage it."""

    def __init__(self, repository, workshop) -> None:
        self.repository, self.workshop, self.store = repository, workshop, workshop.store
        self.index()
        repository.write("d.py", "def d():\n    return 2\n")
        repository.commit()
        self.index()

    def index(self, **options):
        return index_repository(IndexRequest(self.repository.origin, **options), self.workshop)

    @property
    def head(self):
        return read_head(self.store)

    @property
    def timeline(self) -> int:
        return self.head.defaults["project"]

    @property
    def number(self) -> int:
        return self.head.timelines[self.timeline].published

    def records(self, timeline=None):
        return published_transactions(self.store, self.head, timeline or self.timeline)

    def check(self, record=None, **options):
        return check_version(record or self.records()[-1], self.workshop, **options)

    def kinds(self, record=None, **options) -> dict[str, str]:
        """Return the kinds of problems by path; problems without a path are keyed by their kind."""
        return {problem.path or problem.kind: problem.kind for problem in self.check(record, **options).problems}

    def stored(self, path: str) -> tuple[StoredRow, StoredFile]:
        """Return the newest row and record of a path."""
        rows, files = None, None
        for stored in self.store.history(self.timeline):
            if isinstance(stored, StoredRow) and stored.row.chunk.path == path:
                rows = stored
            elif isinstance(stored, StoredFile) and stored.record.path == path:
                files = stored
        return rows, files

    def plant(self, path: str, *, row=None, record=None, keep=False, **chunk) -> None:
        """Replace the row and record of a path by others, or add others beside them."""
        known_row, known_file = self.stored(path) if path in FILES else self.stored("a.py")
        if not keep:
            self.store.retire(self.timeline, self.number, [path], [])
        fields = {"path": path, **chunk}
        new = replace(known_row.row, chunk=replace(known_row.row.chunk, **fields), born=self.number)
        file = replace(known_file.record, path=path, born=self.number, **(record or {}))
        vectors = self.store.cached_vectors([new.vector_key])
        self.store.create([] if row is False else [new], [] if record is False else [file], vectors)
        self.store.refresh()

    def damage(self) -> dict[str, str]:
        """Damage every file but one, and return the expected problems."""
        self.store.retire(self.timeline, self.number, ["a.py"], [])
        self.plant("b.py", text="def b():\n    return 7\n")
        self.plant("z.py", blob="e" * 40, record={"blob": "e" * 40}, keep=True)
        return {"a.py": "missing", "b.py": "text", "z.py": "extra"}


@pytest.fixture
def world(make_repository, make_workshop) -> World:
    return World(make_repository(files=FILES), make_workshop())


@pytest.fixture
def any_world(make_repository, workshop) -> World:
    """Return a world on each kind of store."""
    return World(make_repository(files=FILES), workshop)


def test_an_undamaged_index_is_clean(any_world):
    report = any_world.check()
    assert (report.problems, report.files, report.texts, report.same_rules) == ((), 4, 4, True)


def test_an_older_kept_commit_is_clean(world):
    report = world.check(world.records()[0])
    assert (report.problems, report.files) == ((), 4)


def test_missing_extra_and_changed_files_are_each_named(any_world):
    wrong = any_world.damage()
    assert any_world.kinds() == wrong


def test_a_repair_rewrites_only_the_wrong_paths(any_world):
    wrong = any_world.damage()
    done = repair_version(any_world.check(), any_world.workshop)
    assert (done.files_changed, done.files_removed) == (2, 1)
    assert any_world.kinds() == {}
    assert done.commit == done.previous_commit
    assert wrong


def test_a_wrong_blob_is_named_and_repaired(world):
    world.plant("a.py", blob="f" * 40, record={"blob": "f" * 40})
    assert world.kinds() == {"a.py": "blob"}
    repair_version(world.check(), world.workshop)
    assert world.kinds() == {}


def test_two_file_versions_at_one_path_are_named_and_repaired(any_world):
    any_world.plant("a.py", blob="f" * 40, record={"blob": "f" * 40}, keep=True)
    assert {problem.kind for problem in any_world.check().problems} == {"doubled", "blob"}
    repair_version(any_world.check(), any_world.workshop)
    assert any_world.kinds() == {}


def test_rows_without_a_record_are_named_and_repaired(any_world):
    any_world.plant("y.py", record=False, keep=True)
    assert any_world.kinds() == {"y.py": "rows"}
    repair_version(any_world.check(), any_world.workshop)
    assert any_world.kinds() == {}


def test_a_record_without_its_rows_is_named_and_repaired(world):
    world.plant("a.py", row=False)
    assert {(problem.path, problem.kind) for problem in world.check().problems} == {("a.py", "rows"), ("a.py", "text")}
    repair_version(world.check(), world.workshop)
    assert world.kinds() == {}


def test_a_wrong_verdict_is_named_and_repaired(world):
    world.plant("a.py", row=False, record={"verdict": "binary", "rows": 0})
    assert world.kinds() == {"a.py": "verdict"}
    repair_version(world.check(), world.workshop)
    assert world.kinds() == {}


def test_verdicts_of_other_settings_are_not_compared(world, make_workshop):
    settings = world.workshop.settings.model_copy(
        update={"scan": world.workshop.settings.scan.model_copy(update={"max_file_bytes": 5})}
    )
    world.workshop = replace(world.workshop, settings=settings)
    report = world.check()
    assert (report.problems, report.same_rules) == ((), False)
    world.index()
    report = world.check()
    assert (report.problems, report.same_rules, report.texts) == ((), True, 0)


def test_readers_see_a_repair_completely_or_not_at_all(world, make_dying_store):
    wrong = world.damage()
    deaths = 0
    while True:
        deaths += 1
        seen = world.kinds()
        left = {path: kind for path, kind in seen.items() if path in wrong}
        if not left:
            break
        assert left == wrong
        dying = make_dying_store(world.store, deaths, "after")
        with suppress(StoreUnavailable, StoreError):
            repair_version(world.check(), replace(world.workshop, store=dying))
    assert deaths > 5
    repair_version(world.check(), world.workshop)
    assert world.kinds() == {}


def test_an_older_commit_is_not_repaired(world):
    world.index(ref=None)
    world.repository.write("e.py", "e = 1\n")
    world.repository.commit()
    world.plant("a.py", text="def a():\n    return 7\n")
    world.index()
    older = world.records()[1]
    assert world.kinds(older) == {"a.py": "text"}
    with pytest.raises(UsageError, match="not the newest commit of main"):
        repair_version(world.check(older), world.workshop)


def test_rows_newer_than_the_counter_are_named_and_not_repaired(world):
    late = world.head.counter + 7
    row, file = world.stored("a.py")
    new = replace(row.row, born=late)
    vectors = world.store.cached_vectors([new.vector_key])
    world.store.create([new], [replace(file.record, born=late)], vectors)
    world.store.refresh()
    assert world.kinds() == {"counter": "counter"}
    with pytest.raises(UsageError, match="restore both from the same backup"):
        repair_version(world.check(), world.workshop)


def test_an_open_transaction_of_a_dead_process_is_named_and_undone(world):
    holder = new_holder()
    timeline = world.timeline
    number = change_head(world.store, lambda head: begin(head, timeline, holder))
    assert world.kinds() == {}, "its holder is still working on it"
    retire_holder(holder)
    assert world.kinds() == {"open": "open"}
    repair_version(world.check(), world.workshop)
    assert world.kinds() == {}
    assert number in world.head.aborted


def test_an_open_transaction_of_another_version_is_undone(world):
    world.repository.git("branch", "dev")
    world.index(ref=Ref("branch", "dev"))
    (branch,) = set(world.head.timelines) - {world.timeline}
    base, holder = next(iter(world.head.timelines[branch].pins)), new_holder()
    change_head(world.store, lambda head: begin(head, branch, holder, base))
    retire_holder(holder)
    assert world.kinds() == {"open": "open"}
    repair_version(world.check(), world.workshop)
    assert (world.kinds(), dict(world.head.open)) == ({}, {})


def test_an_open_transaction_without_a_lease_is_undone(world):
    timeline = world.timeline
    number = change_head(world.store, lambda head: begin(head, timeline, "elsewhere"))

    def lose(head):
        state = replace(head.timelines[timeline], lease=None)
        return replace(head, timelines={**head.timelines, timeline: state}), None

    change_head(world.store, lose)
    assert world.kinds() == {"open": "open"}
    repair_version(world.check(), world.workshop)
    assert (world.kinds(), dict(world.head.open)) == ({}, {})
    assert number in world.head.aborted


def test_leftovers_and_pending_chores_are_named_and_cleared(world, make_dying_store):
    world.repository.write("a.py", "def a():\n    return 3\n")
    world.repository.commit()
    dying = make_dying_store(world.store, 1, "after", "create")
    with pytest.raises(StoreUnavailable):
        index_repository(IndexRequest(world.repository.origin), replace(world.workshop, store=dying))
    (number,) = world.head.open
    timeline, lease = world.timeline, world.head.timelines[world.timeline].lease
    change_head(world.store, lambda head: (abort(head, timeline, lease.holder, number), None))
    note_purge(world.store, 999)
    assert world.kinds() == {"leftover": "leftover", "chore": "chore"}
    repair_version(world.check(), world.workshop)
    assert world.kinds() == {}
    assert world.store.tally(timeline, number, (), ()).files == 0


def overlay(world) -> int:
    """Index a branch that differs in some files, and return its timeline."""
    world.repository.git("checkout", "--quiet", "-b", "dev")
    world.repository.write("a.py", "def a():\n    return 9\n")
    world.repository.write("new.py", "new = 1\n")
    world.repository.remove("b.py")
    world.repository.commit()
    world.repository.git("checkout", "--quiet", "main")
    settings = world.workshop.settings
    wide = settings.indexing.model_copy(update={"overlay_max_share": 1.0})
    world.workshop = replace(world.workshop, settings=settings.model_copy(update={"indexing": wide}))
    assert world.index(ref=Ref("branch", "dev")).kind == "overlay"
    (branch,) = set(world.head.timelines) - {world.timeline}
    return branch


def test_an_overlay_is_compared_with_its_commit_and_repaired_above_its_base(any_world):
    branch = overlay(any_world)
    record = any_world.records(branch)[-1]
    assert any_world.kinds(record) == {}
    any_world.store.retire(any_world.timeline, any_world.number, ["c.py"], [])
    assert any_world.kinds(record) == {"c.py": "missing"}
    repair_version(any_world.check(record), any_world.workshop)
    record = any_world.records(branch)[-1]
    assert any_world.kinds(record) == {}
    assert "c.py" in record.mask, "the overlay has its own version now"
    assert any_world.kinds() == {"c.py": "missing"}, "the base is another version"
    repair_version(any_world.check(), any_world.workshop)
    assert (any_world.kinds(), any_world.kinds(record)) == ({}, {})


def test_a_missing_pin_is_named_and_set_again(world):
    branch = overlay(world)

    def unpin(head):
        state = replace(head.timelines[branch], pins=frozenset())
        return replace(head, timelines={**head.timelines, branch: state}), None

    change_head(world.store, unpin)
    assert world.kinds() == {"pin": "pin"}
    repair_version(world.check(), world.workshop)
    assert world.kinds() == {}
    assert world.head.pinned(world.timeline) == {world.number}


def test_an_overlay_whose_base_is_gone_gets_another_base(world):
    branch = overlay(world)
    base = world.timeline

    def lose(head):
        state = replace(head.timelines[branch], pins=frozenset())
        return replace(head, timelines={**head.timelines, branch: state}, defaults={}), None

    change_head(world.store, lose)
    change_head(world.store, lambda head: (drop_timeline(head, base), None))
    world.store.purge([base])
    world.index()
    record = world.records(branch)[-1]
    assert set(world.kinds(record).values()) == {"base", "missing"}
    repair_version(world.check(record), world.workshop)
    record = world.records(branch)[-1]
    assert world.kinds(record) == {}
    assert {file.path for file in world.store.files(version_snapshot(world.head, record))} == {
        "a.py", "c.py", "d.py", "new.py",
    }  # fmt: skip


def test_a_working_tree_is_compared_with_its_files_until_they_change(world):
    folder = world.repository.folder
    world.repository.write("a.py", "def a():\n    return 'not committed'\n")
    world.repository.write("new.py", "new = 1\n")
    world.index(ref=Ref("workspace", str(folder)))
    (timeline,) = set(world.head.timelines) - {world.timeline}
    assert world.kinds(world.records(timeline)[-1]) == {}
    world.repository.write("b.py", "def b():\n    return 'not committed either'\n")
    with pytest.raises(GitError, match="has changed since it was indexed"):
        world.check(world.records(timeline)[-1])
    world.index(ref=Ref("workspace", str(folder)))
    record = world.records(timeline)[-1]
    assert world.kinds(record) == {}
    world.store.retire(timeline, record.number, ["new.py"], [])
    assert world.kinds(record) == {"new.py": "missing"}
    repair_version(world.check(record), world.workshop)
    assert world.kinds(world.records(timeline)[-1]) == {}


def test_a_commit_missing_in_the_mirror_is_an_error_with_advice(world):
    record = replace(world.records()[-1], commit="1" * 40)
    with pytest.raises(GitError, match="lacks commit 1111"):
        world.check(record)


def test_some_files_are_read_or_all_if_requested(world, monkeypatch):
    monkeypatch.setattr("codequarry.ingest.fsck.versions.SAMPLED_FILES", 2)
    assert world.check().texts == 2
    assert world.check(full_text=True).texts == 4
