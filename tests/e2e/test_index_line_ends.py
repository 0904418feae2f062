"""Working trees whose files are not the bytes that git stores: line ends, encodings, keywords and filters."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codequarry.ingest.git.origins import parse_origin
from codequarry.ingest.request.index_request import IndexRequest
from codequarry.ingest.run.pipeline import index_repository
from codequarry.ingest.source.workspace import read_workspace
from codequarry.shared.catalog.ledger import published_transactions, read_head
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.versions.refs import Ref
from codequarry.shared.versions.snapshots import version_snapshot

FILES = {f"src/f{number:02}.py": f"first = {number}\nsecond = 2\n" for number in range(10)} | {"logo.png": "\0\r\n\n"}
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize {}\n"


class Tree:
    """A checkout that is indexed with its changes."""

    def __init__(self, repository, workshop) -> None:
        self.repository, self.workshop, self.folder = repository, workshop, repository.folder
        self.ref = Ref("workspace", str(repository.folder))

    def index(self):
        return index_repository(IndexRequest("", self.ref), self.workshop)

    def differing(self) -> set[str]:
        """Index the tree, and return the paths that differ from the checked-out commit."""
        self.index()
        there, committed = {path: file.blob for path, file in self.records().items()}, self.repository.listing()
        return {path for path in there.keys() | committed if there.get(path) != committed.get(path)}

    def records(self):
        """Return the record of every file of the working tree's version by path."""
        head = read_head(self.workshop.store)
        [timeline] = [key for key, state in head.timelines.items() if state.ref == self.ref.key]
        record = published_transactions(self.workshop.store, head, timeline)[-1]
        return {file.path: file for file in self.workshop.store.files(version_snapshot(head, record))}

    def check_out(self) -> None:
        """Write every file again."""
        for path in self.repository.listing():
            (self.folder / path).unlink()
        self.repository.git("checkout", "--quiet", "--", ".")

    def touch(self) -> None:
        """Make git's index know nothing about the files but their names and blobs."""
        for path in self.repository.listing():
            os.utime(self.folder / path, (1, 1), follow_symlinks=False)

    def added(self) -> dict[str, str]:
        """Return the blobs that `git add` would store, by path."""
        index = self.folder.parent / "added-index"
        shutil.copy2(self.folder / ".git/index", index)
        environment = {**os.environ, "GIT_INDEX_FILE": str(index), "GIT_CONFIG_NOSYSTEM": "1"}
        command = ["git", "-C", str(self.folder), "-c", "core.safecrlf=false"]
        subprocess.run([*command, "add", "--all"], check=True, env=environment, stderr=subprocess.DEVNULL)
        listed = subprocess.run([*command, "ls-files", "-s", "-z"], check=True, env=environment, capture_output=True)
        lines = (line.split("\t") for line in listed.stdout.decode().split("\0") if line)
        return {path: facts.split()[1] for facts, path in lines}


