"""Two runs on one repository at once: at every write of one, all that the other does."""

import threading
from contextlib import suppress
from dataclasses import replace

import pytest

from codequarry.ingest.fsck.catalog import check_catalog
from codequarry.ingest.removal.removal import remove_repository
from codequarry.ingest.request import progress as watch
from codequarry.ingest.run import pipeline
from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.ingest.transaction.chores import CHORES, finish_chores, note_purge
from codequarry.ingest.transaction.placement import timelines_of
from codequarry.ingest.transaction.version_removal import drop_version
from codequarry.shared.catalog.ledger import read_head, read_transaction
from codequarry.shared.catalog.repositories import list_progress, read_repository
from codequarry.shared.errors import Conflict, LeaseHeld, NotIndexed, StoreError
from codequarry.shared.index.identity import read_identity
from codequarry.shared.model import INDEXED
from codequarry.shared.versions.commit_log import with_logs
from codequarry.shared.versions.head import HEAD_KEY
from codequarry.shared.versions.refs import Ref
from codequarry.shared.versions.snapshots import head_snapshot, version_snapshot

WRITES = ("write_document", "delete_document", "delete_documents", "create", "retire", "purge", "undo", "cache_vectors")
A, B = Ref("branch", "a"), Ref("branch", "b")


class Meddled:
    """Passes every call on; before the ``turn``-th write, counted from 1, runs ``act``.

    With ``key`` only writes of that document count.
    """

    def __init__(self, store, turn, act, key="") -> None:
        self._store, self._turn, self._act, self._key = store, turn, act, key
        self.writes = 0

    def __getattr__(self, name):
        method = getattr(self._store, name)
        # The number of heartbeats depends on timing.
        if name not in WRITES or threading.current_thread().name == "heartbeat":
            return method

        def write(*arguments, **options):
            if not self._key or arguments[:1] == (self._key,):
                self.writes += 1
                if self.writes == self._turn:
                    self._act()
            return method(*arguments, **options)

        return write


class World:
    """One repository with two branches beside the branch of HEAD, and one index."""

    def __init__(self, repository, workshop) -> None:
        self.repository, self.workshop, self.store = repository, workshop, workshop.store

    def index(self, store=None, ref=None, **changes):
        workshop = replace(self.workshop, store=store or self.store)
        return index_repository(IndexRequest(self.repository.origin, ref=ref, **changes), workshop)

    def remove(self, store=None) -> None:
        with suppress(NotIndexed):
            remove_repository("project", store or self.store, self.workshop.settings)

    def change(self) -> None:
        """Commit a new version of a file."""
        commits = self.repository.git("rev-list", "HEAD").split()
        self.repository.write("a.py", f"a = {len(commits) + 1}\n")
        self.repository.commit()

    def check(self) -> bool:
        """Check that the repository is complete or absent, without leftovers; return whether it is present."""
        finish_chores(self.store)
        head = read_head(self.store)
        mine = set(head.of_repo("project"))
        assert bool(mine) == (read_repository(self.store, "project") is not None)
        assert bool(mine) == (read_identity(self.store) is not None)
        assert ("project" in head.defaults) == any(head.timelines[timeline].published for timeline in mine)
        assert check_catalog(self.store, "project") == []
        assert self.store.list_documents(CHORES) == []
        assert list_progress(self.store) == []
        for timeline in set(range(1, head.counter + 1)) - set(with_logs(mine)):
            assert list(self.store.history(timeline)) == []
            assert self.store.list_documents(f"transaction:{timeline:010d}:") == []
        if "project" in head.defaults:
            assert self.files(head_snapshot(head)) == self.repository.listing()
        return bool(mine)

    def files(self, snapshot) -> dict[str, str]:
        return {file.path: file.blob for file in self.store.files(snapshot) if file.verdict == INDEXED}


@pytest.fixture
def world(make_repository, make_workshop, monkeypatch) -> World:
    monkeypatch.setattr(watch, "SAVE_SECONDS", 0.0)
    repository = make_repository(files={"a.py": "a = 1\n", "b.py": "b = 1\n"})
    return World(repository, make_workshop(indexing={"lease_seconds": 0.2}))


