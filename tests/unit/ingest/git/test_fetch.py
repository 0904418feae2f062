"""Unusual names and heads of real servers, and waiting for a fetch that hangs."""

import os
import re
import signal
import subprocess
import sys
import threading

import pytest

from codequarry.ingest.git.fetch import fetch as fetch_version
from codequarry.ingest.git.mirrors import open_access
from codequarry.ingest.git.origins import parse_origin
from codequarry.shared.errors import GitError, UsageError
from codequarry.shared.settings.git import GitSettings
from codequarry.shared.versions.refs import Ref

# Takes the lock of a mirror, prints a line, and keeps the lock until its input ends.
HOLDER = """
import sys
from pathlib import Path
from codequarry.ingest.git.mirrors import open_access
from codequarry.ingest.git.origins import parse_origin
from codequarry.shared.settings.git import GitSettings

with open_access(parse_origin(sys.argv[1]), GitSettings(), Path(sys.argv[2])).locked():
    print("locked", flush=True)
    sys.stdin.read()
"""
# Fetches like any run and prints what it waits for.
WAITER = """
import sys
from pathlib import Path
from codequarry.ingest.git.fetch import fetch
from codequarry.ingest.git.mirrors import open_access
from codequarry.ingest.git.origins import parse_origin
from codequarry.shared.settings.git import GitSettings

try:
    say = lambda text: print(text, flush=True)
    fetch(open_access(parse_origin(sys.argv[1]), GitSettings(), Path(sys.argv[2]), say), None)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.fixture
def repository(make_repository):
    return make_repository(files={"a.txt": "a"})


def point(repository, name: str | bytes, commit: str = "HEAD") -> str:
    """Create a ref that `git branch` would refuse, and return its commit."""
    repository.git("update-ref", name, commit)
    return repository.git("rev-parse", commit).decode().strip()


def test_a_default_branch_with_a_name_outside_utf8_is_fetched_by_its_escaped_name(fetch, repository):
    repository.git("branch", "-m", b"caf\xe9")
    fetched = fetch(repository.origin)
    assert (fetched.branch, fetched.commit) == (r"caf\xe9", point(repository, "refs/heads/other"))
    assert fetch(repository.origin, r"caf\xe9").commit == fetched.commit
    with pytest.raises(GitError, match=r"has no branch x; it has caf\\xe9, other$"):
        fetch(repository.origin, "x")


def test_names_outside_utf8_are_distinct_and_do_not_affect_others(fetch, repository):
    first = point(repository, b"refs/heads/\xe8")
    repository.commit()
    second = point(repository, b"refs/heads/\xe9")
    # Characters that are line ends for Python but not for git.
    point(repository, "refs/heads/a\u2028b")
    point(repository, "refs/heads/a\x85b")
    point(repository, b"refs/tags/\xff")
    assert [fetch(repository.origin, name).commit for name in (r"\xe8", r"\xe9")] == [first, second]
    for name in ("main", "a\u2028b", "a\x85b", Ref("tag", r"\xff")):
        assert fetch(repository.origin, name).commit == second
    with pytest.raises(GitError, match="it has " + re.escape("\\xe8, \\xe9, a\x85b, a\u2028b, main") + "$"):
        fetch(repository.origin, "x")


def test_a_name_with_surrogates_is_refused(fetch, repository):
    with pytest.raises(UsageError, match="is not the name of a branch"):
        fetch(repository.origin, os.fsdecode(b"caf\xe9"))


def test_an_origin_with_a_detached_head_is_fetched(fetch, repository):
    repository.git("checkout", "--quiet", "--detach")
    repository.git("branch", "-D", "main")
    repository.git("tag", "v1")
    commit = fetch(repository.origin).commit
    for ref in (None, Ref("tag", "v1"), Ref("commit", commit), Ref("commit", commit[:8])):
        assert fetch(repository.origin, ref).commit == commit
    with pytest.raises(GitError, match=f"has no branches, only a HEAD at commit {commit[:12]}: leave out --branch"):
        fetch(repository.origin, "main")


def test_a_head_outside_of_branches_counts_as_detached(fetch, repository):
    repository.git("branch", "--move", "unusual")
    commit = point(repository, "refs/remotes/origin/main")
    repository.git("symbolic-ref", "HEAD", "refs/remotes/origin/main")
    fetched = fetch(repository.origin)
    assert (fetched.branch, fetched.commit) == ("HEAD", commit)


def test_an_origin_with_only_tags_is_not_called_empty(fetch, repository):
    repository.git("tag", "v1")
    point(repository, "refs/pull/1/head")
    repository.git("update-ref", "-d", "refs/heads/main")
    for ref in (None, Ref("branch", "main")):
        with pytest.raises(GitError, match=r"has no branches, only refs such as refs/tags/v1: .*git branch main"):
            fetch(repository.origin, ref)


def test_an_origin_without_a_commit_is_called_empty(fetch, make_repository):
    with pytest.raises(GitError, match="has no commits yet"):
        fetch(make_repository("empty").origin)


@pytest.mark.parametrize("name", ["-x", "-", "--output=x", "--prune"])
def test_a_branch_that_looks_like_an_option_is_fetched(fetch, repository, name):
    repository.git("branch", "--move", "unusual")
    commit = point(repository, f"refs/heads/{name}")
    assert fetch(repository.origin, name).commit == commit
    repository.git("symbolic-ref", "HEAD", f"refs/heads/{name}")
    assert fetch(repository.origin).branch == name
    with pytest.raises(GitError, match=f"has no branch {name}y; it has {name}, unusual"):
        fetch(repository.origin, f"{name}y")


def test_a_branch_or_tag_is_never_read_as_an_option(fetch, repository, tmp_path):
    program, mark = tmp_path / "program", tmp_path / "mark"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    name = f"--upload-pack={program}"
    for kind in ("branch", "tag"):
        with pytest.raises(GitError, match=f"has no {kind} --upload-pack"):
            fetch(repository.origin, Ref(kind, name))
    repository.git("branch", "--move", "unusual")
    commit = point(repository, f"refs/heads/{name}")
    point(repository, f"refs/tags/{name}")
    assert fetch(repository.origin, name).commit == fetch(repository.origin, Ref("tag", name)).commit == commit
    repository.git("symbolic-ref", "HEAD", f"refs/heads/{name}")
    assert fetch(repository.origin).branch == name
    assert not mark.exists()


@pytest.fixture
def holder(repository, tmp_path):
    """Yield a process that holds the lock of the repository's mirror."""
    command = [sys.executable, "-c", HOLDER, repository.origin, str(tmp_path / "home")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "locked\n"
        yield process
        process.communicate()


def test_a_run_names_the_fetch_it_waits_for_and_then_continues(repository, holder, tmp_path):
    messages = []
    waits = threading.Event()

    def say(text: str) -> None:
        messages.append(text)
        waits.set()

    access = open_access(parse_origin(repository.origin), GitSettings(), tmp_path / "home", say)
    ended = []
    thread = threading.Thread(target=lambda: ended.append(fetch_version(access, None)))
    thread.start()
    assert waits.wait(60)
    assert messages == [f"waiting for another fetch, by process {holder.pid}"]
    holder.communicate()
    thread.join(60)
    assert ended[0].branch == "main"
    assert messages[1:] == ["fetching"]


def test_a_hanging_fetch_is_named_when_the_wait_times_out(fetch, repository, holder):
    with pytest.raises(GitError, match=f"another fetch, by process {holder.pid} has been working on .* for 1 s"):
        fetch(repository.origin, settings=GitSettings(clone_timeout_seconds=1))


def test_ctrl_c_ends_the_wait(repository, holder, tmp_path):
    command = [sys.executable, "-c", WAITER, repository.origin, str(tmp_path / "home")]
    # If a shell started the tests in the background, they and their children ignore Ctrl-C.
    heeding = {"start_new_session": True, "preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **heeding) as waiting:
        assert waiting.stdout.readline() == f"waiting for another fetch, by process {holder.pid}\n"
        waiting.send_signal(signal.SIGINT)
        assert waiting.stdout.readline() == "interrupted\n"
    assert waiting.returncode == 0
