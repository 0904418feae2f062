import os

import pytest

from codequarry.ingest.git.ownership import check_owner
from codequarry.shared.errors import GitError


@pytest.fixture
def refused(tmp_path, monkeypatch):
    """Return a function that says whether a repository of another user is refused under a person's configuration."""
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
def test_the_persons_own_list_decides_as_in_git(refused, values, is_refused):
    lines = "".join(f'\tdirectory = "{value}"\n' for value in values)
    assert refused(f"[safe]\n{lines}") is is_refused


def test_a_configuration_that_is_included_counts(refused, tmp_path):
    (tmp_path / "more").write_text("[safe]\n\tdirectory = *\n")
    assert not refused("[include]\n\tpath = more\n")


def test_root_may_read_what_belongs_to_its_caller(tmp_path, monkeypatch):
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