@pytest.mark.parametrize("is_known", [False, True], ids=["first import", "new commit"])
def test_a_repository_removed_during_a_run_is_complete_or_absent(world, is_known):
    """A removal happens at each write of a run."""
    outcomes = set()
    for turn in range(1, 100):
        world.remove()
        if is_known:
            world.index()
            world.change()
        meddled = Meddled(world.store, turn, world.remove)
        try:
            world.index(meddled)
        except Conflict as error:
            assert str(error) == "'project' was removed or changed during this run; run again"
        outcomes.add(world.check())
        if meddled.writes < turn:
            break
    assert outcomes == {True, False}
    assert world.index().files_indexed == 2, "it can be indexed again in any case"


def test_a_removal_during_a_run_without_changes_leaves_the_repository_complete_or_absent(world):
    for turn in range(1, 50):
        world.index()
        meddled = Meddled(world.store, turn, world.remove)
        with suppress(Conflict):
            world.index(meddled)
        world.check()
        if meddled.writes < turn:
            break
    assert turn > 1


def test_a_run_during_a_removal_leaves_the_repository_complete_or_absent(world):
    """A run happens at each write of a removal."""
    outcomes = set()
    for turn in range(1, 50):
        world.index()
        world.change()
        meddled = Meddled(world.store, turn, world.index)
        world.remove(meddled)
        outcomes.add(world.check())
        if meddled.writes < turn:
            break
    assert outcomes == {True, False}


def test_a_version_removed_during_its_run_is_complete_or_absent(world):
    world.repository.git("checkout", "--quiet", "-b", "a")
    world.change()
    world.repository.git("checkout", "--quiet", "main")
    world.index()
    outcomes = set()
    for turn in range(1, 50):
        meddled = Meddled(world.store, turn, lambda: drop_version(world.store, "project", A))
        with suppress(Conflict, LeaseHeld):
            world.index(meddled, ref=A)
        assert world.check()
        outcomes.add(bool(timelines_of(read_head(world.store), "project", A.key)))
        drop_version(world.store, "project", A)
        if meddled.writes < turn:
            break
    assert outcomes == {True, False}


class Halted:
    """A call in a separate thread that stops before its ``turn``-th write until it is released."""

    def __init__(self, store, turn, call) -> None:
        self._reached, self._go = threading.Event(), threading.Event()
        self._meddled = Meddled(store, turn, self._halt)
        self.error = None
        self._thread = threading.Thread(target=self._run, args=(call,))

    def __enter__(self) -> "Halted":
        self._thread.start()
        self._reached.wait()
        return self

    def __exit__(self, *_) -> None:
        self._go.set()
        self._thread.join()

    def _run(self, call) -> None:
        try:
            call(self._meddled)
        except StoreError as error:
            self.error = error
        finally:
            self._reached.set()

    def _halt(self) -> None:
        self._reached.set()
        self._go.wait()


@pytest.mark.parametrize("removal_at", range(1, 11))
@pytest.mark.parametrize("run_at", [4, 8])
def test_a_run_that_overlaps_the_end_of_a_removal_leaves_a_complete_repository(world, removal_at, run_at):
    """The removal stops at a write, a run starts and stops at a write; then the removal ends, then the run."""
    world.index()
    world.change()
    with Halted(world.store, removal_at, world.remove) as removal:
        run = Halted(world.store, run_at, world.index)
        run.__enter__()
    run.__exit__()
    assert removal.error is None
    assert run.error is None or isinstance(run.error, Conflict)
    world.check()


def test_the_note_of_a_dropped_timeline_is_written_again_if_another_run_cleared_it(world):
    """A run that finishes chores between the note and the drop finds the timeline in use."""
    world.repository.git("branch", "a")
    for drop in (
        world.remove,
        lambda store: drop_version(store, "project", A),
        lambda store: world.index(store, ref=A, default=True),
    ):
        world.repository.git("checkout", "--quiet", "a")
        world.change()
        world.repository.git("checkout", "--quiet", "main")
        for turn in range(1, 60):
            world.index()
            world.index(ref=A)
            meddled = Meddled(world.store, turn, lambda: finish_chores(world.store), HEAD_KEY)
            drop(meddled)
            finish_chores(world.store)
            head = read_head(world.store)
            for timeline in set(range(1, head.counter + 1)) - set(with_logs(head.timelines)):
                assert list(world.store.history(timeline)) == []
            world.remove()
            if meddled.writes < turn:
                break


