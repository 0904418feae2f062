"""Local repositories and working trees in every layout that git supports."""

import os
import shutil
import subprocess

import pytest

from codequarry.ingest.git.checkout import open_checkout
from codequarry.ingest.git.local import check_owner, repository_around, repository_at
from codequarry.ingest.git.mirrors import open_environment
from codequarry.shared.errors import GitError
from codequarry.shared.settings.git import GitSettings

FILES = {"src/a.py": "a = 1\n", "b.py": "b = 1\n", ".gitignore": "*.log\n"}


@pytest.fixture
def environment(tmp_path):
    return open_environment(GitSettings(), tmp_path / "home")


@pytest.fixture
def listed(environment, tmp_path):
    """Return a function that lists the files of a checkout."""

    def names(folder) -> list[bytes]:
        with open_checkout(folder, environment).opened(tmp_path / "home" / "none.git") as opened:
            return sorted([*(entry.path for entry in opened.tracked()), *opened.untracked()])

    return names


ALL = sorted(os.fsencode(path) for path in FILES)


def test_a_worktree_shares_its_repository(make_repository, tmp_path, environment, listed):
    repository = make_repository(files=FILES)
    tree = tmp_path / "tree"
    repository.git("worktree", "add", "--quiet", "-b", "side", str(tree))
    (tree / "new.py").write_text("new = 1\n")
    found = repository_around(tree / "src", environment)
    assert found is not None
    assert (found.top, found.common) == (tree, repository.folder / ".git")
    assert listed(tree) == sorted([*ALL, b"new.py"])
    moved = tree.rename(tmp_path / "moved")
    with pytest.raises(GitError, match="git worktree repair"):
        repository_at(moved, environment)


def test_a_submodule_keeps_its_git_folder_in_the_outer_repository(make_repository, environment, listed):
    inner, outer = make_repository("inner", FILES), make_repository("outer", FILES)
    outer.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.folder), "sub")
    found = repository_at(outer.folder / "sub", environment)
    assert (found.top, found.common.parent.name) == (outer.folder / "sub", "modules")
    assert listed(outer.folder / "sub") == ALL
    assert b"sub" in listed(outer.folder)


@pytest.mark.parametrize("name", ["store.git", ".git"])
def test_a_separate_git_folder_is_recognised_by_its_name(make_repository, tmp_path, environment, listed, name):
    repository = make_repository(files=FILES)
    elsewhere = tmp_path / "elsewhere" / name
    elsewhere.parent.mkdir()
    repository.git("init", "--quiet", f"--separate-git-dir={elsewhere}")
    if name == ".git":
        with pytest.raises(GitError, match="belongs to another working tree"):
            listed(repository.folder)
        repository.git("config", "core.worktree", str(repository.folder))
    assert listed(repository.folder) == ALL


def test_a_linked_git_folder_is_recognised_by_its_name(make_repository, tmp_path, listed):
    repository = make_repository(files=FILES)
    (repository.folder / ".git").rename(tmp_path / "store.git")
    (repository.folder / ".git").symlink_to(tmp_path / "store.git")
    assert listed(repository.folder) == ALL


def test_the_working_tree_may_be_a_subfolder(make_repository, environment):
    repository = make_repository(files=FILES)
    repository.git("config", "core.worktree", str(repository.folder / "src"))
    found = repository_around(repository.folder / "src", environment)
    assert found is not None and found.top == repository.folder / "src"
    assert repository_around(repository.folder, environment) is None


@pytest.mark.parametrize("way", [("update-index", "--split-index"), ("update-index", "--untracked-cache")])
def test_every_index_format_is_read(make_repository, listed, way):
    repository = make_repository(files=FILES)
    repository.git(*way)
    repository.write("more.py", "more = 1\n")
    repository.git("add", "more.py")
    assert listed(repository.folder) == sorted([*ALL, b"more.py"])


def test_a_sparse_index_of_a_sha256_repository_is_expanded(tmp_path, listed):
    folder = tmp_path / "long"
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", "init", "--quiet", "--object-format=sha256", str(folder)], check=True)
    (folder / "src").mkdir()
    for path, text in FILES.items():
        (folder / path).write_text(text)
    for command in (
        ("add", "--all"),
        (*who, "commit", "--quiet", "-m", "x"),
        ("sparse-checkout", "init", "--cone", "--sparse-index"),
    ):
        subprocess.run(["git", "-C", str(folder), *command], check=True)
    assert not (folder / "src").exists()
    assert listed(folder) == ALL


