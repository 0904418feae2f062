"""git's log of some lines, within limits, without the repository's own configuration."""

import pytest

from codequarry.ingest.git import line_log as module
from codequarry.ingest.git.line_log import describe_commits, line_log
from codequarry.shared.errors import GitError

BODY = "".join(f"    value_{number} = {number}\n" for number in range(8))
TOKEN = "ghp_" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"


def function(edit):
    return f"def load():\n{BODY}    return {edit}\n"


@pytest.fixture
def repository(make_repository):
    """Return a repository in which a function was edited, moved within its file, and renamed with it."""
    repository = make_repository(files={"old.py": "x = 1\n" + function(1)})
    for message, path, text in (
        ("edit", "old.py", "x = 1\n" + function(2)),
        ("elsewhere", "old.py", "x = 2\ny = 3\n" + function(2)),
        ("rename", "new.py", "x = 2\ny = 3\n" + function(2)),
        ("again", "new.py", "x = 2\ny = 3\n" + function(3)),
    ):
        if message == "rename":
            repository.remove("old.py")
        repository.write(path, text)
        repository.commit(message)
    return repository


def head(repository):
    return repository.git("rev-parse", "HEAD").decode().strip()


LINES = (3, 12)


def test_the_commits_are_those_of_git_log(repository, fetch):
    mirror = fetch(repository.origin).mirror
    log = line_log(mirror, head(repository), "new.py", LINES, 60)
    expected = repository.git("log", "-L3,12:new.py", "--no-patch", "--format=%H").decode().split()
    assert [commit.commit for commit in log.commits] == expected
    assert (log.commits[0].subject, log.commits[1].subject, log.stopped) == ("again", "edit", "")
    assert log.commits[0].author and log.commits[0].date.startswith("20")


def test_only_commits_since_another_are_searched(repository, fetch):
    mirror = fetch(repository.origin).mirror
    since = repository.git("rev-parse", "HEAD~1").decode().strip()
    assert [commit.subject for commit in line_log(mirror, head(repository), "new.py", LINES, 60, since).commits] == [
        "again"
    ]


def test_a_limit_of_time_stops_git_and_is_told(repository, fetch):
    mirror = fetch(repository.origin).mirror
    log = line_log(mirror, head(repository), "new.py", LINES, 0)
    assert (log.commits, log.stopped) == ((), "time")
    assert describe_commits(mirror, [head(repository)], 0) == {}


def test_a_limit_of_output_keeps_whole_entries(repository, fetch, monkeypatch):
    mirror = fetch(repository.origin).mirror
    whole = line_log(mirror, head(repository), "new.py", LINES, 60)
    monkeypatch.setattr(module, "MAX_OUTPUT_BYTES", 90)
    cut = line_log(mirror, head(repository), "new.py", LINES, 60)
    assert (cut.commits, cut.stopped) == (whole.commits[:1], "size")
    monkeypatch.undo()
    monkeypatch.setattr(module, "MAX_COMMITS", 2)
    assert line_log(mirror, head(repository), "new.py", LINES, 60) == module.LineLog(whole.commits[:2], "size")


def test_a_commit_or_lines_that_the_mirror_lacks_are_an_error(repository, fetch):
    mirror = fetch(repository.origin).mirror
    with pytest.raises(GitError, match="the mirror lacks commit ffffffffffff"):
        line_log(mirror, "f" * 40, "new.py", LINES, 60)
    with pytest.raises(GitError, match=r"cannot read the history of new.py: .*14 lines|has only"):
        line_log(mirror, head(repository), "new.py", (900, 901), 60)


def test_secrets_in_messages_are_masked_and_long_lines_cut(make_repository, fetch):
    repository = make_repository(files={"a.py": function(1)})
    repository.write("a.py", function(2))
    repository.commit(f"use token {TOKEN}")
    repository.write("a.py", function(3))
    repository.commit("word " * 100)
    long, secret, _ = line_log(fetch(repository.origin).mirror, head(repository), "a.py", (1, 10), 60).commits
    assert TOKEN not in secret.subject and secret.subject.startswith("use token ***")
    assert len(long.subject) == module.MAX_SUBJECT_CHARACTERS and long.subject.endswith("…")


def test_paths_of_any_bytes_are_read(make_repository, fetch):
    repository = make_repository(files={"a.py": "x\n"})
    for path in (b"caf\xe9.py", b"a:b,c d.py", b"-x.py", b":(glob)*.py"):
        repository.write(path, function(1))
    commit = repository.commit("odd")
    mirror = fetch(repository.origin).mirror
    for path in ("caf\\xe9.py", "a:b,c d.py", "-x.py", ":(glob)*.py"):
        assert [entry.subject for entry in line_log(mirror, commit, path, (1, 3), 60).commits] == ["odd"]


def test_programs_that_a_mirror_configures_do_not_run(repository, fetch, tmp_path):
    mirror, trace = fetch(repository.origin).mirror, tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\ntouch {trace}\ncat "$1"\n')
    program.chmod(0o755)
    for key in ("diff.external", "diff.x.command", "diff.x.textconv", "core.pager", "gpg.program"):
        mirror.run("config", key, str(program), what="configure")
    mirror.run("config", "log.showSignature", "true", what="configure")
    (mirror.folder / "info").mkdir(exist_ok=True)
    (mirror.folder / "info" / "attributes").write_text("*.py diff=x\n")
    assert len(line_log(mirror, head(repository), "new.py", LINES, 60).commits) >= 2
    assert not trace.exists()


def test_commits_are_described_without_those_that_are_missing(repository, fetch):
    mirror = fetch(repository.origin).mirror
    known = describe_commits(mirror, [head(repository), "f" * 40], 60)
    assert [commit.subject for commit in known.values()] == ["again"]
    assert describe_commits(mirror, [], 60) == {}