@pytest.fixture
def tree(make_repository, make_workshop, tmp_path, monkeypatch):
    """Return a tree; the user has no configuration of git yet."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return Tree(make_repository(files=FILES), make_workshop())


def blob(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@pytest.mark.parametrize("touched", [False, True])
def test_a_clean_tree_with_other_line_ends_has_no_changes(tree, touched):
    tree.repository.git("config", "core.autocrlf", "true")
    tree.check_out()
    assert b"\r\n" in (tree.folder / "src/f00.py").read_bytes()
    if touched:
        tree.touch()
    report = tree.index()
    assert (report.base_paths, report.commit) == (0, tree.repository.git("rev-parse", "HEAD").decode().strip())
    assert {path: record.blob for path, record in tree.records().items()} == tree.repository.listing()
    (tree.folder / "src/f00.py").write_bytes(b"first = 'edited'\r\nsecond = 2\r\n")
    assert tree.index().base_paths == 1
    assert tree.records()["src/f00.py"].blob == blob(b"first = 'edited'\nsecond = 2\n")


@pytest.mark.parametrize("touched", [False, True])
def test_the_users_own_configuration_counts(tree, tmp_path, touched):
    (tmp_path / "more").write_text("[core]\n\tautocrlf = yes\n")
    (tmp_path / "gitconfig").write_text(f"[core]\n\tautocrlf = false\n[include]\n\tpath = {tmp_path / 'more'}\n")
    for path in tree.repository.listing():
        (tree.folder / path).unlink()
    tree.repository.git("-c", "core.autocrlf=true", "checkout", "--quiet", "--", ".")
    assert b"\r\n" in (tree.folder / "src/f00.py").read_bytes()
    if touched:
        tree.touch()
    assert tree.differing() == set()
    tree.repository.git("config", "core.autocrlf", "false")
    tree.touch()
    assert tree.differing() == set(FILES) - {"logo.png"}, "the repository's own configuration overrides it"


@pytest.mark.parametrize("touched", [False, True])
def test_attributes_count(tree, touched):
    tree.repository.write(
        ".gitattributes", "*.bat text eol=crlf\n*.id ident\n*.u16 text working-tree-encoding=UTF-16\nraw.bat -text\n"
    )
    (tree.folder / "a.bat").write_bytes(b"echo 1\r\necho 2\r\n")
    (tree.folder / "raw.bat").write_bytes(b"echo 1\r\necho 2\n")
    (tree.folder / "k.id").write_bytes(b"x = '$Id$'\n")
    (tree.folder / "t.u16").write_bytes("größe\n".encode("utf-16"))
    tree.repository.commit()
    tree.check_out()
    assert b"$Id: " in (tree.folder / "k.id").read_bytes()
    if touched:
        tree.touch()
    assert tree.differing() == set()
    (tree.folder / "t.u16").write_bytes("größer\n".encode("utf-16"))
    assert tree.differing() == {"t.u16"}
    assert tree.records()["t.u16"].blob == blob("größer\n".encode())


def test_a_file_that_was_committed_with_crlf_is_unchanged(tree):
    """git converts nothing in a file whose stored blob has a CR already."""
    (tree.folder / "dos.py").write_bytes(b"a = 1\r\nb = 2\r\n")
    tree.repository.commit()
    tree.repository.git("config", "core.autocrlf", "true")
    tree.touch()
    assert tree.differing() == set()
    assert tree.records()["dos.py"].blob == blob(b"a = 1\r\nb = 2\r\n")


def test_staged_and_untracked_files_are_stored_as_git_would_add_them(tree):
    tree.repository.git("config", "core.autocrlf", "input")
    (tree.folder / "staged.py").write_bytes(b"a = 1\r\n")
    tree.repository.git("add", "staged.py")
    (tree.folder / "new.py").write_bytes(b"b = 1\r\n")
    tree.index()
    records = tree.records()
    assert (records["staged.py"].blob, records["new.py"].blob) == (blob(b"a = 1\n"), blob(b"b = 1\n"))
    assert {path: record.blob for path, record in records.items()} == tree.added()


@pytest.mark.parametrize("touched", [False, True])
def test_a_file_in_git_lfs_is_its_pointer(tree, touched):
    data = b"large = 1\r\n" * 1000
    tree.repository.write(".gitattributes", "*.big filter=lfs -text\n")
    tree.repository.write("a.big", POINTER.format(hashlib.sha256(data).hexdigest(), len(data)))
    tree.repository.commit()
    (tree.folder / "a.big").write_bytes(data)
    # As after a checkout by git-lfs, the index knows the large file and the pointer's blob.
    os.utime(tree.folder / "a.big", (10**9, 10**9))  # git does not trust the size and time of a new file
    pointer = tree.folder.parent / "pointer"
    pointer.write_bytes(tree.repository.git("show", "HEAD:a.big"))
    tree.repository.git("-c", f"filter.lfs.clean=cat {pointer}", "add", "a.big")
    assert tree.repository.git("status", "--porcelain", "-uno") == b""
    if touched:
        tree.touch()
    report = tree.index()
    assert (report.base_paths, report.skipped.get("lfs-pointer")) == (0, 1)
    (tree.folder / "a.big").write_bytes(data + b"1")
    assert tree.differing() == {"a.big"}
    assert tree.records()["a.big"].verdict == "lfs-pointer"


def test_no_filter_of_the_attributes_is_run(tree, tmp_path):
    evil = f"touch {tmp_path}/evil; cat"
    for kind in ("clean", "smudge", "process"):
        tree.repository.git("config", f"filter.evil.{kind}", evil)
    tree.repository.git("config", "filter.evil.required", "true")
    tree.repository.write(".gitattributes", "* filter=evil\n")
    (tree.folder / "src/f00.py").write_bytes(b"x = 1\r\n")
    tree.touch()
    tree.index()
    assert not (tmp_path / "evil").exists()
    assert tree.records()["src/f00.py"].blob == blob(b"x = 1\r\n")


def test_a_file_in_the_wrong_encoding_is_stored_as_it_is(tree):
    """`git add` would refuse it; the other files are still converted."""
    tree.repository.write(".gitattributes", "*.u16 working-tree-encoding=UTF-16\n*.py text\n")
    (tree.folder / "wrong.u16").write_bytes(b"\0\r\n")
    (tree.folder / "new.py").write_bytes(b"b = 1\r\n")
    tree.index()
    records = tree.records()
    assert (records["wrong.u16"].blob, records["new.py"].blob) == (blob(b"\0\r\n"), blob(b"b = 1\n"))


def test_a_change_in_the_same_moment_as_the_last_git_add_is_seen(tree):
    """Size and time of the file are as in git's index; only its content differs."""
    tree.repository.git("config", "core.trustctime", "false")
    path, index = tree.folder / "src/f00.py", tree.folder / ".git/index"
    before = path.stat()
    path.write_text("first = 9\nsecond = 2\n")
    for file in (path, index):
        os.utime(file, ns=(before.st_mtime_ns, before.st_mtime_ns))
    assert tree.differing() == {"src/f00.py"}
    assert tree.records()["src/f00.py"].blob == blob(b"first = 9\nsecond = 2\n")


