"""Successive runs on a repository: the report of each, and what is left after a removal."""

from dataclasses import replace
from pathlib import Path

import pytest

from codequarry.ingest.removal.removal import remove_repository
from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.shared.catalog.ledger import change_head, read_head
from codequarry.shared.catalog.repositories import list_repositories, read_progress, read_repository
from codequarry.shared.errors import Conflict, NotIndexed
from codequarry.shared.index.identity import read_identity
from codequarry.shared.model import Filters
from codequarry.shared.versions.refs import Ref
from codequarry.shared.versions.snapshots import head_snapshot
from codequarry.shared.versions.transactions import begin

FILES = {f"src/f{number}.py": f"def f{number}():\n    return {number}\n" for number in range(40)}


def live(workshop) -> set[str]:
    return {file.path for file in workshop.store.files(head_snapshot(read_head(workshop.store)))}


@pytest.mark.parametrize("processes", [0, 2])
def test_a_second_run_touches_only_changed_files_and_reports_them(make_repository, make_workshop, processes):
    repository = make_repository(files=FILES)
    workshop = make_workshop(processes=processes)
    request = IndexRequest(repository.origin)
    first = index_repository(request, workshop)
    assert (first.repo, first.ref, first.previous_commit) == ("project", "main", "")
    assert (first.files_changed, first.chunks_written, first.embedded) == (40, 40, 40)
    repository.write("src/f1.py", "def g():\n    return 1\n")
    repository.remove("src/f2.py")
    repository.write("src/new.py", "x = 1\n")
    tip = repository.commit()
    second = index_repository(request, workshop)
    assert (second.commit, second.previous_commit) == (tip, first.commit)
    assert (second.files_changed, second.files_removed, second.chunks_written) == (2, 1, 2)
    assert (second.files_indexed, second.chunks_live) == (40, 40)
    third = index_repository(request, workshop)
    assert not third.changed
    assert (third.files_changed, third.chunks_written, third.chunks_live) == (0, 0, 40)
    assert live(workshop) == FILES.keys() - {"src/f2.py"} | {"src/new.py"}


def test_a_file_that_comes_back_needs_no_embedding(make_repository, make_workshop):
    repository = make_repository(files=FILES)
    workshop = make_workshop()
    request = IndexRequest(repository.origin)
    index_repository(request, workshop)
    repository.remove("src/f1.py")
    repository.commit()
    index_repository(request, workshop)
    repository.write("src/f1.py", FILES["src/f1.py"])
    repository.commit()
    report = index_repository(request, workshop)
    assert (report.embedded, report.reused_embeddings) == (0, 1)


def test_progress_is_reported_and_deleted_at_the_end(make_repository, make_workshop):
    workshop = make_workshop(indexing={"batch_files": 10})
    states = []
    index_repository(IndexRequest(make_repository(files=FILES).origin), workshop, states.append)
    phases = ["fetching", "scanning", "indexing", "history", "publishing"]
    assert list(dict.fromkeys(state.phase for state in states)) == phases
    indexing = [state for state in states if state.phase == "indexing" and state.files_total]
    assert [state.files_done for state in indexing] == [0, 10, 20, 30, 40]
    assert indexing[-1].chunks_done == 40
    assert read_progress(workshop.store, "project") is None


def test_a_failed_run_leaves_its_progress_and_the_origin(make_repository, make_workshop, make_workshop_that_fails):
    repository = make_repository(files=FILES)
    workshop = make_workshop(indexing={"batch_files": 10})
    with pytest.raises(ValueError, match="the model is ill"):
        index_repository(IndexRequest(repository.origin), make_workshop_that_fails(workshop))
    progress = read_progress(workshop.store, "project")
    assert progress is not None
    assert (progress.files_done, progress.files_total) == (0, 40)
    assert read_repository(workshop.store, "project").origin == repository.origin
    assert live(workshop) == set()
    assert index_repository(IndexRequest(repository.origin), workshop).resumed


@pytest.fixture
def make_workshop_that_fails():
    """Return a function that gives a workshop a model that raises."""

    class Ill:
        def __init__(self, embedder):
            self._embedder = embedder

        def __getattr__(self, name):
            return getattr(self._embedder, name)

        def embed_documents(self, texts):
            raise ValueError("the model is ill")

    return lambda workshop: replace(workshop, embedder=Ill(workshop.embedder))


