"""Tags, pull requests, commits and branches through a whole run, compared with git's listing."""

import hashlib
from dataclasses import replace

import pytest

from codequarry.ingest.removal.removal import remove_version
from codequarry.ingest.run.estimate import estimate
from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.search_api.query.selection import Selection
from codequarry.search_api.query.version_query import VersionQuery, VersionSpecifier
from codequarry.search_api.versions.catalog import Catalog
from codequarry.search_api.versions.freshness import ready_state
from codequarry.search_api.versions.repositories import describe
from codequarry.search_api.versions.resolution import locate, one_version
from codequarry.shared.catalog.ledger import published_transactions, read_head
from codequarry.shared.catalog.repositories import list_ref_heads, read_ref_head, read_repository, read_summary
from codequarry.shared.errors import AmbiguousCommit, GitError, LimitExceeded, NotIndexed, UsageError
from codequarry.shared.model import INDEXED, Filters
from codequarry.shared.versions.refs import Ref
from codequarry.shared.versions.snapshots import version_snapshot

FILES = {f"src/f{number:02}.py": f"def function_{number}():\n    return {number}\n" for number in range(12)}
DEV, TAG, PULL = Ref("branch", "dev"), Ref("tag", "v1"), Ref("pull", "7")


def version(workshop, ref: Ref, repo: str = "project"):
    """Return the newest record of a version."""
    head = read_head(workshop.store)
    [timeline] = [key for key in head.of_repo(repo) if head.timelines[key].ref == ref.key]
    return published_transactions(workshop.store, head, timeline)[-1]


def live(workshop, ref: Ref) -> dict[str, str]:
    """Return the indexed files of a version as a mapping of path to blob."""
    snapshot = version_snapshot(read_head(workshop.store), version(workshop, ref))
    return {file.path: file.blob for file in workshop.store.files(snapshot) if file.verdict == INDEXED}


@pytest.fixture
def repository(make_repository):
    """Return a repository with a branch that is one commit ahead."""
    repository = make_repository(files=FILES)
    repository.git("checkout", "--quiet", "-b", "dev")
    repository.write("src/f00.py", "def changed():\n    return 'dev'\n")
    repository.commit("on dev")
    return repository


@pytest.fixture
def index(repository, make_workshop):
    """Return a function that indexes a version; its ``workshop`` attribute has the index."""
    workshop = make_workshop()

    def run(ref: Ref | None = None, **fields):
        return index_repository(IndexRequest(repository.origin, ref, **fields), workshop)

    run.workshop = workshop
    return run


@pytest.fixture
def main(repository, index):
    """Index the default branch, main."""
    repository.git("checkout", "--quiet", "main")
    index()
    repository.git("checkout", "--quiet", "dev")


@pytest.mark.parametrize("annotated", [True, False])
def test_a_tag_is_indexed_at_its_commit(repository, index, main, annotated):
    repository.git("tag", *(("--annotate", "--message", "first") if annotated else ()), "v1")
    report = index(TAG)
    tip = repository.git("rev-parse", "HEAD").decode().strip()
    assert (report.ref, report.commit, report.kind) == ("v1", tip, "overlay")
    assert live(index.workshop, TAG) == repository.listing(tip)
    assert not index(TAG).changed


@pytest.mark.parametrize("name", ["refs/pull/7/head", "refs/merge-requests/7/head"])
def test_a_pull_request_is_found_under_either_ref(repository, index, main, name):
    tip = repository.git("rev-parse", "HEAD").decode().strip()
    repository.git("update-ref", name, tip)
    assert (index(PULL).ref, index(PULL).commit) == ("pull/7", tip)
    assert live(index.workshop, PULL) == repository.listing(tip)


@pytest.mark.parametrize("digits", [7, 12, 40])
def test_a_commit_is_found_by_its_first_digits(repository, index, main, digits):
    tip = repository.git("rev-parse", "HEAD").decode().strip()
    report = index(Ref("commit", tip[:digits]))
    assert (report.ref, report.commit) == (f"commit/{tip}", tip)
    assert live(index.workshop, Ref("commit", tip)) == repository.listing(tip)


def test_a_commit_that_is_on_no_branch_any_more_is_fetched_by_its_id(repository, index, main):
    tip = repository.git("rev-parse", "HEAD").decode().strip()
    repository.git("checkout", "--quiet", "main")
    repository.git("branch", "--delete", "--force", "dev")
    assert index(Ref("commit", tip)).commit == tip


