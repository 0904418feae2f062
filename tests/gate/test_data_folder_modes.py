"""The data folder is private to its owner under any umask; a folder that others can read is refused with a remedy."""

import json
import os
import shlex
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from codequarry.ingest.request.index_request import IndexRequest, Workshop
from codequarry.ingest.run.pipeline import index_repository
from codequarry.shared.data_folder import check_private
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.errors import FolderNotPrivate
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.factory import open_store

COMMAND = (sys.executable, "-m", "codequarry.cli.main")
WAIT_SECONDS = 60


def open_to_others(folder: Path) -> list[str]:
    """Return the entries of a folder, and the folder itself, that others than the owner can read or change."""
    entries = [folder, *folder.rglob("*")]
    return [
        f"{entry.relative_to(folder)} {stat.S_IMODE(entry.lstat().st_mode):04o}"
        for entry in entries
        if not entry.is_symlink() and entry.lstat().st_mode & 0o077
    ]


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs a command under a umask, with the data folder ``home`` of this test."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "CODEQUARRY_HOME": str(tmp_path / "home")}

    def command(*arguments: str, umask: int = 0o022, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *arguments], env=environment | more, umask=umask, capture_output=True, text=True, cwd=tmp_path
        )

    return command


@contextmanager
def serving(tmp_path: Path, umask: int) -> Iterator[Path]:
    """Serve on a Unix socket, with an audit log, both in the data folder."""
    place = tmp_path / "home" / "api.sock"
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "CODEQUARRY_HOME": str(tmp_path / "home"),
        "CODEQUARRY_AUDIT__FILE": str(tmp_path / "home" / "audit.log"),
    }
    command = [*COMMAND, "serve", "--socket", str(place)]
    with subprocess.Popen(command, env=environment, umask=umask, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            assert any("listens on" in line for line in process.stderr), "the service did not start"
            yield place
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=WAIT_SECONDS)


def ask_over(place: Path, *headers: str) -> tuple[int, Any]:
    """Request the list of repositories over a socket."""
    lines = "".join(f"{header}\r\n" for header in headers)
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(WAIT_SECONDS)
        client.connect(str(place))
        client.sendall(f"GET /repos HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{lines}\r\n".encode())
        answer = b"".join(iter(lambda: client.recv(65536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_everything_that_commands_create_is_private_to_the_user(tmp_path, make_repository, run, umask):
    repository = make_repository("project", {"a.py": "def first():\n    return 1\n"})
    for arguments in (
        ("keys", "list"),
        ("index", repository.origin),
        ("search", "first"),
        ("doctor",),
        ("fsck", "project"),
    ):
        done = run(*arguments, umask=umask)
        assert done.returncode == 0, done.stderr
    with serving(tmp_path, umask) as place:
        status, body = ask_over(place)
        assert (status, [repo["name"] for repo in body["repos"]]) == (200, ["project"])
        assert open_to_others(tmp_path / "home") == []
    found = {path.name for path in (tmp_path / "home").rglob("*")}
    assert {"index.sqlite3", "gitconfig", "audit.log", "config"} <= found
    assert [name for name in found if name.endswith(".f32")]
    assert open_to_others(tmp_path / "home") == []


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_everything_that_programs_using_the_packages_create_is_private(
    tmp_path, make_repository, embedder: Embedder, umask
):
    repository = make_repository("project", {"a.py": "def first():\n    return 1\n"})
    settings = SettingsModel(home=tmp_path / "made" / "home", indexing={"processes": 0})
    before = os.umask(umask)
    try:
        with closing(open_store(settings, embedder.dimension)) as store:
            index_repository(IndexRequest(repository.origin), Workshop(store, embedder, settings))
            assert open_to_others(tmp_path / "made") == []
    finally:
        os.umask(before)
    assert open_to_others(tmp_path / "made") == []


@pytest.mark.parametrize("mode", [0o755, 0o701, 0o770, 0o777])
def test_a_folder_that_others_can_read_is_refused_with_the_command_that_closes_it(tmp_path, make_repository, run, mode):
    repository = make_repository("project", {"a.py": "def first():\n    return 1\n"})
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(mode)
    for arguments in (("index", repository.origin), ("search", "first"), ("keys", "list"), ("serve", "--port", "0")):
        refused = run(*arguments)
        assert refused.returncode == 1
        assert len(refused.stderr.splitlines()) == 1
        said, _, remedy = refused.stderr.strip().rpartition("; run ")
        assert f"mode {mode:04o}" in said
    assert list(home.iterdir()) == []
    doctor = json.loads(run("doctor", "--json").stdout)
    assert [check["state"] for check in doctor["checks"] if check["name"] == "home"] == ["fail"]
    subprocess.run(shlex.split(remedy), check=True)
    assert run("index", repository.origin).returncode == 0
    assert open_to_others(home) == []


def test_open_files_of_an_older_version_are_closed_with_the_folder(tmp_path, make_repository, run):
    repository = make_repository("project", {"a.py": "def first():\n    return 1\n"})
    assert run("index", repository.origin).returncode == 0
    home = tmp_path / "home"
    for path in home.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    assert run("search", "first").returncode == 0
    assert [entry for entry in open_to_others(home) if "/" not in entry] == []


def test_the_group_may_list_the_folder_as_in_postgresql(tmp_path):
    tmp_path.chmod(0o750)
    check_private(tmp_path)


def test_a_folder_of_another_user_is_refused(tmp_path, run):
    home = Path("/")
    if os.geteuid() == 0:
        home = tmp_path / "home"
        home.mkdir()
        os.chown(home, 12345, -1)
    with pytest.raises(FolderNotPrivate, match="belongs to"):
        check_private(home)
    refused = run("keys", "list", CODEQUARRY_HOME=str(home))
    assert refused.returncode == 1
    assert "run codequarry as the owner" in refused.stderr


def test_a_proxy_in_front_of_the_socket_is_not_the_owner(tmp_path):
    with serving(tmp_path, 0o022) as place:
        assert ask_over(place)[0] == 200
        for header in ("X-Forwarded-For: 10.0.0.7", "Via: 1.1 proxy", "X-Forwarded-Proto: https", "CF-Ray: 1"):
            status, body = ask_over(place, header)
            assert (status, "no key is configured" in body["detail"]) == (401, True)
