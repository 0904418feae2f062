"""Hostile working trees and local repositories: their programs never run, and nothing outside them is read."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from codequarry.ingest.git import local
from codequarry.ingest.git.file_tree import FileTree
from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.shared.errors import CodequarryError, GitError
from codequarry.shared.repositories.mirror_folders import mirrors_folder
from codequarry.shared.versions.refs import Ref

CANARY = "canary_that_lives_elsewhere"
FILES = {"src/app.py": "def app():\n    return 1\n", "src/deep/more.py": "more = 1\n", "readme.md": "# Hello\n"}
MOST_SECONDS = 60
SWAPPING_SECONDS = 2.0
WAYS = ("origin", "workspace")


@dataclass
class Victim:
    """A hostile checkout, the mark that its programs would leave, and a private repository beside it."""

    repository: object
    mark: Path
    private: object
    workshop: object

    @property
    def folder(self) -> Path:
        return self.repository.folder

    @property
    def dot_git(self) -> Path:
        return self.folder / ".git"

    @property
    def program(self) -> str:
        return f"touch {self.mark}; false"

    def configure(self, *settings: tuple[str, str]) -> None:
        for key, value in settings:
            self.repository.git("config", key, value)

    def forget(self, revision: str) -> None:
        name = self.repository.git("rev-parse", revision).decode().strip()
        (self.dot_git / "objects" / name[:2] / name[2:]).unlink()

    def index(self, way: str) -> str:
        """Index the checkout and return the error text, or an empty string after a success."""
        ref = Ref("workspace", str(self.folder)) if way == "workspace" else None
        try:
            with _bounded():
                index_repository(IndexRequest("" if ref else str(self.folder), ref), self.workshop)
        except CodequarryError as error:
            assert "\n" not in str(error)
            return str(error)
        return ""

    def check(self) -> None:
        assert not self.mark.exists(), "a program of the repository ran"
        for database in self.workshop.settings.home.rglob("*"):
            if database.is_file():
                assert CANARY.encode() not in database.read_bytes(), f"{database} has data from outside the repository"
        folder = next(mirrors_folder(self.workshop.settings.home).glob("*.git"), None)
        if folder:
            listed = ["git", f"--git-dir={folder}", "cat-file", "--batch", "--batch-all-objects"]
            assert CANARY.encode() not in subprocess.run(listed, capture_output=True, check=False).stdout


@contextmanager
def _bounded() -> Iterator[None]:
    """Fail instead of hanging."""

    def fail(*_: object) -> None:
        raise AssertionError(f"indexing took more than {MOST_SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(MOST_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def victim(make_repository, make_workshop, tmp_path) -> Victim:
    private = make_repository("private", {"secret.py": f"{CANARY} = 1\n"})
    return Victim(make_repository("hostile", FILES), tmp_path / "mark", private, make_workshop())


def _programs(victim: Victim) -> None:
    program = victim.program
    victim.configure(
        ("core.fsmonitor", program),
        ("core.hooksPath", str(victim.folder / "hooks")),
        ("filter.x.clean", program),
        ("filter.x.smudge", program),
        ("filter.x.process", program),
        ("filter.x.required", "true"),
        ("diff.x.textconv", program),
        ("diff.x.command", program),
        ("merge.x.driver", program),
        ("core.sshCommand", program),
        ("core.gitProxy", program),
        ("core.pager", program),
        ("core.editor", program),
        ("core.askPass", program),
        ("credential.helper", f"!{program}"),
        ("core.alternateRefsCommand", program),
        ("uploadpack.packObjectsHook", program),
        ("gpg.program", program),
        ("alias.ls-files", f"!{program}"),
        ("alias.upload-pack", f"!{program}"),
        ("protocol.ext.allow", "always"),
        ("url.ext::sh -c touch% MARK.insteadOf", "/"),
    )
    hooks = victim.folder / "hooks"
    hooks.mkdir()
    for hook in ("post-index-change", "post-checkout", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman"):
        (hooks / hook).write_text(f"#!/bin/sh\n{program}\n")
        (hooks / hook).chmod(0o755)
    (victim.folder / ".gitattributes").write_text("* filter=x diff=x merge=x\n")
    (victim.folder / "readme.md").write_text("changed\n")


def _promise(victim: Victim, url: str = "/nonexistent") -> None:
    victim.configure(
        ("core.repositoryformatversion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.url", url),
        ("remote.origin.promisor", "true"),
        ("remote.origin.uploadpack", victim.program),
        ("core.sshCommand", victim.program),
        ("core.gitProxy", victim.program),
        ("protocol.ext.allow", "always"),
    )


def _sparse_without_tree(victim: Victim) -> None:
    _promise(victim)
    victim.repository.git("sparse-checkout", "init", "--cone", "--sparse-index")
    victim.repository.git("sparse-checkout", "set", "nothing")
    victim.forget("HEAD:src")


def _without_head_commit(victim: Victim) -> None:
    _promise(victim)
    victim.forget("HEAD")


def _without_blob(victim: Victim) -> None:
    _promise(victim, f"ext::sh -c touch% {victim.mark}")
    victim.forget("HEAD:src/app.py")


def _without_tree_by_ssh(victim: Victim) -> None:
    _promise(victim, "ssh://host.invalid/x")
    victim.forget("HEAD^{tree}")


def _promise_in_worktree_configuration(victim: Victim) -> None:
    _without_head_commit(victim)
    victim.repository.git("config", "extensions.worktreeConfig", "true")
    (victim.dot_git / "config").rename(victim.dot_git / "config.worktree")
    victim.configure(("core.repositoryformatversion", "1"), ("extensions.worktreeConfig", "true"))


def _promise_by_include(victim: Victim) -> None:
    _without_head_commit(victim)
    (victim.dot_git / "config").rename(victim.dot_git / "more")
    victim.configure(("core.repositoryformatversion", "1"), ("include.path", "more"))


RUNNING: tuple[Callable[[Victim], None], ...] = (
    _programs,
    _sparse_without_tree,
    _without_head_commit,
    _without_blob,
    _without_tree_by_ssh,
    _promise_in_worktree_configuration,
    _promise_by_include,
)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("plant", RUNNING, ids=lambda plant: plant.__name__.strip("_"))
def test_no_program_runs(victim, plant, way):
    plant(victim)
    victim.index(way)
    victim.check()


@pytest.mark.parametrize("plant", RUNNING, ids=lambda plant: plant.__name__.strip("_"))
def test_no_program_runs_in_a_checkout_of_an_indexed_repository(victim, plant, make_repository, tmp_path):
    """The default branch is indexed already, so that git meets what the checkout lacks."""
    clone = tmp_path / "origins" / "clean"
    shutil.copytree(victim.folder, clone)
    index_repository(IndexRequest(str(clone)), victim.workshop)
    plant(victim)
    ref = Ref("workspace", str(victim.folder))
    with _bounded():
        try:
            index_repository(IndexRequest(str(clone), ref), victim.workshop)
        except GitError as error:
            assert "\n" not in str(error)
    victim.check()


def _pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


PIPES = {
    "HEAD": "is a named pipe",
    "config": "is a named pipe",
    "packed-refs": "is a named pipe",
    "refs/heads/other": "is a named pipe",
    "objects/aa/pipe": "is a named pipe",
    "objects/info/alternates": "is a named pipe",
    "shallow": "is a named pipe",
    "commondir": "is a named pipe",
}
LISTED_PIPES = {"index": "is a named pipe", "info/exclude": "is a named pipe"}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PIPES)
def test_a_pipe_in_the_git_folder_is_an_error(victim, name, way):
    path = victim.dot_git / name
    path.parent.mkdir(parents=True, exist_ok=True)
    _pipe(path)
    assert PIPES[name] in victim.index(way)


@pytest.mark.parametrize("name", LISTED_PIPES)
def test_a_pipe_that_git_uses_to_list_files_is_an_error(victim, name):
    path = victim.dot_git / name
    path.parent.mkdir(parents=True, exist_ok=True)
    _pipe(path)
    assert LISTED_PIPES[name] in victim.index("workspace")


@pytest.mark.parametrize("name", ["src/.gitignore", "inner/.git/HEAD"])
def test_a_pipe_that_git_opens_in_the_working_tree_is_named(victim, name):
    path = victim.folder / name
    if "inner" in name:
        victim.repository.git("init", "--quiet", "inner")
    _pipe(path)
    error = victim.index("workspace")
    assert f"{path} is a named pipe" in error


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("key", ["core.excludesFile", "include.path", "core.attributesFile", "includeIf.gitdir:/.path"])
def test_a_pipe_that_the_configuration_names_is_not_opened(victim, key, way, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    text = (victim.dot_git / "config").read_text()
    section, _, name = key.rpartition(".")
    kind, _, condition = section.partition(".")
    head = f'[{kind} "{condition}"]' if condition else f"[{kind}]"
    (victim.dot_git / "config").write_text(f"{text}{head}\n\t{name} = {tmp_path / 'pipe'}\n")
    assert victim.index(way) == ""


def test_a_pipe_among_the_files_is_ignored(victim):
    os.mkfifo(victim.folder / ".codequarryignore")
    os.mkfifo(victim.folder / "src" / "pipe.py")
    assert victim.index("workspace") == ""


def _alternates(victim: Victim) -> None:
    own = victim.private.folder / ".git" / "objects"
    (victim.dot_git / "objects" / "info").mkdir(exist_ok=True)
    (victim.dot_git / "objects" / "info" / "alternates").write_text(f"{own}\n")
    secret = victim.private.git("rev-parse", "HEAD").decode()
    (victim.dot_git / "refs" / "heads" / victim.private.git("branch", "--show-current").decode().strip()).write_text(
        secret
    )


def _linked_objects(victim: Victim) -> None:
    _alternates(victim)
    shutil.rmtree(victim.dot_git / "objects")
    (victim.dot_git / "objects").symlink_to(victim.private.folder / ".git" / "objects")


def _linked_refs(victim: Victim) -> None:
    shutil.rmtree(victim.dot_git / "refs")
    (victim.dot_git / "refs").symlink_to(victim.private.folder / ".git" / "refs")


def _linked_index(victim: Victim) -> None:
    (victim.dot_git / "index").unlink()
    (victim.dot_git / "index").symlink_to(victim.private.folder / ".git" / "index")


def _gitdir_file(victim: Victim) -> None:
    shutil.rmtree(victim.dot_git)
    victim.dot_git.write_text(f"gitdir: {victim.private.folder / '.git'}\n")


def _gitdir_link(victim: Victim) -> None:
    shutil.rmtree(victim.dot_git)
    victim.dot_git.symlink_to(victim.private.folder / ".git")


def _common_folder(victim: Victim) -> None:
    (victim.dot_git / "commondir").write_text(f"{victim.private.folder / '.git'}\n")


def _core_worktree(victim: Victim) -> None:
    victim.configure(("core.worktree", str(victim.private.folder)))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "plant",
    [_alternates, _linked_objects, _linked_refs, _linked_index, _gitdir_file, _gitdir_link, _common_folder],
    ids=lambda plant: plant.__name__.strip("_"),
)
def test_nothing_outside_the_repository_is_read(victim, plant, way):
    plant(victim)
    error = victim.index(way)
    victim.check()
    assert error or (plant is _linked_index and way == "origin"), "an origin's index is not read"


def test_files_elsewhere_are_not_a_working_tree(victim):
    _core_worktree(victim)
    assert "core.worktree" in victim.index("workspace")
    victim.check()


@pytest.mark.parametrize("way", WAYS)
def test_a_repository_of_another_user_is_refused_until_git_trusts_it(victim, way, monkeypatch, tmp_path):
    """Everything belongs to another user here, because we pretend to be another user."""
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "SUDO_UID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    other = SimpleNamespace(**{**vars(os), "geteuid": lambda: os.getuid() + 1})
    monkeypatch.setattr(local, "os", other)
    error = victim.index(way)
    assert f"detected dubious ownership in repository at '{victim.folder}'" in error
    assert f"git config --global --add safe.directory {victim.folder}" in error
    subprocess.run(["git", "config", "--global", "--add", "safe.directory", str(victim.folder)], check=True)
    assert victim.index(way) == ""


SWAPPING = """
import os, sys
folder, outside = sys.argv[1:]
print("begun", flush=True)
while True:
    os.rename(f"{folder}/a", f"{folder}/kept")
    os.symlink(outside, f"{folder}/a")
    os.unlink(f"{folder}/a")
    os.rename(f"{folder}/kept", f"{folder}/a")
"""


def test_a_folder_swapped_for_a_link_is_not_followed(tmp_path):
    folder, outside = tmp_path / "tree", tmp_path / "outside"
    for place, text in ((folder / "a" / "b", "mine\n"), (outside / "b", f"{CANARY}\n")):
        place.mkdir(parents=True)
        (place / "f.py").write_text(text)
    command = [sys.executable, "-c", SWAPPING, str(folder), str(outside)]
    read, end = 0, time.monotonic() + SWAPPING_SECONDS
    with subprocess.Popen(command, stdout=subprocess.PIPE) as swapping:
        assert swapping.stdout and swapping.stdout.readline()
        try:
            while time.monotonic() < end:
                with FileTree(folder) as tree:
                    data = tree.read(b"a/b/f.py", 1_000) if tree.mode(b"a/b/f.py") else None
                assert data in (None, b"mine\n")
                read += data is not None
        finally:
            swapping.kill()
    assert read, "the folder was never read"
