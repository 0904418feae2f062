"""Rule 12 of docs/versioned-index.md and the other properties of overlays, each with a test that fails without it."""

from dataclasses import replace

import pytest

from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.ingest.transaction.chores import finish_chores
from codequarry.ingest.transaction.version_removal import drop_version
from codequarry.shared.catalog.ledger import change_head, published_transactions, read_head, read_transaction
from codequarry.shared.errors import Conflict, StoreUnavailable
from codequarry.shared.model import INDEXED
from codequarry.shared.versions.refs import Ref
from codequarry.shared.versions.snapshots import head_snapshot, snapshot_at, version_snapshot
from codequarry.shared.versions.transactions import begin, drop_timeline, new_timeline

FILES = {f"f{number:02}.py": f"value = {number}\n" for number in range(20)}
DEV = Ref("branch", "dev")


class World:
    """One repository with a branch, and its index."""

    def __init__(self, repository, workshop, make_dying_store) -> None:
        self.repository, self.workshop, self.store = repository, workshop, workshop.store
        self.make_dying_store = make_dying_store
        self.request = IndexRequest(repository.origin)

    def index(self, ref: Ref | None = None, **changes):
        return index_repository(replace(self.request, ref=ref, **changes), self.workshop)

    def crash(self, ref: Ref | None, writes: int, when: str, only: str = "", **changes) -> None:
        """Run until the n-th write, and die there."""
        dying = self.make_dying_store(self.store, writes, when, only)
        with pytest.raises(StoreUnavailable):
            index_repository(replace(self.request, ref=ref, **changes), replace(self.workshop, store=dying))

    def checkout(self, branch: str, *options: str) -> None:
        self.repository.git("checkout", "--quiet", *options, branch)

    def commit(self, **files: str | None) -> str:
        """Commit changed files; None deletes a file."""
        for name, content in files.items():
            path = f"{name}.py"
            if content is None:
                self.repository.remove(path)
            else:
                self.repository.write(path, content)
        return self.repository.commit()

    @property
    def head(self):
        return read_head(self.store)

    def timeline(self, ref: Ref = DEV) -> int:
        head = self.head
        [found] = [key for key in head.of_repo("project") if head.timelines[key].ref == ref.key]
        return found

    def record(self, ref: Ref = DEV):
        timeline = self.timeline(ref)
        return read_transaction(self.store, timeline, self.head.timelines[timeline].published)

    def files(self, snapshot) -> dict[str, str]:
        records = [record for record in self.store.files(snapshot) if record.verdict == INDEXED]
        assert len({record.path for record in records}) == len(records), "no path is in two layers"
        return {record.path: record.blob for record in records}

    def check(self, ref: Ref = DEV, commit: str | None = None) -> None:
        """Compare every published state of a version, and head, with git's listing."""
        head = self.head
        records = published_transactions(self.store, head, self.timeline(ref))
        for record in records:
            assert self.files(version_snapshot(head, record)) == self.repository.listing(record.commit)
        if commit:
            assert records[-1].commit == commit
        default = head.timelines[head.defaults["project"]]
        assert self.files(head_snapshot(head)) == self.repository.listing(default.commit)


@pytest.fixture
def world(make_repository, make_workshop, make_dying_store) -> World:
    world = World(make_repository(files=FILES), make_workshop(), make_dying_store)
    world.index()
    world.checkout("dev", "-b")
    return world


def test_rule_12_an_overlay_holds_only_differing_paths_and_masks_them_in_its_base(world):
    commit = world.commit(f00="value = 100\n", f01=None, new="value = 7\n")
    report = world.index(DEV)
    assert (report.kind, report.base_paths, report.mask, report.embedded) == ("overlay", 3, 2, 2)
    own = world.files(snapshot_at(world.head, world.timeline(), world.record().number))
    assert set(own) == {"f00.py", "new.py"}
    assert set(world.record().mask) == {"f00.py", "f01.py"}
    world.check(commit=commit)


def test_rule_12_a_mask_hides_nothing_from_other_readers_of_the_base(world):
    world.commit(f00="value = 100\n")
    world.index(DEV)
    world.checkout("other", "-b")
    world.commit(f01="value = 101\n")
    world.index(Ref("branch", "other"))
    world.check()
    world.check(Ref("branch", "other"))


def test_rule_12_a_base_is_never_an_overlay(world):
    world.commit(f00="value = 100\n")
    world.index(DEV)
    place = (world.timeline(), world.record().number)
    repo_id = world.head.id_of_repo("project")
    timeline = change_head(world.store, lambda head: new_timeline(head, "project", "refs/heads/x", repo_id))
    with pytest.raises(Conflict, match="is an overlay itself"):
        change_head(world.store, lambda head: begin(head, timeline, "me", place))
    change_head(world.store, lambda head: (drop_timeline(head, timeline), None))
    world.repository.git("tag", "same")
    world.index(Ref("tag", "same"))
    assert world.record(Ref("tag", "same")).base_timeline == world.head.defaults["project"]