@pytest.mark.parametrize("name", ["refs/pull/7/head", "refs/merge-requests/7/head"])
def test_a_commit_at_the_tip_of_a_pull_request_is_found_by_its_first_digits(repository, index, main, name):
    tip = repository.git("rev-parse", "HEAD").decode().strip()
    hide_in_pull_request(repository, name, tip)
    assert index(Ref("commit", tip[:8])).commit == tip
    assert live(index.workshop, Ref("commit", tip)) == repository.listing(tip)


def test_a_commit_inside_a_pull_request_is_refused_with_advice(repository, index, main):
    """After its pull request was fetched, the first digits are enough."""
    inside, tip = repository.git("rev-parse", "HEAD").decode().strip(), repository.commit("more")
    hide_in_pull_request(repository, "refs/pull/7/head", tip)
    with pytest.raises(GitError, match=f"no commit {inside[:8]} on any branch or tag.*--pull N.*in full"):
        index(Ref("commit", inside[:8]))
    index(PULL)
    assert index(Ref("commit", inside[:8])).commit == inside


def hide_in_pull_request(repository, name: str, tip: str) -> None:
    """Leave a commit in the origin that only a pull request has."""
    repository.git("update-ref", name, tip)
    repository.git("checkout", "--quiet", "main")
    repository.git("branch", "--delete", "--force", "dev")


def test_a_commit_that_was_head_is_a_layer_without_files(repository, index, main):
    tip = repository.git("rev-parse", "main").decode().strip()
    report = index(Ref("commit", tip))
    assert (report.kind, report.base_paths, report.mask, report.chunks_written) == ("overlay", 0, 0, 0)
    assert live(index.workshop, Ref("commit", tip)) == repository.listing(tip)


def test_a_commit_that_is_indexed_again_under_other_settings_is_answered_under_them(
    repository, index, main, make_workshop
):
    tip = repository.git("rev-parse", "main").decode().strip()
    other = replace(index.workshop, settings=make_workshop("other", scan={"exclude": ["src/f00.py"]}).settings)
    other = replace(other, settings=other.settings.model_copy(update={"home": index.workshop.settings.home}))
    index_repository(IndexRequest(repository.origin, Ref("commit", tip)), other)

    def paths() -> set[str]:
        asked = VersionQuery(commits=(VersionSpecifier("commit", tip),))
        found = one_version(Catalog(index.workshop.store), "project", asked)
        return {file.path for file in index.workshop.store.files(found.snapshot) if file.verdict == INDEXED}

    assert paths() == set(FILES) - {"src/f00.py"}
    index(Ref("branch", "main"), full=True)
    assert paths() == set(FILES), "the newest transaction at the commit counts"


@pytest.mark.parametrize(
    ("ref", "error", "message"),
    [
        (Ref("branch", "nope"), GitError, "has no branch nope; it has dev, main"),
        (Ref("tag", "nope"), GitError, "has no tag nope; it has v0"),
        (Ref("pull", "99"), GitError, "has no pull request 99"),
        (Ref("commit", "f" * 40), GitError, f"has no commit {'f' * 40} on any branch or tag"),
        (Ref("commit", "fffffff"), GitError, "has no commit fffffff on any branch or tag"),
        (Ref("commit", "main"), UsageError, "must be 7 to 64 hexadecimal digits"),
        (Ref("branch", "--upload-pack=evil"), GitError, "has no branch --upload-pack=evil; it has dev, main"),
        (Ref("tag", "-x"), GitError, "has no tag -x; it has v0"),
        (Ref("tag", "a..b"), UsageError, "is not the name of a tag"),
        (Ref("pull", "7/head:x"), UsageError, "is not the number of a pull request"),
    ],
)
def test_an_unknown_version_is_one_clear_line(repository, index, main, ref, error, message):
    repository.git("tag", "v0", "main")
    with pytest.raises(error, match=message):
        index(ref)
    assert set(read_head(index.workshop.store).timelines) == {read_head(index.workshop.store).defaults["project"]}


