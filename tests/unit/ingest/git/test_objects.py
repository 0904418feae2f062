import os
import shutil
import subprocess
import threading
import time
from pathlib import Path

import pytest

from codequarry.ingest.git.blob_reader import BlobReader
from codequarry.ingest.git.fetch import DETACHED_REF
from codequarry.ingest.git.objects import Mirror
from codequarry.ingest.git.origins import parse_origin
from codequarry.ingest.git.remote import HEAD
from codequarry.ingest.git.trees import SUBMODULE, SYMLINK, TreeEntry, list_tree
from codequarry.shared.errors import GitError, UsageError
from codequarry.shared.repositories.mirror_folders import mirror_folder
from codequarry.shared.settings.git import GitSettings


def entries_of(mirror: Mirror, commit: str) -> list[TreeEntry]:
    return list(list_tree(mirror.folder, mirror.environment, commit))


def test_the_branch_of_head_is_fetched_when_none_is_named(make_repository, fetch):
    repository = make_repository(files={"a.txt": "a"})
    repository.git("branch", "--move", "dev/new")
    repository.git("branch", "other")
    tip = repository.commit("second")
    fetched = fetch(repository.origin)
    assert (fetched.branch, fetched.commit) == ("dev/new", tip)


def test_a_named_branch_is_fetched(make_repository, fetch):
    repository = make_repository(files={"a.txt": "a"})
    first = repository.git("rev-parse", "HEAD").decode().strip()
    repository.git("branch", "old")
    repository.commit("second")
    fetched = fetch(repository.origin, "old")
    assert (fetched.branch, fetched.commit) == ("old", first)


def test_a_tag_with_the_name_of_a_branch_is_not_fetched_instead(make_repository, fetch):
    repository = make_repository(files={"a.txt": "a"})
    repository.git("tag", "main")
    tip = repository.commit("second")
    assert fetch(repository.origin, "main").commit == tip


def test_a_detached_head_is_fetched(make_repository, fetch):
    repository = make_repository(files={"a.txt": "a"})
    first = repository.git("rev-parse", "HEAD").decode().strip()
    repository.commit("second")
    repository.git("branch", "--move", "unusual")
    repository.git("checkout", "--quiet", first)
    fetched = fetch(repository.origin)
    assert (fetched.branch, fetched.commit) == (HEAD, first)
    assert fetched.mirror.run("rev-parse", DETACHED_REF, what="ref").decode().strip() == first


def test_new_commits_and_force_pushes_are_followed(make_repository, fetch):
    repository = make_repository(files={"a.txt": "a"})
    first = fetch(repository.origin).commit
    second = repository.commit("second")
    assert fetch(repository.origin).commit == second
    repository.git("reset", "--quiet", "--hard", first)
    other = repository.commit("other")
    assert fetch(repository.origin).commit == other


def test_a_fetch_without_new_commits_leaves_the_mirror_unchanged(make_repository, fetch):
    repository = make_repository(files={"a.txt": "a"})
    mirror = fetch(repository.origin).mirror

    def state():
        return sorted((path, path.stat().st_mtime_ns) for path in mirror.folder.rglob("*"))

    before = state()
    fetch(repository.origin)
    assert state() == before


def test_a_repository_without_commits_is_an_error(make_repository, fetch):
    with pytest.raises(GitError, match="has no commits yet"):
        fetch(make_repository().origin)


def test_a_missing_branch_is_reported_with_existing_branches(make_repository, fetch):
    repository = make_repository(files={"a.txt": "a"})
    for number in range(12):
        repository.git("branch", f"b{number:02}")
    with pytest.raises(GitError, match=r"has no branch nope; it has b00, .* b09 and 3 more"):
        fetch(repository.origin, "nope")


