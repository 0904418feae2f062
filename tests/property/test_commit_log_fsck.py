"""A log that lost documents, or has commits of another history, is found and written again."""

from codequarry.ingest.fsck.versions import check_version, repair_version
from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.shared.catalog.ledger import read_head, read_transaction
from codequarry.shared.versions.commit_log import log_timeline, message_path
from codequarry.shared.versions.snapshots import log_snapshot


def newest(store):
    head = read_head(store)
    timeline = head.defaults["project"]
    return read_transaction(store, timeline, head.timelines[timeline].published)


def messages(store):
    files = store.files(log_snapshot(read_head(store), newest(store)))
    return [file.blob for file in files if file.path == message_path(file.blob)]


def test_a_damaged_log_is_written_again(make_repository, make_workshop):
    repository, workshop = make_repository(files={"a.py": "x = 1\n"}), make_workshop()
    for number in range(3):
        repository.write("a.py", f"x = {number + 2}\n")
        repository.commit(f"change {number}")
    index_repository(IndexRequest(repository.origin), workshop)
    history = sorted(repository.git("rev-list", "HEAD").decode().split())
    assert sorted(messages(workshop.store)) == history
    assert check_version(newest(workshop.store), workshop).problems == ()
    workshop.store.purge([log_timeline(newest(workshop.store).timeline)])
    report = check_version(newest(workshop.store), workshop)
    assert [problem.kind for problem in report.problems] == ["log"]
    repair_version(report, workshop)
    assert sorted(messages(workshop.store)) == history
    assert check_version(newest(workshop.store), workshop).problems == ()


def test_commits_of_another_history_are_found(make_repository, make_workshop):
    repository, workshop = make_repository(files={"a.py": "x = 1\n"}), make_workshop()
    repository.commit("one")
    index_repository(IndexRequest(repository.origin), workshop)
    log = log_timeline(newest(workshop.store).timeline)
    repository.git("reset", "--quiet", "--hard", "HEAD~1")
    repository.commit("two")
    index_repository(IndexRequest(repository.origin), workshop)
    # Revive the lost commit, as if its retirement had been lost.
    workshop.store.undo(log, newest(workshop.store).number)
    kinds = {problem.detail.split()[-1] for problem in check_version(newest(workshop.store), workshop).problems}
    assert kinds, "the log has a lost commit and lacks the newest one"
    repair_version(check_version(newest(workshop.store), workshop), workshop)
    assert sorted(messages(workshop.store)) == sorted(repository.git("rev-list", "HEAD").decode().split())
