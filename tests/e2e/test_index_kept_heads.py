"""Every commit that was the head of a version stays searchable, whatever happens to the version, until it expires."""

from datetime import UTC, datetime, timedelta

import pytest

from codequarry.ingest.fsck.versions import check_version, repair_version
from codequarry.ingest.garbage_collection.collector import collect_history
from codequarry.ingest.removal.removal import remove_version
from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.search_api.query.version_query import VersionQuery, VersionSpecifier
from codequarry.search_api.versions.catalog import Catalog
from codequarry.search_api.versions.resolution import one_version
from codequarry.shared.catalog.ledger import published_transactions, read_head
from codequarry.shared.errors import NotIndexed, UsageError
from codequarry.shared.model import INDEXED
from codequarry.shared.versions.refs import Ref

FILES = {f"src/f{number:02}.py": f"def function_{number}():\n    return {number}\n" for number in range(20)}
DEV, NEXT, PULL = Ref("branch", "dev"), Ref("branch", "next"), Ref("pull", "7")


@pytest.fixture
def repository(make_repository):
    return make_repository(files=FILES)


@pytest.fixture
def index(repository, make_workshop):
    """Return a function that indexes a version; its ``workshop`` attribute has the index."""
    workshop = make_workshop()

    def run(ref: Ref | None = None, **fields):
        return index_repository(IndexRequest(repository.origin, ref, **fields), workshop)

    run.workshop = workshop
    return run


@pytest.fixture
def index_on_opensearch(repository, make_opensearch_workshop):
    workshop = make_opensearch_workshop()

    def run(ref: Ref | None = None, **fields):
        return index_repository(IndexRequest(repository.origin, ref, **fields), workshop)

    run.workshop = workshop
    return run


def commit_files(repository, *numbers: int, text: str = "changed") -> str:
    """Change files, and return the new commit."""
    for number in numbers:
        repository.write(f"src/f{number:02}.py", f"def function_{number}():\n    return '{text}'\n")
    return repository.commit(f"{text} {numbers}")


def seen(workshop, kind: str, text: str) -> dict[str, str]:
    """Return the files, as a mapping of path to blob, of the version that a search would use."""
    found = one_version(Catalog(workshop.store), "project", VersionQuery((VersionSpecifier(kind, text),)))
    files = workshop.store.files(found.snapshot)
    return {file.path: file.blob for file in files if file.verdict == INDEXED}


def assert_kept(workshop, repository, *commits: str) -> None:
    for commit in commits:
        assert seen(workshop, "commit", commit) == repository.listing(commit), commit


def test_a_branch_that_outgrows_its_layer_keeps_its_earlier_heads(repository, index):
    index()
    repository.git("checkout", "--quiet", "-b", "dev")
    first = commit_files(repository, 0)
    index(DEV)
    second = commit_files(repository, 1)
    index(DEV)
    third = commit_files(repository, *range(2, 12))
    assert index(DEV).kind == "full"
    assert seen(index.workshop, "branch", "dev") == repository.listing(third)
    assert_kept(index.workshop, repository, first, second, third)


def test_a_branch_that_becomes_the_default_branch_keeps_its_heads_and_its_predecessor(repository, index):
    main = index().commit
    repository.git("checkout", "--quiet", "-b", "next")
    first = commit_files(repository, 0)
    index(NEXT)
    second = commit_files(repository, 1)
    index(NEXT, default=True)
    assert seen(index.workshop, "branch", "next") == repository.listing(second)
    assert seen(index.workshop, "branch", "main") == repository.listing(main)
    assert_kept(index.workshop, repository, main, first, second)


def test_the_former_default_branch_is_still_indexed_as_a_branch(repository, index):
    index()
    repository.git("branch", "next")
    repository.git("checkout", "--quiet", "next")
    commit_files(repository, 0)
    report = index(NEXT, default=True)
    assert (report.former_default.ref, report.former_default.kind) == ("main", "overlay")
    keys = {state.ref for state in read_head(index.workshop.store).timelines.values()}
    assert keys == {"", "refs/heads/main"}
    repository.git("checkout", "--quiet", "main")
    moved = commit_files(repository, 5)
    index(Ref("branch", "main"))
    assert seen(index.workshop, "branch", "main") == repository.listing(moved)


