"""Late writes of a slow process for a removed repository are not shown for the repository that took its name."""

from dataclasses import replace

import pytest

from codequarry.ingest.git.origins import parse_origin
from codequarry.ingest.remotes.polling import poll_due
from codequarry.ingest.removal.removal import remove_repository
from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.ingest.source.source import adopt_branch, note_fetched
from codequarry.search_api.versions.catalog import Catalog
from codequarry.search_api.versions.repositories import describe
from codequarry.shared.access.grants import Grant
from codequarry.shared.access.key_list import add_key, dangling_grants
from codequarry.shared.access.keys import new_key
from codequarry.shared.catalog.polls import change_poll
from codequarry.shared.catalog.repositories import (
    Progress,
    RefHead,
    count_tokens,
    read_repository,
    save_progress,
    save_ref_head,
)
from codequarry.shared.repositories.naming import claim
from codequarry.shared.settings.triggers import PollingSettings
from codequarry.shared.timestamps import from_now, now

FOREIGN = "f" * 40
FILES = {"a.py": "def first():\n    return 1\n"}


@pytest.fixture
def workshop(make_workshop):
    return make_workshop()


@pytest.fixture
def removed(workshop, make_repository):
    """Return the record of a removed repository, whose name is free again."""
    index_repository(IndexRequest(make_repository("ours", FILES).origin, name="core"), workshop)
    record = read_repository(workshop.store, "core")
    remove_repository("core", workshop.store, workshop.settings)
    return record


@pytest.fixture
def write_late(workshop, removed):
    """Return a function that makes all late writes of a run and a poll of the removed repository."""
    store, foreign = workshop.store, replace(removed, head_commit=FOREIGN, branch="foreign", follows_head=False)

    def write():
        save_progress(store, Progress("core", "indexing", FOREIGN, 1, 2, 3, now(), now(), repo_id=removed.id))
        save_ref_head(store, RefHead("core", "", FOREIGN, now(), FOREIGN, 7, repo_id=removed.id))
        note_fetched(foreign, store)
        adopt_branch(foreign, store)
        count_tokens(store, foreign, 1000)

    return write


def shown(workshop):
    return describe(Catalog(workshop.store))


def test_late_writes_are_not_shown_before_the_new_repository_is_indexed(workshop, write_late, removed, make_repository):
    claim(workshop.store, parse_origin(make_repository("theirs", FILES).origin), "core", "main")
    before = shown(workshop)
    write_late()
    assert shown(workshop) == before
    assert before[0].state == "not indexed"


def test_late_writes_are_not_shown_after_the_new_repository_is_indexed(workshop, write_late, make_repository):
    theirs = make_repository("theirs", FILES)
    index_repository(IndexRequest(theirs.origin, name="core"), workshop)
    before = shown(workshop)
    write_late()
    assert shown(workshop) == before
    theirs.write("b.py", "b = 1\n")
    commit = theirs.commit()
    index_repository(IndexRequest(theirs.origin), workshop)
    assert [(repo.indexed_commit, repo.commits_behind) for repo in shown(workshop)] == [(commit, 0)]


def test_polls_of_the_removed_repository_do_not_affect_the_new_one(workshop, removed, make_repository):
    theirs = make_repository("theirs", FILES)
    index_repository(IndexRequest(theirs.origin, name="core"), workshop)
    late = {"": FOREIGN}
    change_poll(
        workshop.store,
        "core",
        lambda poll: replace(poll, asked_for=late, next_at=from_now(200), repo_id=removed.id),
    )
    theirs.write("b.py", "b = 1\n")
    commit = theirs.commit()
    asked = []
    settings = workshop.settings.model_copy(update={"polling": PollingSettings(interval_seconds=0.001)})
    poll_due(workshop.store, settings, asked.append)
    assert [request.commit for request in asked] == [commit]


def test_grants_of_removed_repositories_are_listed(workshop, removed, make_repository):
    granted = [Grant("core", repo_id=removed.id), Grant("soon"), Grant("*-docs")]
    key = add_key(workshop.store, new_key("reader", ["search"], granted)[0])
    claim(workshop.store, parse_origin(make_repository("theirs", FILES).origin), "core", "main")
    assert [(holder.id, grant.repos) for holder, grant in dangling_grants(workshop.store)] == [(key.id, "core")]
