"""Unusual repositories and machines: each gives a clear error or a listed skip."""

import os
import socket
import subprocess
import sys
from dataclasses import replace

import pytest

from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.catalog.repositories import list_repositories
from codequarry.shared.errors import GitError, LimitExceeded, ModelMismatch
from codequarry.shared.model import INDEXED, Filters
from codequarry.shared.settings.git import GitSettings
from codequarry.shared.versions.refs import Ref
from codequarry.shared.versions.snapshots import head_snapshot

# A run whose files can't grow beyond 600 kB, which fails like a full disk.
CHILD = """
import resource, sys
from codequarry.ingest.run.pipeline import IndexRequest, Workshop, index_repository
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.errors import StoreFull
from codequarry.shared.store.factory import open_store

settings = SettingsModel(home=sys.argv[1], indexing={"processes": 0, "batch_files": 10})
embedder = open_embedder(settings.embedding, settings.home)
workshop = Workshop(open_store(settings, embedder.dimension), embedder, settings)
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))
try:
    index_repository(IndexRequest(sys.argv[2]), workshop)
except StoreFull as error:
    print(error)
"""


@pytest.fixture
def silent_port():
    """Yield the port of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def records(workshop):
    return {file.path: file for file in workshop.store.files(head_snapshot(read_head(workshop.store)))}


def test_every_unusual_file_is_indexed_or_listed_with_its_reason(make_repository, make_workshop):
    inner = make_repository("inner", {"i.txt": "i"})
    repository = make_repository(
        files={
            "plain.py": "x = 1\n",
            "empty.py": "",
            "binary.dat": b"\x00\x01\x02",
            "broken.txt": "größe\n".encode() + b"\xff\xfe\n",
            "latin.txt": "größe\n".encode("latin-1"),
            "large.sql": b"-- \n" * 300_000,
            'new\nline "and" quotes.py': "y = 2\n",
            "pointer.bin": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
            "node_modules/x/index.js": "z\n",
            "yarn.lock": "a\n",
            "a_pb2.py": "a\n",
            "bundle.js": "a=1;" * 5000,
            "nul\\x00.md": "# literal\n",
        }
    )
    repository.write(b"bytes\xff.py", "b = 1\n")
    os.symlink("/etc/passwd", repository.folder / "passwd")
    repository.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.origin, "sub")
    repository.commit()
    workshop = make_workshop()
    report = index_repository(IndexRequest(repository.origin), workshop)
    found = records(workshop)
    listed = repository.git("ls-tree", "-r", "-z", "--name-only", "HEAD").split(b"\0")[:-1]
    assert len(found) == len(listed)
    assert {path: file.verdict for path, file in found.items()} == {
        ".gitmodules": INDEXED,
        "plain.py": INDEXED,
        "empty.py": INDEXED,
        "latin.txt": INDEXED,
        'new\nline "and" quotes.py': INDEXED,
        "bytes\\xff.py": INDEXED,
        "nul\\\\x00.md": INDEXED,
        "binary.dat": "binary",
        "broken.txt": INDEXED,
        "large.sql": "too-large",
        "pointer.bin": "lfs-pointer",
        "node_modules/x/index.js": "installed",
        "yarn.lock": "lock-file",
        "a_pb2.py": INDEXED,
        "bundle.js": INDEXED,
        "passwd": "symlink",
        "sub": "submodule",
    }
    assert report.files_indexed == 10
    assert sum(report.skipped.values()) == 7
    assert found["empty.py"].rows == 0
    assert not [chunk for chunk in _all_text(workshop, found) if "root:" in chunk], "no link is followed"
    again = index_repository(IndexRequest(repository.origin), workshop)
    assert not again.changed


def _all_text(workshop, found):
    snapshot = head_snapshot(read_head(workshop.store))
    for path in found:
        yield from (chunk.text for chunk in workshop.store.chunks(snapshot, path, "project"))


def test_a_blob_of_200_mb_is_listed_and_costs_no_memory(make_repository, make_workshop):
    repository = make_repository(files={"a.py": "x = 1\n"})
    with open(repository.folder / "huge.bin", "wb") as file:
        file.truncate(200_000_000)
    repository.commit()
    workshop = make_workshop()
    report = index_repository(IndexRequest(repository.origin), workshop)
    assert report.skipped == {"too-large": 1}
    assert "200000000 bytes" in records(workshop)["huge.bin"].detail


@pytest.mark.parametrize("kind", ["empty", "no-repository", "missing", "silent", "no-branch"])
def test_an_origin_that_cannot_be_fetched_is_an_error_and_leaves_nothing(
    make_repository, make_workshop, tmp_path, silent_port, kind
):
    workshop = make_workshop(git=GitSettings(clone_timeout_seconds=1))
    (tmp_path / "folder").mkdir()
    origin = {
        "empty": make_repository("empty").origin,
        "no-repository": str(tmp_path / "folder"),
        "missing": str(tmp_path / "nowhere"),
        "silent": f"http://127.0.0.1:{silent_port}/a.git",
        "no-branch": make_repository("other", {"a": "a"}).origin,
    }[kind]
    with pytest.raises(GitError) as caught:
        index_repository(IndexRequest(origin, Ref("branch", "nope") if kind == "no-branch" else None), workshop)
    assert "\n" not in str(caught.value)
    assert list_repositories(workshop.store) == []
    assert read_head(workshop.store).counter == 0


def test_a_limit_stops_a_first_import_and_leaves_nothing(make_repository, make_workshop):
    repository = make_repository(files={f"f{n}.py": f"x = {n}\n" for n in range(30)})
    workshop = make_workshop(indexing={"batch_files": 5})
    for limits in ({"max_chunks": 10}, {"max_tokens": 20}):
        with pytest.raises(LimitExceeded, match="nothing was published"):
            index_repository(IndexRequest(repository.origin, **limits), workshop)
        head = read_head(workshop.store)
        assert not head.open
        assert not head.timelines
        assert list_repositories(workshop.store) == []
    assert index_repository(IndexRequest(repository.origin), workshop).chunks_live == 30


def test_another_model_is_refused_with_advice(make_repository, make_workshop):
    workshop = make_workshop()
    index_repository(IndexRequest(make_repository(files={"a.py": "x\n"}).origin), workshop)

    class Other:
        name = "another model"

        def __getattr__(self, name):
            return getattr(workshop.embedder, name)

    with pytest.raises(
        ModelMismatch, match=r"this index was made with model 'codequarry-1-.*`codequarry migrate --model codequarry-1`"
    ):
        index_repository(IndexRequest("."), replace(workshop, embedder=Other()))


def test_a_full_disk_fails_only_the_run(make_repository, make_workshop, tmp_path):
    """Files that can't grow simulate the full disk; the next run, which has space, continues."""
    repository = make_repository(files={f"f{n}.py": f"def f{n}():\n    return {n}\n" * 40 for n in range(150)})
    workshop = make_workshop(indexing={"batch_files": 10})
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(workshop.settings.home), repository.origin], capture_output=True, text=True
    )
    assert "no room left on the disk" in done.stdout, done.stderr
    assert workshop.store.count(head_snapshot(read_head(workshop.store)), Filters()) == 0
    report = index_repository(IndexRequest(repository.origin), workshop)
    assert report.resumed
    assert report.files_indexed == 150
