"""The history of files in an index: after commits, reverts and force-pushes, and in a working tree."""

from codequarry.ingest.request.index_request import IndexRequest
from codequarry.ingest.run.pipeline import index_repository
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.model import CommitFilters, Filters
from codequarry.shared.versions.snapshots import head_snapshot


def chunks(workshop, **commits):
    filters = Filters(commits=CommitFilters(**commits))
    return {chunk.path: chunk for chunk in workshop.store.find(head_snapshot(read_head(workshop.store)), filters, 50)}


def assert_as_in_git(repository, workshop):
    found = chunks(workshop)
    assert found.keys() == repository.listing().keys()
    for path, chunk in found.items():
        expected = repository.git("log", "--format=%H", "--", path).decode().split()
        assert (chunk.file_history.commits, chunk.last_modified_commit) == (len(expected), expected[0]), path


def test_the_history_follows_commits_reverts_and_force_pushes(make_repository, make_workshop):
    files = {f"f{number}.py": f"def f{number}():\n    return {number}\n" for number in range(8)}
    repository = make_repository(files=files)
    workshop = make_workshop()
    request = IndexRequest(repository.origin)
    index_repository(request, workshop)
    assert_as_in_git(repository, workshop)
    repository.write("f1.py", "def g():\n    return 1\n")
    repository.commit()
    assert index_repository(request, workshop).files_changed == 1
    assert_as_in_git(repository, workshop)
    for content in ("x = 1\n", files["f2.py"]):
        repository.write("f2.py", content)
        repository.commit("there and back")
    report = index_repository(request, workshop)
    assert (report.files_changed, report.embedded) == (1, 0)
    assert_as_in_git(repository, workshop)
    repository.git("commit", "--quiet", "--amend", "--message", "another message")
    index_repository(request, workshop)
    assert_as_in_git(repository, workshop)
    assert chunks(workshop)["f2.py"].commit_message == "another message"


def test_authors_and_days_filter_code(make_repository, make_workshop):
    repository = make_repository(files={"a.py": "a = 1\n"})
    repository.write("b.py", "b = 1\n")
    repository.git("add", "--all")
    repository.git("commit", "--quiet", "--author=Ada <ada@example.org>", "--message", "b")
    workshop = make_workshop()
    index_repository(IndexRequest(repository.origin), workshop)
    assert chunks(workshop, authors=("ada",)).keys() == {"b.py"}
    assert chunks(workshop, excluded=("ada",)).keys() == {"a.py"}
    assert chunks(workshop, since=19723, until=19723).keys() == {"a.py", "b.py"}
    assert chunks(workshop, since=19724) == {}