def test_info_exclude_counts_but_core_excludesfile_does_not(make_repository, tmp_path, listed):
    repository = make_repository(files=FILES)
    for name in ("one.py", "two.py"):
        repository.write(name, "x = 1\n")
    (tmp_path / "excludes").write_text("one.py\n")
    repository.git("config", "core.excludesFile", str(tmp_path / "excludes"))
    (repository.folder / ".git" / "info").mkdir(exist_ok=True)
    (repository.folder / ".git" / "info" / "exclude").write_text("two.py\n")
    assert listed(repository.folder) == sorted([*ALL, b"one.py"])


def test_a_folder_with_an_unusual_name_is_read(make_repository, listed, fetch):
    repository = make_repository('#we"i\\rd: \n;name', FILES)
    assert fetch(repository.origin).commit == repository.git("rev-parse", "HEAD").decode().strip()
    repository.git("sparse-checkout", "init", "--cone", "--sparse-index")
    assert listed(repository.folder) == ALL


def test_hidden_refs_stay_hidden(make_repository, fetch):
    repository = make_repository(files=FILES)
    repository.git("branch", "secret")
    repository.git("config", "uploadpack.hideRefs", "refs/heads/secret")
    with pytest.raises(GitError, match="has no branch secret"):
        fetch(repository.origin, "secret")


def test_alternates_are_used_only_if_the_settings_permit_it(make_repository, tmp_path, fetch):
    repository = make_repository(files=FILES)
    copy = tmp_path / "copy"
    repository.git("clone", "--quiet", "--shared", str(repository.folder), str(copy))
    with pytest.raises(GitError, match=r"\[git\] alternates"):
        fetch(str(copy))
    settings = GitSettings(alternates=(repository.folder,))
    commit = repository.git("rev-parse", "HEAD").decode().strip()
    assert fetch(str(copy), settings=settings).commit == commit


def test_an_unknown_repository_format_is_an_error(make_repository, environment):
    repository = make_repository(files=FILES)
    config = repository.folder / ".git" / "config"
    before = config.read_text()
    for more, why in (
        ("[core]\n\trepositoryformatversion = 2\n", "has repository format 2"),
        ("[core]\n\trepositoryformatversion = 1\n[extensions]\n\tnew = 1\n", "extension new = 1"),
        ("[core\n", "can't be read"),
    ):
        config.write_text(before + more)
        with pytest.raises(GitError, match=why):
            repository_at(repository.folder, environment)


def test_a_git_folder_or_bare_repository_is_not_a_working_tree(make_repository, tmp_path, environment):
    repository = make_repository(files=FILES)
    bare = tmp_path / "bare.git"
    repository.git("clone", "--quiet", "--bare", str(repository.folder), str(bare))
    assert repository_at(bare, environment).top is None
    for folder in (bare, repository.folder / ".git", repository.folder / ".git" / "refs"):
        assert repository_around(folder, environment) is None
    shutil.rmtree(repository.folder / ".git")
    assert repository_around(repository.folder, environment) is None


@pytest.fixture
def refused(tmp_path, monkeypatch):
    """Return a function: whether a repository of another user is refused with a given configuration."""
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "SUDO_UID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    folder = tmp_path / "repositories" / "one"
    folder.mkdir(parents=True)

    def check(configuration: str) -> bool:
        (tmp_path / ".gitconfig").write_text(configuration)
        try:
            check_owner([folder], [folder], {"PATH": os.environ["PATH"], "HOME": str(tmp_path)})
        except GitError as error:
            assert f"safe.directory {folder}" in str(error)
            return True
        return False

    return check


@pytest.mark.parametrize(
    ("values", "is_refused"),
    [
        ([], True),
        (["*"], False),
        (["*", ""], True),
        (["", "~/repositories/one"], False),
        (["~/repositories/one/"], False),
        (["~/repositories"], True),
        (["~/repositories/*"], False),
        (["~/repositories/o*"], True),
    ],
)
def test_safe_directory_decides_as_in_git(refused, values, is_refused):
    lines = "".join(f'\tdirectory = "{value}"\n' for value in values)
    assert refused(f"[safe]\n{lines}") is is_refused


def test_an_included_configuration_counts(refused, tmp_path):
    (tmp_path / "more").write_text("[safe]\n\tdirectory = *\n")
    assert not refused("[include]\n\tpath = more\n")


def test_root_may_read_files_of_the_sudo_user(tmp_path, monkeypatch):
    class Owned:
        """A path of user 4711."""

        def lstat(self) -> os.stat_result:
            return os.stat_result((0o40755, 0, 0, 0, 4711, 0, 0, 0, 0, 0))

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("HOME", str(tmp_path))
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    monkeypatch.setenv("SUDO_UID", "4711")
    check_owner([Owned()], [tmp_path], environment)
    monkeypatch.setenv("SUDO_UID", "4712")
    with pytest.raises(GitError, match="dubious ownership"):
        check_owner([Owned()], [tmp_path], environment)