def test_rule_12_an_overlay_stays_correct_when_its_base_advances(world):
    commit = world.commit(f00="value = 100\n")
    world.index(DEV)
    world.checkout("main")
    world.commit(f00="value = 200\n", f05=None, f06="value = 206\n", extra="value = 1\n")
    world.index()
    world.check(commit=commit)


def test_rule_12_moving_to_another_base_is_one_publication(world):
    world.commit(f00="value = 100\n")
    world.index(DEV)
    first = world.record()
    world.checkout("main")
    world.commit(f05="value = 205\n", f06="value = 206\n")
    world.index()
    world.checkout("dev")
    world.repository.git("merge", "--quiet", "--no-edit", "main")
    merged = world.repository.commit("merged")
    report = world.index(DEV)
    assert (report.base_paths, report.chunks_written) == (1, 0), (
        "its own change is kept, merged paths come from the base"
    )
    assert world.record().base != first.base
    assert world.record().timeline == first.timeline
    world.check(commit=merged)


def test_rule_12_a_merged_branch_with_nothing_new_moves_to_the_merge(world):
    """Otherwise, it would keep the rows of its old base forever."""
    commit = world.commit(**{f"f{number:02}": f"value = {number + 500}\n" for number in range(3)})
    world.index(DEV)
    old = world.record().base
    world.checkout("main")
    world.commit(f09="value = 909\n")
    world.repository.git("merge", "--quiet", "--no-edit", "dev")
    world.index()
    report = world.index(DEV)
    assert (report.kind, report.base_paths, world.record().base != old) == ("overlay", 1, True)
    world.check(commit=commit)
    assert not world.index(DEV).changed, "it stays there"


def test_rule_12_a_version_that_differs_too_much_is_indexed_in_full(world):
    world.commit(**{f"f{number:02}": f"value = {number + 500}\n" for number in range(4)})
    world.index(DEV)
    overlay = world.timeline()
    commit = world.commit(**{f"f{number:02}": f"value = {number + 700}\n" for number in range(15)})
    report = world.index(DEV)
    assert (report.kind, report.base_commit) == ("full", "")
    assert world.timeline() != overlay
    assert not world.head.timelines[world.timeline()].pins
    assert set(world.head.timelines) == {world.head.defaults["project"], overlay, world.timeline()}
    assert world.head.timelines[overlay].former == DEV.key
    world.check(commit=commit)


def test_rule_12_a_default_branch_moved_to_other_history_is_built_on_a_new_timeline(make_repository, make_workshop):
    """The publication switches to the new timeline; the old commit stays searchable."""
    files = {f"d{number}/f.txt": f"{number}\n" for number in range(400)}
    repository, workshop = make_repository(files=files), make_workshop()
    first = index_repository(IndexRequest(repository.origin), workshop)
    before = read_head(workshop.store).defaults["project"]
    repository.git("checkout", "--quiet", "--orphan", "other")
    for number in range(350):
        repository.write(f"d{number}/f.txt", f"other {number}\n")
    commit = repository.commit()
    repository.git("branch", "--force", "main", commit)
    repository.git("checkout", "--quiet", "main")
    report = index_repository(IndexRequest(repository.origin), workshop)
    head = read_head(workshop.store)
    after = head.defaults["project"]
    assert report.commit == commit
    assert before != after
    assert head.timelines[before].ref == ""
    live = {record.path: record.blob for record in workshop.store.files(head_snapshot(head))}
    assert live == repository.listing(commit)
    [record] = published_transactions(workshop.store, head, before)
    old = {file.path: file.blob for file in workshop.store.files(version_snapshot(head, record))}
    assert (record.commit, old) == (first.commit, repository.listing(first.commit))


def test_a_force_push_that_changes_little_stays_on_its_timeline(world):
    timeline = world.head.defaults["project"]
    world.checkout("main")
    world.repository.git("commit", "--quiet", "--amend", "--message", "other")
    world.commit(f00="value = 9\n")
    world.index()
    assert world.head.defaults["project"] == timeline


def test_a_path_that_equals_its_base_again_is_retired(world):
    world.commit(f00="value = 100\n", f01="value = 101\n")
    world.index(DEV)
    commit = world.commit(f00=FILES["f00.py"])
    report = world.index(DEV)
    assert (report.base_paths, report.chunks_written) == (1, 0)
    assert set(world.files(snapshot_at(world.head, world.timeline(), world.record().number))) == {"f01.py"}
    world.check(commit=commit)


