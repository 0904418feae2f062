"""A working tree with uncommitted changes as a version: the contents of the folder, not of the commit."""

import hashlib
import os

import pytest

from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.shared.catalog.ledger import published_transactions, read_head
from codequarry.shared.errors import GitError
from codequarry.shared.model import INDEXED
from codequarry.shared.versions.refs import Ref
from codequarry.shared.versions.snapshots import head_snapshot, version_snapshot

FILES = {f"src/f{number:02}.py": f"value = {number}\n" for number in range(20)} | {".gitignore": "*.log\nbuild/\n"}


class Tree:
    """A checkout that is indexed with its changes."""

    def __init__(self, repository, workshop) -> None:
        self.repository, self.workshop = repository, workshop
        self.ref = Ref("workspace", str(repository.folder))

    def index(self, origin: str = "", folder=None):
        ref = Ref("workspace", str(folder)) if folder else self.ref
        return index_repository(IndexRequest(origin, ref), self.workshop)

    def live(self) -> dict[str, str]:
        head = read_head(self.workshop.store)
        [timeline] = [key for key, state in head.timelines.items() if state.ref == self.ref.key]
        record = published_transactions(self.workshop.store, head, timeline)[-1]
        files = list(self.workshop.store.files(version_snapshot(head, record)))
        assert len({file.path for file in files}) == len(files)
        return {file.path: file.blob for file in files if file.verdict == INDEXED}

    def expected(self, *paths: str) -> dict[str, str]:
        return {path: blob((self.repository.folder / path).read_bytes()) for path in paths}