def test_an_unborn_head_beside_real_branches_asks_for_a_branch(make_repository, fetch):
    repository = make_repository(files={"a.txt": "a"})
    repository.git("branch", "--move", "unusual")
    repository.git("symbolic-ref", "HEAD", "refs/heads/gone")
    unborn = (
        "the checked-out branch gone of .* has no commits yet: .* name another branch with --branch; it has unusual$"
    )
    with pytest.raises(GitError, match=unborn):
        fetch(repository.origin)
    repository.git("config", "core.bare", "true")
    with pytest.raises(GitError, match=r"has a HEAD without commits: name a branch with --branch; it has unusual$"):
        fetch(repository.origin)


@pytest.mark.parametrize("branch", ["a*", "a b", "a..b^", "x:y"])
def test_an_invalid_branch_name_never_reaches_git(make_repository, fetch, branch):
    with pytest.raises(UsageError, match="is not the name of a branch"):
        fetch(make_repository(files={"a.txt": "a"}).origin, branch)


@pytest.mark.parametrize("kind", ["shallow", "sha256", "bare", "worktree"])
def test_shallow_sha256_bare_and_worktree_repositories_are_read(make_repository, fetch, tmp_path, kind):
    repository = make_repository(files={"a.txt": "a"})
    tip = repository.commit("second")
    folder = tmp_path / kind
    if kind == "shallow":
        subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{repository.folder}", folder], check=True)
    elif kind == "bare":
        subprocess.run(["git", "clone", "-q", "--bare", repository.folder, folder], check=True)
    elif kind == "worktree":
        repository.git("worktree", "add", "--quiet", "--detach", str(folder))
    else:
        repository = make_repository("other")
        repository.git("init", "--quiet", "--object-format=sha256", str(folder))
        repository.folder = folder
        repository.write("a.txt", "a")
        tip = repository.commit()
    fetched = fetch(str(folder))
    assert fetched.commit == tip
    (entry,) = entries_of(fetched.mirror, tip)
    assert entry.path == "a.txt"
    with BlobReader(fetched.mirror) as blobs:
        assert blobs.read(entry.blob) == b"a"


def test_every_entry_of_a_commit_is_listed_with_mode_blob_and_size(make_repository, fetch):
    repository = make_repository()
    repository.write("dir/a.txt", "twelve bytes")
    repository.write('line\nfeed "and" quotes', "x")
    repository.write(b"caf\xe9", "y")
    os.symlink("/etc/passwd", repository.folder / "link")
    inner = make_repository("inner", {"i.txt": "i"})
    repository.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.origin, "sub")
    tip = repository.commit()
    mirror = fetch(repository.origin).mirror
    entries = {entry.path: entry for entry in entries_of(mirror, tip)}
    assert set(entries) == {".gitmodules", "dir/a.txt", 'line\nfeed "and" quotes', "caf\\xe9", "link", "sub"}
    assert entries["dir/a.txt"] == TreeEntry("dir/a.txt", "100644", entries["dir/a.txt"].blob, 12)
    assert entries["link"].mode == SYMLINK
    assert (entries["sub"].mode, entries["sub"].size) == (SUBMODULE, 0)


def test_blobs_are_read_byte_for_byte(make_repository, fetch):
    contents = {"a": b"", "b": b"\x00\xff\n", "c": b"x" * 100_000, "d": b"no line end"}
    repository = make_repository(files=contents)
    fetched = fetch(repository.origin)
    with BlobReader(fetched.mirror) as blobs:
        read = {entry.path: blobs.read(entry.blob) for entry in entries_of(fetched.mirror, fetched.commit)}
    assert read == contents


def test_a_missing_blob_is_a_git_error(make_repository, fetch):
    fetched = fetch(make_repository(files={"a": "a"}).origin)
    with BlobReader(fetched.mirror) as blobs:
        with pytest.raises(GitError, match="cannot be read"):
            blobs.read("0" * 40)
        assert blobs.read(entries_of(fetched.mirror, fetched.commit)[0].blob) == b"a"


