"""The tips of branches and tags are read from a repository's files, and never from anywhere else."""

import os
import shutil

import pytest

from codequarry.shared.repositories.local_refs import LocalTip, local_tip
from codequarry.shared.versions.refs import Ref

MAIN = Ref("branch", "main")


@pytest.fixture
def repository(make_repository):
    return make_repository(files={"a.py": "a = 1\n"})


def commit_of(repository, name="HEAD"):
    return repository.git("rev-parse", f"{name}^{{commit}}").decode().strip()


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", ["main", "feature/deep/one", "ünï"])
def test_a_branch_is_at_its_newest_commit(repository, name, packed):
    if name != "main":
        repository.git("branch", name)
    if packed:
        repository.git("pack-refs", "--all")
    assert local_tip(repository.folder, Ref("branch", name)) == LocalTip(commit_of(repository))


def test_a_loose_ref_overrides_a_packed_one(repository):
    repository.git("pack-refs", "--all")
    second = repository.commit()
    assert local_tip(repository.folder, MAIN) == LocalTip(second)


def test_a_missing_branch_is_told_from_an_unknown_one(repository, tmp_path):
    repository.git("branch", "a/b")
    for name in ("nope", "a", "a/b/c"):
        assert local_tip(repository.folder, Ref("branch", name)) == LocalTip(None)
    assert local_tip(tmp_path / "nope", MAIN) is None
    assert local_tip(tmp_path, MAIN) is None


def test_a_bare_repository_and_its_pull_requests(repository, tmp_path):
    commit = commit_of(repository)
    repository.git("clone", "--quiet", "--bare", str(repository.folder), str(tmp_path / "bare.git"))
    repository.git("-C", str(tmp_path / "bare.git"), "update-ref", "refs/merge-requests/7/head", commit)
    assert local_tip(tmp_path / "bare.git", MAIN) == LocalTip(commit)
    assert local_tip(tmp_path / "bare.git", Ref("pull", "7")) == LocalTip(commit)
    assert local_tip(tmp_path / "bare.git", Ref("pull", "8")) == LocalTip(None)


def test_a_worktree_has_its_own_head_and_the_branches_of_its_repository(repository, tmp_path):
    repository.git("worktree", "add", "--quiet", "-b", "dev", str(tmp_path / "tree"))
    second = repository.commit()
    first = commit_of(repository, "dev")
    assert local_tip(tmp_path / "tree", MAIN) == LocalTip(second)
    assert local_tip(tmp_path / "tree", Ref("workspace", str(tmp_path / "tree"))) == LocalTip(first)
    shutil.move(tmp_path / "tree", tmp_path / "moved")
    assert local_tip(tmp_path / "moved", MAIN) is None, "the repository knows another folder"


def test_a_detached_head_is_the_branch_of_that_name(repository):
    first = commit_of(repository)
    repository.git("checkout", "--quiet", "--detach")
    assert local_tip(repository.folder, Ref("branch", "HEAD")) == LocalTip(first)


@pytest.mark.parametrize("packed", [False, True])
def test_a_tag_is_at_its_commit_if_the_files_tell(repository, packed):
    commit = commit_of(repository)
    repository.git("tag", "light")
    repository.git("tag", "--annotate", "--message", "x", "heavy")
    if packed:
        repository.git("pack-refs", "--all")
    light, heavy = (local_tip(repository.folder, Ref("tag", name)) for name in ("light", "heavy"))
    assert (light, heavy) == ((LocalTip(commit),) * 2 if packed else (None, None))
    assert local_tip(repository.folder, Ref("tag", "light"), known=commit) == LocalTip(commit)


def test_a_reftable_tells_nothing(repository):
    """As git 2.45 or newer leaves it; an older git can't make one."""
    (repository.folder / ".git" / "reftable").mkdir()
    (repository.folder / ".git" / "HEAD").write_text("ref: refs/heads/.invalid\n")
    assert local_tip(repository.folder, MAIN) is None


@pytest.mark.parametrize("place", [".git", ".git/refs", ".git/refs/heads", ".git/refs/heads/main"])
def test_links_are_not_followed(repository, tmp_path, place):
    path = repository.folder / place
    shutil.move(path, tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert local_tip(repository.folder, MAIN) is None
    linked = tmp_path / "linked"
    linked.symlink_to(repository.folder)
    assert local_tip(linked, MAIN) is None


@pytest.mark.parametrize("name", [".git/refs/heads/main", ".git/packed-refs"])
def test_a_pipe_blocks_nothing(repository, name):
    path = repository.folder / name
    repository.git("pack-refs", "--all")
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    assert local_tip(repository.folder, MAIN) is None


@pytest.mark.parametrize("content", ["", "x" * 40, "A" * 40, "ref: /etc/passwd", "ref: refs/heads/main", "1" * 70_000])
def test_what_git_does_not_write_tells_nothing(repository, content):
    (repository.folder / ".git" / "refs" / "heads" / "main").write_text(content)
    assert local_tip(repository.folder, MAIN) is None


@pytest.mark.parametrize("name", ["../../../secret", "a//b", "a/./b", "x\0y", "\\xff"])
def test_a_name_leads_nowhere_else(repository, name):
    (repository.folder / "secret").write_text("1" * 40)
    assert local_tip(repository.folder, Ref("branch", name)) is None


def test_the_folders_of_other_users_are_not_read(repository, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    assert local_tip(repository.folder, MAIN) is None


def test_nothing_outside_the_roots_is_read(repository, tmp_path):
    commit = commit_of(repository)
    assert local_tip(repository.folder, MAIN, roots=[repository.folder.parent]) == LocalTip(commit)
    assert local_tip(repository.folder, MAIN, roots=[]) is None
    tree = tmp_path / "trees" / "one"
    repository.git("worktree", "add", "--quiet", "-b", "dev", str(tree))
    assert local_tip(tree, MAIN, roots=[tree.parent]) is None
    assert local_tip(tree, MAIN, roots=[tmp_path]) == LocalTip(commit)


def test_no_handle_stays_open(repository):
    before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    for name in ("main", "nope", "../x"):
        local_tip(repository.folder, Ref("branch", name))
    assert (len(os.listdir("/proc/self/fd")) if before else 0) == before