def test_another_default_branch_moves_the_repository_and_stays_chosen(make_repository, make_workshop):
    repository = make_repository(files=FILES)
    repository.git("checkout", "--quiet", "-b", "dev")
    repository.write("dev.py", "x = 1\n")
    dev = repository.commit()
    repository.git("checkout", "--quiet", "main")
    workshop = make_workshop()
    index_repository(IndexRequest(repository.origin), workshop)
    request = IndexRequest(repository.origin, Ref("branch", "dev"), default=True)
    assert index_repository(request, workshop).files_changed == 1
    report = index_repository(IndexRequest(repository.origin), workshop)
    assert (report.ref, report.commit, report.changed) == ("dev", dev, False)


def test_without_a_chosen_branch_the_origins_head_is_followed(make_repository, make_workshop):
    repository = make_repository(files=FILES)
    workshop = make_workshop()
    index_repository(IndexRequest(repository.origin), workshop)
    repository.git("branch", "--move", "main", "trunk")
    assert index_repository(IndexRequest(repository.origin), workshop).ref == "trunk"


def test_two_origins_with_the_same_base_name_get_different_names(make_repository, make_workshop):
    ours, theirs = make_repository("one/app", FILES), make_repository("two/app", {"a.py": "a = 1\n"})
    workshop = make_workshop()
    first, second = (index_repository(IndexRequest(repository.origin), workshop) for repository in (ours, theirs))
    assert (first.repo, first.name_note) == ("app", "")
    assert second.repo == "two-app"
    assert "this one is 'two-app'" in second.name_note
    assert len(live(workshop)) == 41


def test_a_removed_repository_leaves_nothing(make_repository, make_workshop):
    ours, theirs = make_repository("one", FILES), make_repository("two", {"a.py": "a = 1\n"})
    workshop = make_workshop()
    for repository in (ours, theirs):
        index_repository(IndexRequest(repository.origin), workshop)
    remove_repository("one", workshop.store, workshop.settings)
    assert live(workshop) == {"a.py"}
    assert [repository.name for repository in list_repositories(workshop.store)] == ["two"]
    mirrors = [path.name for path in Path(workshop.settings.home, "mirrors").iterdir()]
    assert not [name for name in mirrors if name.startswith("one-")]
    remove_repository("two", workshop.store, workshop.settings)
    assert read_identity(workshop.store) is None, "an empty index takes any model"
    assert [document.key for document in workshop.store.list_documents("")] == ["head"]
    again = index_repository(IndexRequest(ours.origin), workshop)
    assert (again.chunks_live, again.embedded) == (40, 40), "its vectors were deleted too"


def test_removing_an_unknown_repository_names_the_indexed_ones(make_repository, make_workshop):
    workshop = make_workshop()
    with pytest.raises(NotIndexed, match="'x' is not indexed; indexed: none"):
        remove_repository("x", workshop.store, workshop.settings)
    index_repository(IndexRequest(make_repository(files=FILES).origin), workshop)
    with pytest.raises(NotIndexed, match="indexed: project"):
        remove_repository("x", workshop.store, workshop.settings)


def test_removing_a_repository_during_a_run_stops_the_run(make_repository, make_workshop):
    repository = make_repository(files=FILES)
    workshop = make_workshop(indexing={"batch_files": 10})
    states = []

    def remove_in_the_middle(state):
        states.append(state)
        if state.files_done == 20:
            remove_repository("project", workshop.store, workshop.settings)

    with pytest.raises(Conflict, match="'project' was removed or changed during this run; run again"):
        index_repository(IndexRequest(repository.origin), workshop, remove_in_the_middle)
    assert list_repositories(workshop.store) == []
    assert live(workshop) == set()
    assert index_repository(IndexRequest(repository.origin), workshop).chunks_live == 40


def test_a_run_that_finds_another_run_names_its_holder(make_repository, make_workshop):
    repository = make_repository(files=FILES)
    workshop = make_workshop(indexing={"lease_seconds": 0.3})
    index_repository(IndexRequest(repository.origin), workshop)
    timeline = read_head(workshop.store).defaults["project"]
    change_head(workshop.store, lambda head: begin(head, timeline, "elsewhere"))
    report = index_repository(IndexRequest(repository.origin), workshop)
    assert not report.changed, "a run without changes does not wait"
    repository.commit("new")
    phases = []
    report = index_repository(IndexRequest(repository.origin), workshop, lambda state: phases.append(state.phase))
    assert (report.changed, report.resumed) == (True, False), "the transaction of a silent run is undone, not resumed"
    assert "waiting for elsewhere" in phases


def test_the_stores_count_equals_the_report(make_repository, make_workshop):
    workshop = make_workshop()
    report = index_repository(IndexRequest(make_repository(files=FILES).origin), workshop)
    assert workshop.store.count(head_snapshot(read_head(workshop.store)), Filters()) == report.chunks_live