def test_a_hook_or_a_filter_of_the_repository_never_runs(make_repository, fetch, tmp_path):
    repository = make_repository(files={"a.txt": "a", ".gitattributes": "* filter=evil\n"})
    evil = f"touch {tmp_path}/evil"
    for hook in ("post-checkout", "pre-receive", "reference-transaction", "post-update"):
        path = repository.folder / ".git" / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{evil}\n")
        path.chmod(0o755)
    for key in ("filter.evil.smudge", "core.fsmonitor", "core.sshCommand", "uploadpack.packObjectsHook"):
        repository.git("config", key, evil)
    fetched = fetch(repository.origin)
    entries_of(fetched.mirror, fetched.commit)
    assert not (tmp_path / "evil").exists()


def test_the_configuration_of_the_machine_is_not_read(make_repository, fetch, tmp_path, monkeypatch):
    home = tmp_path / "person"
    home.mkdir()
    (home / ".gitconfig").write_text(f'[url "file:///elsewhere"]\n\tinsteadOf = "{tmp_path}"\n')
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert fetch(make_repository(files={"a": "a"}).origin).branch == "main"


def test_leftovers_of_a_killed_fetch_do_not_block_the_next(make_repository, fetch):
    repository = make_repository(files={"a.txt": "a"})
    folder = fetch(repository.origin).mirror.folder
    for leftover in ("packed-refs.lock", "refs/heads/main.lock", "objects/pack/tmp_pack_x", "shallow.lock"):
        (folder / leftover).write_text("")
    tip = repository.commit("second")
    assert fetch(repository.origin).commit == tip
    assert not list(folder.rglob("tmp_pack_*"))


@pytest.mark.parametrize("missing", ["HEAD", "objects", "refs", "config"])
def test_an_incomplete_mirror_is_repaired(make_repository, fetch, missing):
    repository = make_repository(files={"a.txt": "a"})
    folder = fetch(repository.origin).mirror.folder
    shutil.rmtree(folder / missing) if (folder / missing).is_dir() else (folder / missing).unlink()
    fetched = fetch(repository.origin)
    assert [entry.path for entry in entries_of(fetched.mirror, fetched.commit)] == ["a.txt"]


def test_concurrent_fetches_into_a_mirror_wait_for_each_other(make_repository, fetch):
    repository = make_repository(files={"a.txt": "a"})
    commits = []
    threads = [threading.Thread(target=lambda: commits.append(fetch(repository.origin).commit)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(commits) == 4
    assert len(set(commits)) == 1


def test_a_silent_server_times_out(fetch, silent_server):
    settings = GitSettings(clone_timeout_seconds=1)
    started = time.monotonic()
    with pytest.raises(GitError, match="no answer within 1 s"):
        fetch(f"http://127.0.0.1:{silent_server}/a/b.git", settings=settings)
    assert time.monotonic() - started < 30
    assert not [line for line in _processes() if "git-remote-http" in line and str(silent_server) in line]


def test_a_refused_connection_is_a_one_line_error(fetch, silent_server):
    with pytest.raises(GitError) as caught:
        fetch("http://127.0.0.1:1/a/b.git")
    assert "cannot read http://127.0.0.1:1/a/b.git" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_origins_with_the_same_name_have_different_mirrors(tmp_path):
    first, second = parse_origin("https://host/a/project"), parse_origin("https://host/b/project.git")
    assert mirror_folder(first, tmp_path) != mirror_folder(second, tmp_path)
    assert mirror_folder(first, tmp_path) == mirror_folder(parse_origin("git@host:a/project.git"), tmp_path)


def _processes() -> list[str]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def test_gc_keeps_a_commit_that_a_force_push_removed(make_repository, fetch):
    repository = make_repository(files={"a.txt": "a"})
    lost = repository.commit("lost")
    mirror = fetch(repository.origin).mirror
    repository.git("reset", "--quiet", "--hard", "HEAD~1")
    repository.commit("other")
    fetch(repository.origin)
    long_ago = time.time() - 30 * 24 * 3600
    for path in (mirror.folder / "objects").rglob("*"):
        os.utime(path, (long_ago, long_ago))
    mirror.run("gc", "--quiet", what="gc")
    assert mirror.commit_of(lost) == lost