def test_an_ambiguous_short_commit_lists_the_candidates(make_repository, make_workshop):
    """Two real commits whose ids share their first digits."""
    repository = make_repository(files=FILES)
    seen: dict[str, bytes] = {}
    number = 0
    tree = repository.git("write-tree").decode().strip()
    # A pair is expected after some 20,000 commits; only the pair is written, the others are only hashed.
    while True:
        body = f"tree {tree}\nauthor A <a> {number} +0000\ncommitter A <a> {number} +0000\n\nx\n".encode()
        name = hashlib.sha1(b"commit %d\0" % len(body) + body).hexdigest()
        if name[:7] in seen:
            break
        seen[name[:7]] = body
        number += 1
    for content in (body, seen[name[:7]]):
        made = repository.git("hash-object", "-t", "commit", "-w", "--stdin", data=content).decode().strip()
        repository.git("branch", f"b{made}", made)
    workshop = make_workshop()
    index_repository(IndexRequest(repository.origin), workshop)
    with pytest.raises(AmbiguousCommit) as caught:
        index_repository(IndexRequest(repository.origin, Ref("commit", name[:7])), workshop)
    assert name in caught.value.candidates
    assert len(caught.value.candidates) == 2


def test_the_default_branch_is_indexed_first_if_nothing_is_indexed_yet(repository, index):
    repository.git("tag", "v1", "dev")
    repository.git("checkout", "--quiet", "main")
    report = index(TAG)
    assert report.default_branch is not None
    assert (report.default_branch.ref, report.default_branch.kind) == ("main", "default")
    assert (report.kind, report.base_ref, report.embedded) == ("overlay", "main", 1)


def test_the_first_indexed_branch_becomes_the_default_branch(repository, index):
    repository.git("checkout", "--quiet", "main")
    assert (index(DEV).kind, index().ref) == ("default", "dev")


def test_a_branch_becomes_the_default_branch_and_its_layer_a_former_timeline(repository, index, main):
    index(DEV)
    layer = version(index.workshop, DEV)
    report = index(DEV, default=True)
    head = read_head(index.workshop.store)
    assert (report.kind, report.ref) == ("default", "dev")
    state = head.timelines[layer.timeline]
    assert (state.ref, state.former, bool(state.expiring_since)) == ("", DEV.key, True)
    assert read_repository(index.workshop.store, "project").branch == "dev"
    assert not index(DEV).changed


def test_a_renamed_file_is_written_under_its_new_path_and_masked_under_the_old(repository, index, main):
    repository.git("mv", "src/f03.py", "src/renamed.py")
    tip = repository.commit()
    index(DEV)
    assert live(index.workshop, DEV) == repository.listing(tip)
    assert "src/f03.py" in version(index.workshop, DEV).mask


def test_an_ignore_file_only_on_a_branch_excludes_files_only_there(repository, index, main):
    repository.write(".codequarryignore", "f01.py\nf02.py\n")
    tip = repository.commit()
    report = index(DEV)
    expected = {path: blob for path, blob in repository.listing(tip).items() if path[4:] not in ("f01.py", "f02.py")}
    assert live(index.workshop, DEV) == expected
    assert report.skipped == {"excluded": 2}
    record = version(index.workshop, DEV)
    summary = read_summary(index.workshop.store, record.timeline, record.number)
    assert (summary.files, dict(summary.skipped)) == (len(expected), {"excluded": 2})
    snapshot = version_snapshot(read_head(index.workshop.store), record)
    assert summary.chunks == index.workshop.store.count(snapshot, Filters())


def test_a_deleted_branch_is_dropped_by_any_run_of_its_origin(repository, index, main):
    index(DEV)
    repository.git("tag", "v1", "dev")
    index(TAG)
    repository.git("checkout", "--quiet", "main")
    repository.git("branch", "--delete", "--force", "dev")
    assert index().dropped == ("dev",)
    assert [ref.ref for ref in list_ref_heads(index.workshop.store, "project")] == ["", TAG.key]
    with pytest.raises(GitError, match="has no branch dev"):
        index(DEV)
    repository.git("tag", "--delete", "v1")
    report = index(TAG)
    assert (report.kind, report.dropped) == ("gone", ("v1",))
    head = read_head(index.workshop.store)
    assert {state.ref for state in head.timelines.values()} == {""}
    assert {state.former for state in head.timelines.values()} == {"", DEV.key, TAG.key}
    assert not index.workshop.store.list_documents("chore:")


def test_a_branch_that_replaces_a_folder_of_branches_is_fetched(repository, index, main):
    """Git itself can't hold `topic` and `topic/one` at the same time, and our mirror has seen both."""
    repository.git("branch", "topic", "dev")
    index(Ref("branch", "topic"))
    repository.git("branch", "--delete", "--force", "topic")
    repository.git("branch", "topic/one", "dev")
    report = index(Ref("branch", "topic/one"))
    assert (report.kind, report.dropped) == ("overlay", ("topic",))