def test_a_renamed_default_branch_has_no_branch_of_its_old_name(repository, index):
    index()
    repository.git("branch", "--move", "main", "trunk")
    report = index(Ref("branch", "trunk"), default=True)
    assert (report.ref, report.former_default) == ("trunk", None)
    repository.write("src/f00.py", "x = 1\n")
    second = repository.commit("on trunk")
    index()
    assert seen(index.workshop, "branch", "main") == repository.listing(report.commit)
    assert_kept(index.workshop, repository, report.commit, second)


@pytest.mark.parametrize("whole", [False, True])
def test_a_deleted_branch_keeps_its_heads(repository, index, whole):
    index()
    repository.git("checkout", "--quiet", "-b", "dev")
    first = commit_files(repository, 0)
    index(DEV)
    second = commit_files(repository, *(range(1, 14) if whole else [1]))
    index(DEV)
    repository.git("checkout", "--quiet", "main")
    repository.git("branch", "--delete", "--force", "dev")
    assert index().dropped == ("dev",)
    assert_kept(index.workshop, repository, first, second)
    with pytest.raises(NotIndexed, match=rf"branch 'dev' is no longer indexed.*until they expire: {second[:12]}"):
        seen(index.workshop, "branch", "dev")


def test_the_commits_of_an_ended_version_are_checked_but_not_rewritten(repository, index):
    index()
    repository.git("checkout", "--quiet", "-b", "dev")
    commit_files(repository, 0)
    index(DEV)
    store = index.workshop.store
    [timeline] = [key for key, state in read_head(store).timelines.items() if state.ref == DEV.key]
    repository.git("checkout", "--quiet", "main")
    repository.git("branch", "--delete", "--force", "dev")
    index()
    [record] = published_transactions(store, read_head(store), timeline)
    assert check_version(record, index.workshop).problems == ()
    store.retire(timeline, read_head(store).counter, ["src/f00.py"], ())
    report = check_version(record, index.workshop)
    assert report.problems == (), "the snapshot of the commit does not see later retirements"
    store.purge([timeline])
    with pytest.raises(UsageError, match="older commits never change"):
        repair_version(check_version(record, index.workshop), index.workshop)


def test_a_squash_merged_pull_request_keeps_its_heads(repository, index):
    index()
    repository.git("checkout", "--quiet", "-b", "topic")
    first, second = commit_files(repository, 3), commit_files(repository, 4)
    repository.git("update-ref", "refs/pull/7/head", first)
    index(PULL)
    repository.git("update-ref", "refs/pull/7/head", second)
    index(PULL)
    repository.git("checkout", "--quiet", "main")
    squashed = commit_files(repository, 3, 4)
    repository.git("update-ref", "-d", "refs/pull/7/head")
    index()
    assert_kept(index.workshop, repository, first, second, squashed)


def test_a_recreated_branch_keeps_the_heads_of_the_deleted_one(repository, index):
    index()
    repository.git("checkout", "--quiet", "-b", "dev")
    first = commit_files(repository, 0)
    index(DEV)
    repository.git("checkout", "--quiet", "main")
    repository.git("branch", "--delete", "--force", "dev")
    index()
    repository.git("checkout", "--quiet", "-b", "dev")
    second = commit_files(repository, 1, text="another")
    index(DEV)
    assert seen(index.workshop, "branch", "dev") == repository.listing(second)
    assert_kept(index.workshop, repository, first, second)


def test_an_ended_version_expires_after_keep_days_and_its_rows_are_deleted(repository, index):
    index()
    repository.git("checkout", "--quiet", "-b", "dev")
    tip = commit_files(repository, 0)
    index(DEV)
    repository.git("checkout", "--quiet", "main")
    repository.git("branch", "--delete", "--force", "dev")
    index()
    store, retention = index.workshop.store, index.workshop.settings.retention
    almost, over = (datetime.now(UTC) + timedelta(days=retention.keep_days + days) for days in (-1, 1))
    collect_history(store, retention, ["project"], clock=lambda: almost)
    assert_kept(index.workshop, repository, tip)
    collect_history(store, retention, ["project"], clock=lambda: over)
    collect_history(store, retention, ["project"], clock=lambda: over + timedelta(minutes=5))
    assert len(read_head(store).timelines) == 1
    assert store.newest_number() < read_head(store).counter, "the branch had the newest rows"
    with pytest.raises(NotIndexed):
        seen(index.workshop, "commit", tip)


