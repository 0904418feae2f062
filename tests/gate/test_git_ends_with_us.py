"""Git processes end soon after our process, even if it is killed and can't tell them."""

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

MARK = "MARK_OF_THE_TEST"
MOST_SECONDS = 20

FETCHING = """
import sys
from pathlib import Path
from codequarry.ingest.git.fetch import fetch
from codequarry.ingest.git.mirrors import open_access
from codequarry.ingest.git.origins import parse_origin
from codequarry.shared.settings.git import GitSettings
from codequarry.shared.versions.refs import Ref
access = open_access(parse_origin(sys.argv[1]), GitSettings(), Path(sys.argv[2]))
fetch(access, Ref("commit", "a" * 40) if sys.argv[3] == "commit" else None)
"""
READING = """
import sys, time
from pathlib import Path
from codequarry.ingest.git.fetch import fetch
from codequarry.ingest.git.mirrors import open_access
from codequarry.ingest.git.blob_reader import BlobReader
from codequarry.ingest.git.trees import list_tree
from codequarry.ingest.git.origins import parse_origin
from codequarry.shared.settings.git import GitSettings
fetched = fetch(open_access(parse_origin(sys.argv[1]), GitSettings(), Path(sys.argv[2])), None)
blobs = BlobReader(fetched.mirror)
for entry in list_tree(fetched.mirror.folder, fetched.mirror.environment, fetched.commit):
    blobs.read(entry.blob)
print("reading", flush=True)
time.sleep(1000)
"""


@pytest.fixture
def silent_server() -> Iterator[int]:
    """Accept connections and never answer; yield the port."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(16)
        yield server.getsockname()[1]


def _marked(mark: str) -> dict[int, str]:
    """Return the processes that have our mark in their environment, which git passes on to its helpers."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes():
                found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:  #  it has ended
            continue
    return found


def _await(condition, what) -> None:
    end = time.monotonic() + MOST_SECONDS
    while not condition():
        assert time.monotonic() < end, what()
        time.sleep(0.05)


def _killed(script: str, *arguments: str, helper: str) -> None:
    """Run a script until git's helper runs, kill it, and check that no process is left."""
    mark = uuid.uuid4().hex
    environment = {**os.environ, MARK: mark, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", script, *arguments], env=environment) as ours:
        _await(lambda: any(helper in line for line in _marked(mark).values()), lambda: f"{helper} did not start")
        ours.send_signal(signal.SIGKILL)
    _await(lambda: not _marked(mark), lambda: f"still running: {_marked(mark)}")


@pytest.mark.parametrize("way", ["branch", "commit"])
def test_a_fetch_from_a_silent_server_ends_with_us(silent_server, tmp_path, way):
    _killed(FETCHING, f"git://127.0.0.1:{silent_server}/x.git", str(tmp_path), way, helper="git ls-remote")


def test_the_https_helper_ends_with_us(silent_server, tmp_path):
    _killed(FETCHING, f"http://127.0.0.1:{silent_server}/x.git", str(tmp_path), "branch", helper="git-remote-http")


def test_the_blob_reader_ends_with_us(make_repository, tmp_path):
    repository = make_repository(files={"a.py": "a = 1\n"})
    _killed(READING, repository.origin, str(tmp_path / "home"), helper="cat-file --batch")