@pytest.mark.parametrize("name", ["-x", r"caf\xe9"])
def test_a_branch_with_an_unusual_name_is_a_version_until_it_is_deleted(repository, index, main, name):
    written = name.encode().decode("unicode_escape").encode("latin-1")
    repository.git("update-ref", b"refs/heads/" + written, "dev")
    ref = Ref("branch", name)
    assert index(ref).kind == "overlay"
    assert live(index.workshop, ref) == repository.listing("dev")
    repository.git("update-ref", "-d", b"refs/heads/" + written)
    repository.git("checkout", "--quiet", "main")
    assert index().dropped == (name,)


def test_a_tag_of_an_origin_with_a_detached_head_is_a_layer_over_that_head(repository, index):
    repository.git("tag", "v1", "main")
    repository.git("checkout", "--quiet", "--detach", "dev")
    repository.git("branch", "-D", "main", "dev")
    report = index(TAG)
    assert (report.kind, report.default_branch.ref) == ("overlay", "HEAD")
    assert live(index.workshop, TAG) == repository.listing("v1")


def test_a_fetch_records_the_head_of_every_version(repository, index, main):
    index(DEV)
    store = index.workshop.store
    published = repository.git("rev-parse", "dev").decode().strip()
    seen = read_ref_head(store, "project", DEV.key)
    assert (seen.commit, seen.behind) == (published, None), "nothing had been published when it was fetched"
    repository.commit("one more")
    tip = repository.commit("and another")
    repository.git("checkout", "--quiet", "main")
    index()
    seen = read_ref_head(store, "project", DEV.key)
    assert (seen.commit, seen.behind_of, seen.behind) == (tip, published, None), "seen, not fetched"
    index(DEV)
    seen = read_ref_head(store, "project", DEV.key)
    assert (seen.commit, seen.behind_of, seen.behind) == (tip, published, 2)


def test_records_list_the_new_commits(repository, index, main):
    index(DEV)
    first = version(index.workshop, DEV)
    history = repository.git("rev-list", "dev").decode().split()
    assert (list(first.commits), first.commit_count) == (history, 2)
    second, third = repository.commit("second"), repository.commit("third")
    index(DEV)
    record = version(index.workshop, DEV)
    assert (record.commits, record.commit_count, record.lost) == ((third, second), 2, ())


def test_records_list_the_commits_removed_by_a_force_push(repository, index, main):
    taken = repository.commit("taken back")
    index(DEV)
    repository.git("reset", "--quiet", "--hard", "HEAD~1")
    other = repository.commit("instead")
    index(DEV)
    record = version(index.workshop, DEV)
    assert (record.commits, record.lost) == ((other,), (taken,))


def test_a_single_version_is_removed(repository, index, main):
    index(DEV)
    workshop = index.workshop
    with pytest.raises(UsageError, match="main is the default branch of project"):
        remove_version("project", Ref("branch", "main"), workshop.store, workshop.settings)
    with pytest.raises(NotIndexed, match="project has no indexed tag v1; indexed versions: dev"):
        remove_version("project", TAG, workshop.store, workshop.settings)
    remove_version("project", DEV, workshop.store, workshop.settings)
    head = read_head(workshop.store)
    assert set(head.timelines) == {head.defaults["project"]}


def test_the_estimate_of_a_branch_is_based_on_its_diff(repository, index, main):
    estimated = estimate(IndexRequest(repository.origin, DEV), index.workshop)
    assert (estimated.files, estimated.chunks, estimated.base_paths, estimated.base_ref) == (1, 1, 1, "main")
    assert len(read_head(index.workshop.store).timelines) == 1
    index(DEV)
    assert estimate(IndexRequest(repository.origin, DEV), index.workshop).files == 0


def test_rebuilding_a_version_replaces_its_timeline(repository, index, main):
    index(DEV)
    before = version(index.workshop, DEV)
    report = index(DEV, full=True)
    assert (report.kind, report.embedded, report.chunks_written) == ("overlay", 0, 1)
    assert version(index.workshop, DEV).timeline != before.timeline
    assert live(index.workshop, DEV) == repository.listing("dev")