def blob(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@pytest.fixture
def tree(make_repository, make_workshop):
    return Tree(make_repository(files=FILES), make_workshop())


def test_edits_new_files_and_deletions_are_indexed_and_ignored_files_are_not(tree):
    tree.repository.write("src/f00.py", "value = 'edited'\n")
    tree.repository.write("src/staged.py", "x = 1\n")
    tree.repository.git("add", "src/staged.py")
    tree.repository.write("src/untracked.py", "y = 1\n")
    tree.repository.write("noise.log", "no\n")
    tree.repository.write("build/out.py", "no\n")
    tree.repository.remove("src/f01.py")
    report = tree.index()
    expected = [*FILES, "src/staged.py", "src/untracked.py"]
    expected.remove("src/f01.py")
    assert tree.live() == tree.expected(*expected)
    assert (report.kind, report.base_paths, report.commit) == ("overlay", 4, head_of(tree.repository))
    assert report.default_branch is not None, "the default branch had not been indexed"
    live = {file.path for file in tree.workshop.store.files(head_snapshot(read_head(tree.workshop.store)))}
    assert live == set(FILES), "the default branch has only committed files"


def head_of(repository) -> str:
    return repository.git("rev-parse", "HEAD").decode().strip()


def test_a_run_without_changes_says_so_and_a_run_after_a_change_follows_it(tree):
    tree.repository.write("src/f00.py", "value = 'edited'\n")
    tree.index()
    assert not tree.index().changed
    tree.repository.remove("src/f02.py")
    assert tree.index().changed
    assert "src/f02.py" not in tree.live()
    tree.repository.git("checkout", "--quiet", ".")
    report = tree.index()
    assert (report.base_paths, report.chunks_live) == (0, len(FILES))
    assert tree.live() == tree.repository.listing()


def test_a_too_large_file_is_not_read(tree):
    """A sparse file of terabytes takes no disk space, and would take days to read."""
    large = tree.repository.folder / "large.py"
    large.touch()
    os.truncate(large, 8 * 10**12)
    assert tree.index().skipped == {"too-large": 1}
    assert not tree.index().changed
    os.truncate(large, 9 * 10**12)
    assert tree.index().changed


def test_a_tracked_file_that_is_too_large_is_not_a_change(tree):
    tree.repository.write("large.py", "x = 1\n" * 200_000)
    tree.repository.commit()
    report = tree.index()
    assert (report.base_paths, report.skipped) == (0, {"too-large": 1})


def test_nothing_is_written_into_the_checkout(tree):
    tree.repository.write("src/f00.py", "value = 'edited'\n")
    tree.repository.write("new.py", "x = 1\n")

    def state():
        return sorted((str(path), path.lstat().st_mtime_ns) for path in tree.repository.folder.rglob("*"))

    before = state()
    tree.index()
    assert state() == before


def test_no_program_configured_by_the_checkout_is_run(tree, tmp_path):
    evil = f"touch {tmp_path}/evil"
    for key in ("core.fsmonitor", "core.sshCommand", "filter.evil.clean", "filter.evil.process", "core.pager"):
        tree.repository.git("config", key, evil)
    (tree.repository.folder / ".git" / "hooks").mkdir(exist_ok=True)
    for hook in ("post-index-change", "fsmonitor-watchman", "reference-transaction"):
        path = tree.repository.folder / ".git" / "hooks" / hook
        path.write_text(f"#!/bin/sh\n{evil}\n")
        path.chmod(0o755)
    (tree.repository.folder / ".gitattributes").write_text("* filter=evil\n")
    tree.index()
    assert not (tmp_path / "evil").exists()


def test_links_are_never_followed(tree, tmp_path):
    secret = tmp_path / "secret.py"
    secret.write_text("password = 'x'\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f00.py").write_text("outside = 1\n")
    (tree.repository.folder / "link.py").symlink_to(secret)
    for path in (tree.repository.folder / "src").iterdir():
        path.unlink()
    (tree.repository.folder / "src").rmdir()
    (tree.repository.folder / "src").symlink_to(outside)
    assert tree.index().skipped == {"symlink": 2}
    assert tree.live() == tree.expected(".gitignore")


def test_a_nested_repository_and_a_pipe_are_ignored(tree):
    inner = tree.repository.folder / "inner"
    tree.repository.git("init", "--quiet", str(inner))
    (inner / "i.py").write_text("i = 1\n")
    os.mkfifo(tree.repository.folder / "pipe.py")
    tree.index()
    assert tree.live() == tree.repository.listing()


def test_unusual_names_and_executables_are_read(tree):
    tree.repository.write("line\nfeed.py", "x = 1\n")
    tree.repository.write("ünï.py", "y = 1\n")
    tree.repository.write("src/f00.py", "run = 1\n")
    (tree.repository.folder / "src/f00.py").chmod(0o755)
    tree.index()
    assert tree.live() == tree.expected(*FILES, "line\nfeed.py", "ünï.py")


def test_the_folders_ignore_file_applies_before_it_is_committed(tree):
    tree.repository.write(".codequarryignore", "f00.py\n")
    assert tree.index().skipped == {"excluded": 1}
    assert "src/f00.py" not in tree.live()


def test_a_sparse_checkout_includes_the_files_that_it_leaves_out(tree):
    tree.repository.write("docs/d.md", "# D\n")
    tree.repository.commit()
    tree.repository.git("sparse-checkout", "set", "--no-cone", "/docs/")
    assert not (tree.repository.folder / "src").exists()
    tree.index()
    assert tree.live() == tree.repository.listing()


def test_a_clone_belongs_to_the_repository_of_its_remote(tree, tmp_path):
    origin = tree.repository.origin
    index_repository(IndexRequest(origin), tree.workshop)
    clone = tmp_path / "clones" / "mine"
    tree.repository.git("clone", "--quiet", origin, str(clone))
    (clone / "src" / "sub").mkdir()
    (clone / "src" / "sub" / "mine.py").write_text("mine = 1\n")
    report = tree.index(folder=clone / "src" / "sub")
    assert (report.repo, report.default_branch, report.base_paths) == ("project", None, 1)
    assert report.key == f"workspace/{clone}", "keyed by its top folder"


@pytest.mark.parametrize("depth", [[], ["--depth=1"]])
def test_a_commit_that_was_not_pushed_is_indexed(tree, tmp_path, depth):
    tree.repository.write("more.py", "m = 1\n")
    tree.repository.commit()
    index_repository(IndexRequest(tree.repository.origin), tree.workshop)
    clone = tmp_path / "clones" / "mine"
    tree.repository.git("clone", "--quiet", *depth, f"file://{tree.repository.origin}", str(clone))
    mine = type(tree.repository).__new__(type(tree.repository))
    mine.folder = clone
    mine.write("local.py", "l = 1\n")
    commit = mine.commit()
    report = tree.index(folder=clone)
    assert (report.repo, report.commit, report.base_paths) == ("project", commit, 1)


def test_a_branch_without_commits_in_a_repository_with_history_is_not_called_an_empty_repository(tree):
    tree.index()
    tree.repository.git("checkout", "--quiet", "--orphan", "fresh")
    with pytest.raises(
        GitError, match=f"the branch that is checked out in {tree.repository.folder} has no commits yet"
    ):
        tree.index()


def test_a_folder_that_is_not_a_working_tree_is_one_clear_line(tree, tmp_path, make_repository):
    plain = tmp_path / "plain"
    plain.mkdir()
    with pytest.raises(GitError, match="is not in a git working tree"):
        tree.index(folder=plain)
    with pytest.raises(GitError, match="is not a folder"):
        tree.index(folder=plain / "missing")
    with pytest.raises(GitError, match="has no commits yet"):
        tree.index(folder=make_repository("empty").folder)


def test_a_folder_with_the_name_of_the_ignore_file_has_no_effect(tree):
    tree.repository.write(".codequarryignore", "f00.py\n")
    tree.repository.commit()
    tree.repository.remove(".codequarryignore")
    tree.repository.write(".codequarryignore/rules", "*.py\n")
    report = tree.index()
    assert (report.skipped, report.warnings) == ({}, ())
    assert {*FILES, ".codequarryignore/rules"} == tree.live().keys()