@pytest.mark.parametrize("is_same", [False, True], ids=["other commits", "one commit"])
@pytest.mark.parametrize("other", [B, None], ids=["branch b", "the branch of HEAD"])
def test_two_first_imports_at_once_leave_both_branches_searchable(world, is_same, other):
    """The second import happens at each write of the first; one of the branches becomes the default branch."""
    for ref in (A, B):
        world.repository.git("checkout", "--quiet", "-b", ref.value)
        if not is_same:
            world.change()
    world.repository.git("checkout", "--quiet", "main")
    held = []

    def index_other() -> None:
        try:
            world.index(ref=other)
        except LeaseHeld as error:
            held.append(str(error))

    for turn in range(1, 60):
        held.clear()
        meddled = Meddled(world.store, turn, index_other)
        try:
            world.index(meddled, ref=A)
        except LeaseHeld:  #  it stalled for longer than its lease
            world.index(ref=A)
        if held:
            assert "is being indexed by" in held[0]
            index_other()
        if meddled.writes < turn:
            break
        _check_both(world, A, other)
        world.remove()


def _check_both(world, *refs) -> None:
    head = read_head(world.store)
    indexed = {}
    for timeline in head.of_repo("project"):
        record = read_transaction(world.store, timeline, head.timelines[timeline].published)
        commit = world.repository.git("rev-parse", record.ref).decode().strip()
        assert record.commit == commit
        assert world.files(version_snapshot(head, record)) == world.repository.listing(commit)
        indexed[record.ref] = timeline
    assert list_progress(world.store) == []
    known = read_repository(world.store, "project")
    assert indexed[known.branch] == head.defaults["project"]
    assert known.head_commit == head.timelines[head.defaults["project"]].commit
    assert {ref.value for ref in refs if ref} <= indexed.keys()


def test_a_run_overtaken_after_its_publication_does_not_revert_the_catalog(world):
    def published() -> str:
        head = read_head(world.store)
        return head.timelines[head.defaults["project"]].commit

    def overtake() -> None:
        if published() == world.repository.git("rev-parse", "main").decode().strip():
            overtaken.append(turn)
            world.change()
            world.index()

    overtaken = []
    world.index()
    for turn in range(1, 60):
        world.change()
        meddled = Meddled(world.store, turn, overtake)
        world.index(meddled)
        assert read_repository(world.store, "project").head_commit == published()
        if meddled.writes < turn:
            break
    assert overtaken


def test_the_chore_of_a_deleted_branch_is_done_by_the_run_that_noticed(world):
    world.repository.git("branch", "a")
    world.index()
    world.index(ref=A)
    world.repository.git("branch", "--delete", "a")
    assert world.index().dropped == ("a",)
    assert check_catalog(world.store, "project") == []


def test_two_versions_indexed_at_once_have_separate_progress(world):
    world.index()
    world.repository.git("checkout", "--quiet", "-b", "a")
    world.change()
    world.repository.git("checkout", "--quiet", "main")
    seen = []

    def observe(state):
        if state.files_done and not seen:
            world.change()
            world.index()
            seen.extend(list_progress(world.store))

    index_repository(IndexRequest(world.repository.origin, ref=A), world.workshop, observe)
    assert [(progress.repo, progress.ref) for progress in seen] == [("project", A.key)]
    assert list_progress(world.store) == []


def test_a_note_on_a_purged_timeline_is_cleared(world):
    """Notes are written again after a drop, perhaps after another run has purged the timeline."""
    world.index()
    note_purge(world.store, 999)
    finish_chores(world.store)
    assert world.store.list_documents(CHORES) == []


@pytest.mark.parametrize("ref", [None, Ref("branch", "first")], ids=["default branch", "version"])
def test_a_run_with_an_older_commit_does_not_publish_it_over_a_newer_one(world, monkeypatch, ref):
    """A new commit and another complete run come between its fetch and its transaction."""
    world.index()
    if ref:
        world.repository.git("checkout", "--quiet", "-b", ref.value)
        world.change()
        world.index(ref=ref)
    world.change()
    fetch_version, runs = pipeline.fetch_version, []

    def obtain_and_be_overtaken(*arguments):
        source = fetch_version(*arguments)
        runs.append(source.commit)
        if len(runs) == 1:
            world.change()
            world.index(ref=ref)
        return source

    monkeypatch.setattr(pipeline, "fetch_version", obtain_and_be_overtaken)
    report = world.index(ref=ref)
    tip = world.repository.git("rev-parse", "HEAD").decode().strip()
    assert (report.commit, report.changed) == (tip, False)
    assert runs[0] != runs[-1] == tip
    assert ref or world.check()
