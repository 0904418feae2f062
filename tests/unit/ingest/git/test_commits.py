"""Reading commits: the same as git lists, whatever strangers put into them."""

import subprocess
import time

import pytest

from codequarry.ingest.git.commits import MOST_COMMIT_BYTES, read_commits
from codequarry.ingest.git.objects import Mirror
from codequarry.ingest.git.process import stream_git
from codequarry.shared.errors import GitError, LimitExceeded


@pytest.fixture
def mirror(make_repository):
    """Return a function that makes a mirror of a repository's own objects."""

    def make(repository) -> Mirror:
        environment = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "PATH": "/usr/bin:/bin"}
        return Mirror(repository.folder / ".git", environment)

    return make


def read(mirror, *tips, **options):
    return list(read_commits(mirror, tips or ("HEAD",), most=100, **options))


def test_every_commit_has_the_fields_that_git_stores(make_repository, mirror):
    repository = make_repository(files={"a.py": "x = 1\n"})
    repository.write("a.py", "x = 2\n")
    last = repository.commit("second line\n\nwith a body\n")
    found = read(mirror(repository))
    assert [commit.id for commit in found] == repository.git("rev-list", "HEAD").decode().split()
    newest, first = found
    assert (newest.id, newest.parents) == (last, (first.id,))
    assert (newest.author, newest.email, newest.time) == ("A", "a@example.org", 1_704_067_200)
    assert newest.message == "second line\n\nwith a body\n"
    assert [(change.path, change.patch) for change in newest.changes] == [("a.py", b"@@ -1 +1 @@\n-x = 1\n+x = 2\n")]
    assert first.changes == (), "a commit without parents adds nothing"


def test_paths_with_any_characters_keep_their_patch(make_repository, mirror):
    names = ["a b.txt", 'quo"te.txt', "new\nline.txt", "tab\t.txt", "ünï.txt", "diff --git a b.txt"]
    repository = make_repository(files={name: "old\n" for name in names})
    for name in names:
        repository.write(name, f"{names.index(name)}\n")
    repository.commit()
    changed = read(mirror(repository))[0].changes
    assert {change.path: change.patch for change in changed} == {
        name: b"@@ -1 +1 @@\n-old\n+%d\n" % place for place, name in enumerate(names)
    }


def test_lines_that_look_like_headers_stay_lines(make_repository, mirror):
    repository = make_repository(files={"a.txt": "one\n", "b.txt": "one\n"})
    repository.write("a.txt", "diff --git a/b.txt b/b.txt\n@@ -1 +1 @@\n+two\n\0")
    repository.write("b.txt", "--- a/a.txt\n+++ b/a.txt\n:100644 100644 1 2 M\n")
    repository.commit("diff --git a/x b/x\n\n:000000 100644 0 1 A")
    a, b = read(mirror(repository))[0].changes
    assert (a.path, b.path) == ("a.txt", "b.txt")
    assert b.patch == b"@@ -1 +1,3 @@\n-one\n+--- a/a.txt\n++++ b/a.txt\n+:100644 100644 1 2 M\n"


def test_links_submodules_types_and_modes_have_no_patch(make_repository, mirror):
    repository = make_repository(files={"file": "text\n", "kept": "a\n", "mode": "m\n", "last": "1\n"})
    repository.remove("file")
    (repository.folder / "file").symlink_to("kept")
    (repository.folder / "mode").chmod(0o755)
    repository.write("last", "2\n")
    repository.git("add", "--all")
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    repository.git("commit", "--quiet", "--message", "kinds")
    changed = {change.path: change.patch for change in read(mirror(repository))[0].changes}
    assert changed == {"mode": b"", "last": b"@@ -1 +1 @@\n-1\n+2\n"}