def test_an_index_that_names_files_outside_of_the_tree_reads_nothing_there(tree):
    (tree.folder.parent / "secret.py").write_text("password = 1\n")
    tree.repository.git("config", "index.version", "2")
    tree.repository.write("-x/secret.py", "x = 1\n")  # sorted like the name that replaces it
    tree.repository.commit()
    index = tree.folder / ".git/index"
    data = index.read_bytes()[:-20].replace(b"-x/secret.py", b"../secret.py")
    index.write_bytes(data + hashlib.sha1(data).digest())
    assert b"../secret.py" in tree.repository.git("ls-files", "--cached")
    tree.index()
    records = tree.records()
    assert "../secret.py" not in records
    assert blob(b"password = 1\n") not in {record.blob for record in records.values()}


BYTES = [b"a", b"\n", b"\r\n", b"\r", b"\0", b"\x1a", b"$Id$", b"$Id: x $", b"\xff", "ä".encode()]
CONTENTS = st.lists(st.sampled_from(BYTES), max_size=12).map(b"".join)
NAMES = st.sampled_from(["lf", "crlf", "mixed", "cr", "nul", "new", "d/new"])
GLOBS = st.sampled_from(["*", "lf", "crlf", "new", "d/*"])
ATTRIBUTES = ["text", "-text", "!text", "text=auto", "eol=crlf", "eol=lf", "text=auto eol=crlf", "ident", "crlf"]
ATTRIBUTES += ["-crlf", "text=auto eol=lf", "crlf=input", "binary", "text=auto ident", "filter=none", "text=input"]


@pytest.fixture
def scratch(make_repository, tmp_path, monkeypatch):
    """Return a repository with files that have every kind of line ends."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    files = {"lf": b"a\nb\n", "crlf": b"a\r\nb\r\n", "mixed": b"a\r\nb\n", "cr": b"a\rb", "nul": b"a\0\r\n"}
    return make_repository(files=files)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    contents=st.dictionaries(NAMES, CONTENTS, min_size=1),
    attributes=st.dictionaries(GLOBS, st.sampled_from(ATTRIBUTES), max_size=3),
    touched=st.booleans(),
    inner=st.sampled_from(["", *ATTRIBUTES]),
    autocrlf=st.sampled_from(["", "true", "false", "input"]),
    eol=st.sampled_from(["", "crlf", "lf", "native"]),
)
def test_the_blobs_are_those_that_git_would_add(scratch, tmp_path, contents, attributes, touched, inner, autocrlf, eol):
    tree = Tree(scratch, None)
    scratch.git("clean", "-qfdx")
    scratch.git("checkout", "--quiet", "--force", "--", ".")
    for key, value in (("autocrlf", autocrlf), ("eol", eol)):
        scratch.git("config", f"core.{key}", value or ("false" if key == "autocrlf" else "native"))
    for path, data in contents.items():
        (tree.folder / path).parent.mkdir(exist_ok=True)
        (tree.folder / path).write_bytes(data)
    (tree.folder / ".gitattributes").write_text("".join(f"{glob} {what}\n" for glob, what in attributes.items()))
    if inner and (tree.folder / "d").exists():
        (tree.folder / "d/.gitattributes").write_text(f"new {inner}\n")
    if touched:
        tree.touch()
    settings_ = SettingsModel(home=tmp_path / "home")
    source = read_workspace(parse_origin(str(tree.folder)), tree.ref, settings_)
    assert {entry.path: entry.blob for entry in source.entries} == tree.added()
    mirror = Path(source.mirror.folder)
    for entry in source.entries:
        subprocess.run(["git", f"--git-dir={mirror}", "cat-file", "-e", entry.blob], check=True)
