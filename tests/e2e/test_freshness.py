"""What answers say about newer commits at the origin: what was seen, when, and nothing that nobody looked at."""

import shutil
from dataclasses import replace

import pytest

from codequarry.ingest.remotes.polling import poll_due
from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.search_api.answers.json import to_json
from codequarry.search_api.query.request import parse_request
from codequarry.search_api.search.engine import SearchEngine
from codequarry.shared.catalog.polls import change_poll
from codequarry.shared.catalog.repositories import read_repository, save_repository
from codequarry.shared.timestamps import from_now
from codequarry.shared.versions.refs import Ref

LONG_AGO = "2020-01-01T00:00:00+00:00"


@pytest.fixture
def repository(make_repository):
    return make_repository(files={"a.py": "def a():\n    return 1\n"})


@pytest.fixture
def workshop(make_workshop):
    return make_workshop()


@pytest.fixture
def index(workshop, repository):
    """Return a function that indexes the default branch or a version."""

    def run(kind="", value=""):
        return index_repository(IndexRequest(repository.origin, Ref(kind, value) if kind else None), workshop)

    return run


@pytest.fixture
def freshness(workshop):
    """Return a function that searches with a new engine and returns the only entry of the freshness."""

    def ask(**filters):
        engine = SearchEngine(workshop.store, workshop.embedder, workshop.settings)
        (entry,) = engine.search(parse_request({"query": "a", "filters": filters})).freshness
        return to_json(entry)

    return ask


@pytest.fixture
def elsewhere(workshop, repository):
    """Return a function that hides the folder of the origin from answers, as if it were on another machine."""

    def hide():
        repository.folder.rename(repository.folder.with_name("moved"))

    return hide


def change(repository, text):
    repository.write("a.py", f"def a():\n    return {text!r}\n")
    return repository.commit(text)


def test_a_commit_that_is_not_indexed_is_seen_in_the_folder_of_the_origin(index, freshness, repository):
    first = index().commit
    entry = freshness()
    assert (entry["head_commit"], entry["commits_behind"]) == (first, 0)
    second = change(repository, "two")
    entry = freshness()
    assert (entry["indexed_commit"], entry["head_commit"], entry["commits_behind"]) == (first, second, None)
    assert entry["head_seen_at"] > from_now(-60)
    index()
    assert (freshness()["head_commit"], freshness()["commits_behind"]) == (second, 0)


def test_a_run_for_a_tag_records_that_the_default_branch_moved(index, freshness, repository, elsewhere):
    first = index().commit
    repository.git("tag", "v1")
    second = change(repository, "two")
    index("tag", "v1")
    elsewhere()
    entry = freshness()
    assert (entry["indexed_commit"], entry["head_commit"], entry["commits_behind"]) == (first, second, None)


def test_a_run_for_a_branch_counts_the_commits_of_the_default_branch_that_it_fetched(
    index, freshness, repository, elsewhere
):
    index()
    second = change(repository, "two")
    repository.git("branch", "dev")
    index("branch", "dev")
    elsewhere()
    assert (freshness()["head_commit"], freshness()["commits_behind"]) == (second, 1)


def test_a_run_for_another_branch_finds_a_default_branch_that_head_does_not_name(
    index, freshness, repository, elsewhere
):
    index()
    second = change(repository, "two")
    repository.git("checkout", "--quiet", "-b", "dev")
    index("branch", "dev")
    elsewhere()
    assert freshness()["head_commit"] == second


def test_an_unseen_change_of_the_origin_is_told_by_the_time_of_the_last_look(
    index, freshness, repository, workshop, elsewhere
):
    first = index().commit
    known = read_repository(workshop.store, "project")
    save_repository(workshop.store, replace(known, fetched_at=LONG_AGO))
    change(repository, "two")
    elsewhere()
    entry = freshness()
    assert (entry["head_commit"], entry["commits_behind"], entry["head_seen_at"]) == (first, 0, LONG_AGO)


def test_every_run_that_lists_the_origin_renews_the_time_of_the_last_look(
    index, freshness, repository, workshop, elsewhere
):
    index()
    repository.git("tag", "v1")
    save_repository(workshop.store, replace(read_repository(workshop.store, "project"), fetched_at=LONG_AGO))
    index("tag", "v1")
    elsewhere()
    assert freshness()["head_seen_at"] > from_now(-60)


def test_a_poll_records_what_it_saw(index, freshness, repository, workshop, elsewhere):
    repository.git("branch", "dev")
    index()
    index("branch", "dev")
    save_repository(workshop.store, replace(read_repository(workshop.store, "project"), fetched_at=LONG_AGO))
    second = change(repository, "two")
    change_poll(workshop.store, "project", lambda known: replace(known, next_at=from_now(-1)))
    poll_due(workshop.store, workshop.settings, lambda _: None)
    elsewhere()
    assert (freshness()["head_commit"], freshness()["commits_behind"]) == (second, None)
    assert freshness()["head_seen_at"] > from_now(-60)
    dev = freshness(branch="dev")
    assert (dev["commits_behind"], dev["head_commit"]) == (0, dev["indexed_commit"])
    assert dev["head_seen_at"] > from_now(-60)


def test_a_branch_that_the_origin_lost_has_no_head(index, freshness, repository):
    repository.git("branch", "dev")
    index()
    index("branch", "dev")
    repository.git("branch", "--delete", "--force", "dev")
    entry = freshness(branch="dev")
    assert (entry["head_commit"], entry["commits_behind"]) == (None, None)


def test_the_folder_of_an_origin_is_not_looked_at_without_a_mirror_of_it_here(index, freshness, repository, workshop):
    """Another machine may have a different repository at the same path."""
    first = index().commit
    shutil.rmtree(workshop.settings.home / "mirrors")
    change(repository, "two")
    assert (freshness()["head_commit"], freshness()["commits_behind"]) == (first, 0)


def test_a_guarded_origin_is_looked_at_only_below_the_roots_of_the_settings(
    index, freshness, repository, workshop, make_workshop
):
    first = index().commit
    save_repository(workshop.store, replace(read_repository(workshop.store, "project"), guarded=True))
    second = change(repository, "two")
    assert freshness()["head_commit"] == first
    allowed = workshop.settings.model_validate(
        workshop.settings.model_dump() | {"api": {"local_roots": [repository.folder.parent]}}
    )
    engine = SearchEngine(workshop.store, workshop.embedder, allowed)
    assert engine.search(parse_request({"query": "a"})).freshness[0].head_commit == second


def test_a_working_tree_is_outdated_once_another_commit_is_checked_out(index, freshness, repository):
    index()
    index("workspace", str(repository.folder))
    entry = freshness(ref=f"workspace:{repository.folder}")
    assert entry["head_commit"] == entry["indexed_commit"]
    second = change(repository, "two")
    entry = freshness(ref=f"workspace:{repository.folder}")
    assert (entry["head_commit"], entry["commits_behind"]) == (second, None)