@pytest.mark.opensearch
def test_versions_on_opensearch_equal_gits_listing(repository, make_opensearch_workshop):
    workshop = make_opensearch_workshop()
    repository.git("checkout", "--quiet", "main")
    index_repository(IndexRequest(repository.origin), workshop)
    repository.git("checkout", "--quiet", "dev")
    request = IndexRequest(repository.origin, DEV)
    index_repository(request, workshop)
    assert live(workshop, DEV) == repository.listing("dev")
    repository.git("checkout", "--quiet", "main", "--", "src/f00.py")
    repository.remove("src/f04.py")
    repository.write("src/new.py", "x = 1\n")
    repository.commit()
    index_repository(request, workshop)
    assert live(workshop, DEV) == repository.listing("dev")
    repository.git("checkout", "--quiet", "main")
    repository.git("branch", "--delete", "--force", "dev")
    assert index_repository(request, workshop).kind == "gone"


def test_the_default_branch_keeps_its_name_until_another_branch_is_published(index, main):
    index(DEV)
    with pytest.raises(LimitExceeded):
        index(DEV, default=True, full=True, max_chunks=1)
    assert read_repository(index.workshop.store, "project").branch == "main"
    assert index(DEV, default=True).kind == "default"
    known = read_repository(index.workshop.store, "project")
    assert (known.branch, known.follows_head) == ("dev", False)


def test_a_full_branch_deleted_under_an_overlay_is_searched_by_its_commits_only(repository, index, main):
    repository.git("checkout", "--quiet", "dev")
    for number in range(4):
        repository.write(f"src/f{number:02}.py", "x = 1\n")
    tip = repository.commit("a large branch")
    repository.git("checkout", "--quiet", "-b", "feature")
    repository.write("src/f05.py", "def feature():\n    return 1\n")
    repository.commit("on another one")
    repository.git("checkout", "--quiet", "main")
    feature = Ref("branch", "feature")
    assert (index(DEV).kind, index(feature).base_ref) == ("full", "dev")
    repository.git("branch", "--delete", "--force", "dev")
    assert index().dropped == ("dev",)
    assert live(index.workshop, feature) == repository.listing("feature")
    asked = VersionQuery(commits=(VersionSpecifier("commit", tip),))
    assert one_version(Catalog(index.workshop.store), "project", asked).view.commit == tip
    with pytest.raises(NotIndexed):
        one_version(Catalog(index.workshop.store), "project", VersionQuery((VersionSpecifier("ref", "dev"),)))
    [state] = describe(Catalog(index.workshop.store))
    assert [version.ref for version in state.versions] == ["main", "feature"]


def test_while_the_default_branch_is_switched_every_answer_names_the_branch_it_shows(
    repository, index, main, monkeypatch
):
    store = index.workshop.store
    catalog = Catalog(store)
    old, new = (repository.git("rev-parse", name).decode().strip() for name in ("main", "dev"))

    def seen(*commits):
        query = VersionQuery(commits=tuple(VersionSpecifier("commit", commit) for commit in commits))
        found = locate(catalog, Selection(repos=("project",), version=query))
        [view] = found.scope.views["project"]
        state = ready_state(catalog, found.head, view, found.repositories["project"])
        return view.ref.name, view.commit, state.head_commit

    during = []
    write, refresh = store.write_document, store.refresh

    def look() -> None:
        catalog.expire()
        during.append(seen())

    def write_and_look(*args):
        look()
        return write(*args)

    def refresh_and_look():
        look()
        refresh()

    monkeypatch.setattr(store, "write_document", write_and_look)
    monkeypatch.setattr(store, "refresh", refresh_and_look)
    index(DEV, default=True)
    monkeypatch.undo()
    # Until the catalog is updated, nothing is known about how far the branch has advanced.
    assert list(dict.fromkeys(during)) == [("main", old, old), ("dev", new, None), ("dev", new, new)]
    # The cached catalog was read before that write.
    assert seen()[:2] == ("dev", new)
    assert seen(old)[:2] == ("main", old), "an old commit keeps the name under which it was published"
    catalog.expire()
    assert seen() == ("dev", new, new)


def test_a_default_branch_can_change_only_its_name(repository, index, main):
    repository.git("branch", "trunk", "main")
    catalog = Catalog(index.workshop.store)
    assert not index(Ref("branch", "trunk"), default=True).changed
    view = locate(catalog, Selection(repos=("project",))).scope.views["project"][0]
    assert view.ref.name == "trunk"
    assert (
        one_version(Catalog(index.workshop.store), "project", VersionQuery((VersionSpecifier("branch", "trunk"),))).view
        == view
    )
