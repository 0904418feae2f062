"""A log stays as complete as it can when history is cut, and when git fails while commits are read."""

import os

import pytest

from codequarry.ingest.fsck.versions import check_version
from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.shared.catalog.ledger import read_head, read_transaction
from codequarry.shared.errors import GitError
from codequarry.shared.versions.commit_log import message_path
from codequarry.shared.versions.snapshots import log_snapshot

# Stands before git in PATH, and fails for the command in the file BROKEN.
GIT = """#!/bin/sh
for word in "$@"; do
    [ "$word" = "$(cat {broken})" ] && {{ echo "fatal: unable to read tree" >&2; exit 128; }}
done
exec {git} "$@"
"""


@pytest.fixture
def breaking(tmp_path, monkeypatch):
    """Return a function that makes one command of git fail from then on."""
    folder, broken = tmp_path / "bin", tmp_path / "broken"
    folder.mkdir()
    broken.write_text("none")
    real = next(path for place in os.environ["PATH"].split(":") if os.access(path := f"{place}/git", os.X_OK))
    (folder / "git").write_text(GIT.format(broken=broken, git=real))
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return broken.write_text


@pytest.fixture
def three(make_repository):
    """A repository of three commits."""
    repository = make_repository(files={"a.py": "x = 1\n"})
    for number in (2, 3):
        repository.write("a.py", f"x = {number}\n")
        repository.commit(f"change {number}")
    return repository


def newest(store):
    head = read_head(store)
    timeline = head.defaults["project"]
    return read_transaction(store, timeline, head.timelines[timeline].published)


def messages(store):
    files = store.files(log_snapshot(read_head(store), newest(store)))
    return {file.blob for file in files if file.path == message_path(file.blob)}


def history(repository):
    return set(repository.git("rev-list", "HEAD").decode().split())


def test_a_branch_that_is_set_back_keeps_the_commits_that_it_has(three, make_workshop):
    workshop = make_workshop()
    index_repository(IndexRequest(three.origin), workshop)
    three.git("reset", "--quiet", "--hard", "HEAD~1")
    index_repository(IndexRequest(three.origin), workshop)
    assert messages(workshop.store) == history(three)
    assert len(history(three)) == 2


def test_commits_stay_if_git_fails_while_they_are_written_anew(three, make_workshop, breaking):
    index_repository(IndexRequest(three.origin), make_workshop())
    breaking("log")
    changed = make_workshop(history={"emails": "drop"})
    report = index_repository(IndexRequest(three.origin), changed)
    assert "some commits are missing: cannot read the commits: unable to read tree" in report.warnings
    assert messages(changed.store) == history(three)
    assert "git failed when the commits were indexed" in str(check_version(newest(changed.store), changed).problems)
    breaking("none")
    three.commit("change 4")
    report = index_repository(IndexRequest(three.origin), changed)
    assert (report.log_commits, report.warnings) == (4, ())
    assert messages(changed.store) == history(three)
    assert check_version(newest(changed.store), changed).problems == ()


NO_HISTORY = "files were indexed without their history: cannot read the history of files: unable to read tree"


@pytest.mark.parametrize("files", [1, 9])
def test_files_without_history_are_reported(three, make_workshop, breaking, files):
    """Both for a few files, whose own logs are read, and for more, for which all commits are."""
    for number in range(1, files):
        three.write(f"f{number}.py", "")
    three.commit("more files")
    breaking("log")
    report = index_repository(IndexRequest(three.origin), make_workshop())
    assert (report.files_indexed, NO_HISTORY in report.warnings) == (files, True)
    breaking("none")
    assert index_repository(IndexRequest(three.origin), make_workshop("other")).warnings == ()


def test_files_are_reported_if_the_messages_of_their_commits_are_missing(three, make_workshop, breaking):
    breaking("--stdin")
    report = index_repository(IndexRequest(three.origin), make_workshop(history={"commits": 0}))
    assert report.warnings == ("files have no commit messages: cannot read the commits: unable to read tree",)


def test_commits_stay_if_their_history_cannot_be_read(three, make_workshop, breaking):
    workshop = make_workshop()
    index_repository(IndexRequest(three.origin), workshop)
    before = history(three)
    three.git("commit", "--quiet", "--amend", "--message", "other")
    breaking("rev-list")
    with pytest.raises(GitError):
        index_repository(IndexRequest(three.origin), workshop)
    assert messages(workshop.store) == before
