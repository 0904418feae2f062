"""The default branch of a repository with a working tree, and what is checked out there."""

from dataclasses import replace

import pytest

from codequarry.ingest.git.local import repository_at
from codequarry.ingest.run.estimate import estimate
from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.catalog.repositories import read_repository, save_repository
from codequarry.shared.errors import NotAtOrigin
from codequarry.shared.versions.refs import Ref

FILES = {f"f{number:02}.py": f"def function_{number}():\n    return {number}\n" for number in range(12)}
FEATURE = Ref("branch", "feature")


@pytest.fixture
def repository(make_repository):
    """Return a repository whose branch feature, one commit ahead of main, is checked out."""
    repository = make_repository(files=FILES)
    repository.git("checkout", "--quiet", "-b", "feature")
    repository.write("f00.py", "def on_feature():\n    return 1\n")
    repository.commit("on feature")
    return repository


@pytest.fixture
def workshop(make_workshop):
    return make_workshop()


@pytest.fixture
def index(repository, workshop):
    """Return a function that indexes as `codequarry index PATH` does if no version is named."""

    def run(ref: Ref | None = None, **fields):
        return index_repository(IndexRequest(repository.origin, ref, checked_out=ref is None, **fields), workshop)

    return run


@pytest.fixture
def versions(workshop):
    """Return a function that returns the default branch's name and the commit of every indexed version by key."""

    def read():
        head = read_head(workshop.store)
        states = [head.timelines[timeline] for timeline in head.of_repo("project")]
        return head.default_branch("project"), {state.ref: state.commit for state in states if not state.gone}

    return read


def tip(repository, name="HEAD"):
    return repository.git("rev-parse", name).decode().strip()


def test_another_branch_that_is_checked_out_is_indexed_as_a_branch(repository, index, versions):
    repository.git("checkout", "--quiet", "main")
    first = index()
    assert (first.ref, first.key, first.version_note, first.replaced_default) == ("main", "", "", "")
    index(FEATURE)
    repository.git("checkout", "--quiet", "feature")
    repository.write("f01.py", "def later():\n    return 2\n")
    later = repository.commit()
    report = index()
    assert (report.ref, report.key, report.kind, report.commit) == ("feature", FEATURE.key, "overlay", later)
    assert "the default branch is main" in report.version_note and "--branch feature" in report.version_note
    assert report.default_branch is None
    assert versions() == ("main", {"": tip(repository, "main"), FEATURE.key: later})


def test_the_first_index_names_the_default_branch_whatever_is_checked_out(repository, index, versions):
    report = index()
    assert (report.ref, report.kind) == ("feature", "overlay")
    assert (report.default_branch.ref, report.default_branch.kind) == ("main", "default")
    assert versions() == ("main", {"": tip(repository, "main"), FEATURE.key: tip(repository)})


def test_a_request_that_does_not_ask_for_the_checkout_gets_the_default_branch(repository, workshop, versions):
    assert index_repository(IndexRequest(repository.origin), workshop).ref == "main"
    assert versions() == ("main", {"": tip(repository, "main")})


@pytest.mark.parametrize(
    ("names", "default"),
    [
        (("master", "main"), "main"),
        (("master", "develop"), "master"),
        (("develop", "trunk"), "trunk"),
        (("develop", "x"), "develop"),
        (("x", "y"), "feature"),
    ],
)
def test_the_usual_names_come_first_and_then_the_branch_that_is_checked_out(
    repository, index, versions, names, default
):
    for name in names:
        repository.git("branch", f"new-{name}", "main")
    repository.git("branch", "--delete", "main")
    for name in names:
        repository.git("branch", "--move", f"new-{name}", name)
    index()
    assert versions()[0] == default


def test_the_head_of_a_clones_origin_names_its_default_branch(repository, index, versions):
    repository.git("branch", "production", "main")
    repository.git("update-ref", "refs/remotes/origin/production", "main")
    repository.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/production")
    index()
    assert versions()[0] == "production"


def test_a_default_branch_of_the_origin_that_does_not_exist_here_is_passed_over(repository, index, versions):
    repository.git("update-ref", "refs/remotes/origin/production", "main")
    repository.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/production")
    index()
    assert versions()[0] == "main"