def test_of_many_ended_versions_the_newest_are_kept(repository, make_workshop):
    workshop = make_workshop(retention={"keep_ended": 3})

    def index(ref: Ref | None = None):
        return index_repository(IndexRequest(repository.origin, ref), workshop)

    index()
    tips = []
    for number in range(5):
        repository.git("checkout", "--quiet", "-b", f"topic{number}", "main")
        tips.append(commit_files(repository, number, text=f"topic {number}"))
        index(Ref("branch", f"topic{number}"))
    repository.git("checkout", "--quiet", "main")
    for number in range(5):
        repository.git("branch", "--delete", "--force", f"topic{number}")
        index()
    assert_kept(workshop, repository, *tips[2:])
    for tip in tips[:2]:
        with pytest.raises(NotIndexed):
            seen(workshop, "commit", tip)


def test_a_working_tree_that_outgrows_its_layer_keeps_no_earlier_state(repository, index):
    """Nobody could name such a state."""
    index()
    tree = Ref("workspace", repository.origin)
    for numbers in ([0], range(14)):
        for number in numbers:
            repository.write(f"src/f{number:02}.py", "x = 1\n")
        index(tree)
    assert {state.version for state in read_head(index.workshop.store).timelines.values()} == {"", tree.key}
    assert not index.workshop.store.list_documents("chore:")


def test_removing_a_version_on_purpose_forgets_its_heads_too(repository, index):
    index()
    repository.git("checkout", "--quiet", "-b", "dev")
    first = commit_files(repository, 0)
    index(DEV)
    commit_files(repository, *range(1, 14))
    index(DEV)
    repository.git("checkout", "--quiet", "main")
    repository.git("branch", "--delete", "--force", "dev")
    index()
    assert remove_version("project", DEV, index.workshop.store, index.workshop.settings) == DEV
    assert len(read_head(index.workshop.store).timelines) == 1
    with pytest.raises(NotIndexed):
        seen(index.workshop, "commit", first)


def test_a_version_that_only_a_search_asked_for_expires(repository, index):
    index()
    first = commit_files(repository, 0)
    repository.git("tag", "v1")
    second = commit_files(repository, 1)
    commit_files(repository, 2)
    asked, wanted = Ref("commit", first), Ref("commit", second)
    for ref in (asked, wanted, Ref("tag", "v1")):
        index(ref, wish="once")
    index(wanted)
    store, retention = index.workshop.store, index.workshop.settings.retention
    over = datetime.now(UTC) + timedelta(days=retention.keep_days + 1)
    collect_history(store, retention, ["project"], clock=lambda: over)
    keys = {state.version for state in read_head(store).timelines.values()}
    assert keys == {"", wanted.key}, "a person asked for one of them"


def test_a_version_that_a_person_asked_for_stays_when_a_search_asks_for_it(repository, index):
    index()
    index(Ref("commit", commit_files(repository, 0)))
    index(Ref("commit", repository.git("rev-parse", "HEAD").decode().strip()), wish="once")
    assert {state.expiring_since for state in read_head(index.workshop.store).timelines.values()} == {""}


@pytest.mark.opensearch
def test_heads_are_kept_on_opensearch(repository, index_on_opensearch):
    index, workshop = index_on_opensearch, index_on_opensearch.workshop
    main = index().commit
    repository.git("checkout", "--quiet", "-b", "dev")
    first = commit_files(repository, 0)
    index(DEV)
    second = commit_files(repository, *range(1, 14))
    index(DEV)
    repository.git("checkout", "--quiet", "main")
    repository.git("branch", "--delete", "--force", "dev")
    index()
    assert_kept(workshop, repository, main, first, second)
    remove_version("project", DEV, workshop.store, workshop.settings)
    assert len(read_head(workshop.store).timelines) == 1
    assert not workshop.store.list_documents("chore:")