def test_merges_have_a_message_only_and_histories_can_be_excluded(make_repository, mirror):
    repository = make_repository(files={"a": "1\n"})
    first = repository.git("rev-parse", "HEAD").decode().strip()
    repository.git("checkout", "--quiet", "-b", "side")
    repository.write("b", "1\n")
    repository.commit("side")
    repository.git("checkout", "--quiet", "main")
    repository.write("c", "1\n")
    repository.commit("main")
    repository.git("merge", "--quiet", "--no-ff", "--message", "merged", "side")
    found = read(mirror(repository), "HEAD", f"^{first}")
    assert {commit.message.strip(): len(commit.changes) for commit in found} == {"merged": 0, "side": 1, "main": 1}
    assert [commit.id for commit in read(mirror(repository), skip=1, patches=False)] == [
        commit.id for commit in read(mirror(repository))
    ][1:]


def test_of_a_huge_commit_only_the_beginning_is_kept(make_repository, mirror):
    repository = make_repository(files={"a": "1\n"})
    for number in range(5):
        repository.write(f"big{number}", "".join(f"{number} {line}\n" for line in range(90_000)))
    repository.commit("huge")
    repository.write("a", "2\n")
    repository.commit("small")
    small, huge, _ = read(mirror(repository))
    assert [change.patch for change in small.changes] == [b"@@ -1 +1 @@\n-1\n+2\n"]
    assert sum(len(change.patch) for change in huge.changes) <= MOST_COMMIT_BYTES


def test_the_time_that_a_caller_takes_is_not_counted_and_a_slow_git_is_ended(tmp_path):
    git = tmp_path / "git"
    git.write_text('#!/bin/sh\nprintf a; [ "$1" = stuck ] && exec sleep 60; sleep 0.2; printf b\n')
    git.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    limits = {"what": "cannot read", "most_bytes": 10}
    pieces = []
    for piece in stream_git(["quick"], environment, seconds=1, **limits):
        time.sleep(1.5)
        pieces.append(piece)
    assert b"".join(pieces) == b"ab"
    with pytest.raises(LimitExceeded, match=r"cannot read: git took longer than 0\.3 s"):
        list(stream_git(["stuck"], environment, seconds=0.3, **limits))
    with pytest.raises(LimitExceeded, match="cannot read: git wrote more than 1 bytes"):
        list(stream_git(["quick"], environment, seconds=20, what="cannot read", most_bytes=1))


def test_nothing_that_a_repository_configures_is_run(make_repository, mirror, tmp_path):
    repository = make_repository(
        files={"a.bin": "1\n", ".gitattributes": "*.bin diff=evil\n", ".mailmap": "X <a@example.org>\n"}
    )
    repository.write("a.bin", "2\n")
    repository.commit()
    trap = tmp_path / "trap"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {trap}\n")
    script.chmod(0o755)
    for name in ("diff.evil.textconv", "diff.evil.command", "diff.external", "gpg.program", "core.fsmonitor"):
        repository.git("config", name, str(script))
    repository.git("config", "log.showSignature", "true")
    newest = read(mirror(repository))[0]
    assert newest.author == "A"
    assert newest.changes[0].patch == b"@@ -1 +1 @@\n-1\n+2\n"
    assert not trap.exists()


def test_a_commit_that_the_mirror_lacks_is_an_error(make_repository, mirror):
    with pytest.raises(GitError, match="cannot read the commits"):
        read(mirror(make_repository(files={"a": "1\n"})), "1" * 40)


def test_the_first_commit_of_a_shallow_clone_does_not_add_every_file(make_repository, mirror, tmp_path):
    repository = make_repository(files={"a": "1\n", "b": "1\n"})
    repository.write("a", "2\n")
    repository.commit("second")
    target = tmp_path / "shallow"
    subprocess.run(["git", "clone", "--quiet", "--depth=1", f"file://{repository.folder}", target], check=True)
    (only,) = list(read_commits(Mirror(target / ".git", {"PATH": "/usr/bin:/bin"}), ("HEAD",), most=10))
    assert (only.message, only.changes) == ("second\n", ())