def test_the_users_own_name_for_new_default_branches_comes_before_the_usual_names(
    repository, index, versions, tmp_path, monkeypatch
):
    configuration = tmp_path / "gitconfig"
    configuration.write_text("[init]\n\tdefaultBranch = stem\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(configuration))
    repository.git("branch", "stem", "main")
    index()
    assert versions()[0] == "stem"


def test_the_repositorys_own_configuration_does_not_name_its_default_branch(repository, index, versions):
    repository.git("config", "init.defaultBranch", "feature")
    index()
    assert versions()[0] == "main"


def test_the_default_branch_stays_when_a_more_usual_name_appears(repository, index, versions):
    repository.git("branch", "--move", "main", "master")
    index()
    repository.git("branch", "main", "feature")
    repository.git("checkout", "--quiet", "main")
    assert index().key == "refs/heads/main"
    assert versions()[0] == "master"


def test_a_default_branch_that_followed_the_checkout_stays_as_it_is(repository, index, versions, workshop):
    """An older version made whatever was checked out the default branch."""
    index(FEATURE)
    known = read_repository(workshop.store, "project")

    save_repository(workshop.store, replace(known, follows_head=True))
    repository.git("checkout", "--quiet", "main")
    assert index().key == "refs/heads/main"
    assert versions()[0] == "feature"


def test_a_renamed_default_branch_is_replaced_and_the_report_says_so(repository, index, versions):
    index()
    repository.git("branch", "--move", "main", "trunk")
    repository.git("checkout", "--quiet", "trunk")
    report = index()
    assert (report.ref, report.key, report.replaced_default) == ("trunk", "", "main")
    assert report.version_note == "the default branch is now trunk: main no longer exists"
    assert versions()[0] == "trunk"


def test_a_chosen_default_branch_is_reported_with_the_command_that_undoes_it(repository, index, versions):
    index()
    chosen = index(FEATURE, default=True)
    assert chosen.replaced_default == "main"
    undo = f"codequarry index {repository.origin} --branch main --default"
    assert chosen.version_note.endswith(undo)
    assert versions()[0] == "feature"
    undone = index(Ref("branch", "main"), default=True)
    assert (undone.key, undone.replaced_default) == ("", "feature")
    assert versions()[0] == "main"
    assert index(Ref("branch", "main"), default=True).replaced_default == ""


def test_a_chosen_default_branch_that_is_gone_is_named(repository, index, workshop):
    index()
    index(FEATURE, default=True)
    repository.git("branch", "--move", "feature", "renamed")
    missing = (
        r"has no branch feature, the default branch; choose another with --branch B --default: it has main, renamed$"
    )
    with pytest.raises(NotAtOrigin, match=missing):
        index_repository(IndexRequest(repository.origin), workshop)
    assert index().key == "refs/heads/renamed"


def test_a_detached_head_is_indexed_as_a_commit(repository, index, versions):
    repository.git("checkout", "--quiet", "--detach", "feature")
    commit = tip(repository)
    report = index()
    assert (report.key, report.default_branch.ref) == (f"commit/{commit}", "main")
    assert f"--commit {commit[:12]}" in report.version_note
    assert versions() == ("main", {"": tip(repository, "main"), f"commit/{commit}": commit})


def test_a_detached_head_at_the_default_branch_is_the_default_branch(repository, index, versions):
    repository.git("checkout", "--quiet", "--detach", "main")
    assert index().key == ""
    assert versions() == ("main", {"": tip(repository, "main")})


def test_a_detached_head_without_a_default_branch_is_followed(repository, index, versions):
    repository.git("checkout", "--quiet", "--detach", "feature")
    repository.git("branch", "-D", "main", "feature")
    index()
    later = repository.commit()
    assert index().commit == later
    assert versions() == ("HEAD", {"": later})
    repository.git("checkout", "--quiet", "-b", "topic")
    assert index().version_note == "the default branch is now topic; HEAD was detached before"
    assert versions() == ("topic", {"": later})


def test_a_bare_repository_follows_its_head(repository, workshop, versions, tmp_path):
    bare = tmp_path / "bare" / "project.git"
    repository.git("clone", "--quiet", "--bare", ".", str(bare))
    request = IndexRequest(str(bare), checked_out=True)
    assert index_repository(request, workshop).ref == "feature"
    repository.git("--git-dir", str(bare), "symbolic-ref", "HEAD", "refs/heads/main")
    report = index_repository(request, workshop)
    assert (report.ref, report.key, report.replaced_default) == ("main", "", "feature")
    assert repository_at(bare, {}).top is None


def test_a_worktree_is_indexed_like_any_checkout(repository, workshop, versions, tmp_path):
    folder = tmp_path / "trees" / "project"
    repository.git("worktree", "add", "--quiet", "-b", "topic", str(folder), "feature")
    report = index_repository(IndexRequest(str(folder), checked_out=True), workshop)
    assert (report.key, report.default_branch.ref) == ("refs/heads/topic", "main")


def test_an_estimate_is_of_what_is_checked_out(repository, index, workshop):
    repository.git("checkout", "--quiet", "main")
    index()
    repository.git("checkout", "--quiet", "feature")
    found = estimate(IndexRequest(repository.origin, checked_out=True), workshop)
    assert (found.ref, found.files, found.base_ref) == ("feature", 1, "main")


def test_a_branch_without_commits_is_named(repository, index):
    repository.git("checkout", "--quiet", "--orphan", "fresh")
    with pytest.raises(
        NotAtOrigin,
        match=r"the checked-out branch fresh of .* has no commits yet: commit something, "
        r"or name another branch with --branch; it has feature, main$",
    ):
        index()


def test_a_branch_without_commits_does_not_stop_the_default_branch(repository, workshop):
    repository.git("checkout", "--quiet", "--orphan", "fresh")
    assert index_repository(IndexRequest(repository.origin), workshop).ref == "main"