def test_a_branch_whose_base_was_force_pushed_away_stays_correct(world):
    commit = world.commit(f00="value = 100\n")
    world.index(DEV)
    world.checkout("main")
    world.repository.git("checkout", "--quiet", "--orphan", "anew")
    for number in range(20):
        world.repository.write(f"f{number:02}.py", f"anew = {number}\n")
    anew = world.repository.commit()
    world.repository.git("branch", "--force", "main", anew)
    world.index()
    world.check(commit=commit)
    world.checkout("dev")
    moved = world.commit(f02="value = 102\n")
    report = world.index(DEV)
    assert report.base_paths == 2, "the commit that it came from is still the best base"
    world.check(commit=moved)


def test_a_rebuild_delays_its_purge_until_no_overlay_needs_the_old_timeline(world):
    commit = world.commit(f00="value = 100\n")
    world.index(DEV)
    replaced = world.head.defaults["project"]
    world.checkout("main")
    world.index(full=True)
    assert replaced in world.head.timelines
    world.check(commit=commit)
    drop_version(world.store, "project", DEV)
    finish_chores(world.store)
    assert set(world.head.timelines) == {world.head.defaults["project"]}
    assert not world.store.list_documents("chore:")


@pytest.mark.parametrize("when", ["before", "within", "after"])
@pytest.mark.parametrize(("method", "writes"), [("create", 1), ("retire", 1), ("write_document", 3)])
def test_rule_7_a_crashed_overlay_is_resumed_on_its_first_base(world, when, method, writes):
    world.commit(f00="value = 100\n", f03="value = 103\n")
    world.index(DEV)
    commit = world.commit(f00="value = 101\n", f01=None, f03=FILES["f03.py"])
    world.crash(DEV, writes, when, method)
    world.checkout("main")
    world.commit(f00="value = 101\n")
    world.index()
    report = world.index(DEV)
    assert report.commit == commit
    assert not world.head.open
    world.check(commit=commit)


def test_rule_7_a_crashed_overlay_with_another_target_is_undone(world):
    world.commit(f00="value = 100\n")
    world.crash(DEV, 1, "after", "create")
    commit = world.commit(f00="value = 101\n")
    report = world.index(DEV)
    assert not report.resumed
    assert len(world.head.timelines) == 2
    world.check(commit=commit)


def test_rule_11_a_recreated_branch_is_a_new_timeline(world):
    world.commit(f00="value = 100\n")
    world.index(DEV)
    first = world.timeline()
    world.checkout("main")
    world.repository.git("branch", "--delete", "--force", "dev")
    assert world.index(DEV).kind == "gone"
    world.checkout("dev", "-b")
    commit = world.commit(f01="value = 101\n")
    world.index(DEV)
    assert world.timeline() > first
    world.check(commit=commit)


def test_two_versions_are_indexed_at_once(world):
    """An open transaction of one branch does not block the others."""
    first = world.commit(f00="value = 100\n")
    world.checkout("other", "-b")
    second = world.commit(f01="value = 101\n")
    holder = []

    def meanwhile(state):
        if state.phase == "publishing" and not holder:
            holder.append(index_repository(replace(world.request, ref=Ref("branch", "other")), world.workshop))

    index_repository(replace(world.request, ref=DEV), world.workshop, meanwhile)
    world.check(commit=first)
    world.check(Ref("branch", "other"), second)


def test_a_version_dropped_under_an_overlay_is_removed_with_the_overlay(world):
    """Its name is gone at once; its rows stay for the overlays on it."""
    big, small = Ref("branch", "big"), Ref("branch", "small")
    world.checkout("big", "-b")
    world.commit(**{f"f{number:02}": f"big = {number}\n" for number in range(18)})
    assert world.index(big).kind == "full"
    world.checkout("small", "-b")
    commit = world.commit(f19="small = 19\n")
    assert world.index(small).base_ref == "big"
    whole = world.timeline(big)
    world.repository.git("branch", "--delete", "--force", "big")
    drop_version(world.store, "project", big)
    assert world.head.timelines[whole].ref == ""
    world.check(small, commit)
    moved = world.commit(f19="small = 20\n")
    assert world.index(small).kind == "full", "a dropped version is no longer used as a base"
    world.check(small, moved)
    drop_version(world.store, "project", small)
    finish_chores(world.store)
    assert set(world.head.timelines) == {world.head.defaults["project"]}
    assert not world.store.list_documents("chore:")


def test_overlays_of_a_rebuilt_version_stay_correct(world):
    big, small = Ref("branch", "big"), Ref("branch", "small")
    world.checkout("big", "-b")
    world.commit(**{f"f{number:02}": f"big = {number}\n" for number in range(18)})
    world.index(big)
    world.checkout("small", "-b")
    commit = world.commit(f19="small = 19\n")
    world.index(small)
    report = world.index(big, full=True)
    assert (report.kind, report.embedded) == ("full", 0)
    world.check(small, commit)
    world.check(big)
