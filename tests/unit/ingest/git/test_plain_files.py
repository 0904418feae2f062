import os
import socket

import pytest

from codequarry.ingest.git.plain_files import PipeSearch, check_plain, read_line, read_plain
from codequarry.shared.errors import GitError


def test_regular_files_are_read_up_to_a_size(tmp_path):
    (tmp_path / "HEAD").write_bytes(b"ref: refs/heads/main\n")
    assert read_line(tmp_path / "HEAD") == "ref: refs/heads/main"
    assert read_plain(tmp_path / "none") is None
    with pytest.raises(GitError, match="larger than 5 bytes"):
        read_plain(tmp_path / "HEAD", 5)


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (os.mkfifo, "a named pipe"),
        (lambda path: path.symlink_to("/dev/zero"), "a symbolic link"),
        (lambda path: path.mkdir(), "a folder"),
    ],
)
def test_other_kinds_of_files_are_named_in_the_error(tmp_path, make, kind):
    make(tmp_path / "HEAD")
    with pytest.raises(GitError, match=f"HEAD is {kind}"):
        read_plain(tmp_path / "HEAD")


def test_a_folder_of_folders_and_files_is_plain(tmp_path):
    check_plain(tmp_path / "none")
    (tmp_path / "aa").mkdir()
    (tmp_path / "aa" / "bb").touch()
    check_plain(tmp_path)
    (tmp_path / "aa" / "cc").symlink_to("bb")
    with pytest.raises(GitError, match="cc is a symbolic link"):
        check_plain(tmp_path)


def test_only_pipes_that_git_would_read_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as watcher:
        watcher.bind("fsmonitor--daemon.ipc")
        os.mkfifo(tmp_path / "pipe.py")
        PipeSearch(tmp_path).look()
        os.mkfifo(tmp_path / ".gitignore")
        with pytest.raises(GitError, match="gitignore is a named pipe"):
            PipeSearch(tmp_path).look()
