"""Polling requests each change at an origin once, in the background, and pauses longer after failures."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from codequarry.ingest.remotes.polling import MAX_PAUSE_SECONDS, due_repositories, interval, poll_due
from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.catalog.polls import Poll, change_poll, list_polls, note_webhook, read_poll
from codequarry.shared.catalog.repositories import list_repositories, read_repository
from codequarry.shared.errors import StoreUnavailable
from codequarry.shared.jobs.job import PRIORITIES
from codequarry.shared.timestamps import from_now, now
from codequarry.shared.versions.refs import Ref

HOUR = 3600


@pytest.fixture
def repository(make_repository):
    return make_repository(files={"a.py": "a = 1\n"})


@pytest.fixture
def workshop(make_workshop, repository):
    """Return an index that contains the repository."""
    workshop = make_workshop()
    index_repository(IndexRequest(repository.origin), workshop)
    return workshop


@pytest.fixture
def poll(workshop):
    """Return a function that polls as if all origins were due and returns the requested jobs."""

    def run(**sections):
        for known_repository in list_repositories(workshop.store):
            change_poll(workshop.store, known_repository.name, lambda known: replace(known, next_at=from_now(-1)))
        asked = []
        settings = workshop.settings.model_validate(workshop.settings.model_dump() | sections)
        polled = poll_due(workshop.store, settings, asked.append, draw=lambda: 0.5)
        run.polled = polled
        return asked

    return run


def change(repository, name="a.py", text="a = 2\n"):
    repository.write(name, text)
    return repository.commit()


def test_an_unchanged_origin_makes_no_job(poll, workshop):
    assert poll() == []
    assert read_poll(workshop.store, "project").next_at > from_now(200)


def test_a_new_commit_on_the_default_branch_is_requested_once(poll, repository, workshop):
    commit = change(repository)
    [job] = poll()
    assert (job.repo, job.ref, job.candidates, job.commit) == ("project", "", (), commit)
    assert (job.trigger, job.priority) == ("poll", PRIORITIES["background"])
    assert poll() == []
    newer = change(repository, text="a = 3\n")
    assert [job.commit for job in poll()] == [newer]


def test_indexed_versions_are_followed_and_deletions_noticed(poll, repository, workshop):
    repository.git("branch", "dev")
    repository.git("branch", "left")
    for name in ("dev", "left"):
        index_repository(IndexRequest(repository.origin, Ref("branch", name)), workshop)
    assert poll() == []
    change(repository)
    repository.git("branch", "--force", "dev", "main")
    repository.git("branch", "-D", "left")
    assert {job.ref: job.commit.strip("0") != "" for job in poll()} == {
        "": True,
        "refs/heads/dev": True,
        "refs/heads/left": False,
    }


def test_branches_and_tags_named_by_the_settings_are_requested(poll, repository):
    repository.git("branch", "release/1")
    repository.git("branch", "topic")
    repository.git("tag", "--annotate", "--message", "one", "v1")
    rules = {"origin": repository.origin, "refs": ["release/*", "v*"]}
    jobs = poll(repositories=[rules])
    assert {job.candidates[0] for job in jobs} == {Ref("branch", "release/1"), Ref("tag", "v1")}
    head = repository.git("rev-parse", "main").decode().strip()
    assert {job.commit for job in jobs} == {head}


def test_a_changed_default_branch_is_noticed(poll, repository):
    repository.git("branch", "--move", "main", "trunk")
    assert [job.ref for job in poll()] == [""]


def test_a_checkout_does_not_change_the_default_branch(poll, repository, workshop):
    repository.git("checkout", "--quiet", "-b", "feature")
    change(repository)
    assert poll() == []
    repository.git("checkout", "--quiet", "--detach")
    assert poll() == []
    repository.git("checkout", "--quiet", "--orphan", "fresh")
    assert poll() == []
    repository.git("branch", "--force", "main", "feature")
    [job] = poll()
    assert (job.ref, job.candidates, job.commit) == ("", (), repository.git("rev-parse", "main").decode().strip())


def test_branches_named_by_the_settings_are_requested_while_another_is_checked_out(poll, repository):
    repository.git("checkout", "--quiet", "-b", "feature")
    repository.git("branch", "other")
    jobs = poll(repositories=[{"origin": repository.origin, "refs": ["f*", "main"]}])
    assert [job.ref for job in jobs] == ["refs/heads/feature"]


def test_pauses_grow_while_an_origin_does_not_answer(poll, repository, workshop):
    kept = repository.folder.rename(repository.folder.with_name("away"))
    pauses = []
    for _ in range(3):
        assert poll() == []
        assert poll.polled[0].error
        known = read_poll(workshop.store, "project")
        pauses.append(next(seconds for seconds in (300, 600, 1200) if known.next_at < from_now(seconds + 1)))
    assert pauses == [300, 600, 1200]
    change_poll(workshop.store, "project", lambda known: replace(known, failures=60))
    poll()
    assert read_poll(workshop.store, "project").next_at < from_now(MAX_PAUSE_SECONDS + 1)
    shutil.move(kept, repository.folder)
    assert poll() == []
    assert read_poll(workshop.store, "project").failures == 0


def test_only_one_of_several_processes_polls(repository, workshop):
    change(repository)
    change_poll(workshop.store, "project", lambda known: replace(known, next_at=from_now(-1)))
    asked = []
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: poll_due(workshop.store, workshop.settings, asked.append), range(4)))
    assert len(asked) == 1


def test_a_refused_request_is_repeated_by_the_next_poll(poll, repository, workshop):
    commit = change(repository)
    change_poll(workshop.store, "project", lambda known: replace(known, next_at=from_now(-1)))

    def refuse(_):
        raise StoreUnavailable("too many wait")

    [polled] = poll_due(workshop.store, workshop.settings, refuse)
    assert polled.error == "too many wait"
    assert [job.commit for job in poll()] == [commit]


def test_a_removed_repository_is_forgotten(poll, workshop):
    change_poll(workshop.store, "gone", lambda known: known)
    poll()
    assert set(list_polls(workshop.store)) == {"project"}


def test_the_interval_depends_on_settings_and_webhooks(workshop, repository):
    known = read_repository(workshop.store, "project")
    settings = workshop.settings
    assert interval(known, Poll("project"), settings) == 300
    note_webhook(workshop.store, "project")
    assert interval(known, read_poll(workshop.store, "project"), settings) == HOUR
    assert interval(known, Poll("project", hooked_at=from_now(-25 * HOUR)), settings) == 300
    never = settings.model_validate(settings.model_dump() | {"polling": {"interval_seconds": 0}})
    assert interval(known, read_poll(workshop.store, "project"), never) == 0
    own = {"repositories": [{"origin": repository.origin, "poll_seconds": 30}]}
    assert interval(known, Poll("project"), settings.model_validate(settings.model_dump() | own)) == 30


def test_a_repository_fetched_recently_is_not_due(workshop):
    head, repositories = read_head(workshop.store), list_repositories(workshop.store)
    assert due_repositories(repositories, head, {}, workshop.settings) == []
    long_ago = [replace(known, fetched_at=from_now(-HOUR)) for known in repositories]
    assert due_repositories(long_ago, head, {}, workshop.settings) == long_ago
    never_indexed = [replace(long_ago[0], name="waits")]
    assert due_repositories(never_indexed, head, {}, workshop.settings) == []


def test_a_shorter_interval_applies_at_once_and_impossible_times_are_ignored(workshop):
    store = workshop.store
    head, repositories = read_head(store), list_repositories(store)

    def due(next_at, failures=0, seconds=300):
        poll = Poll("project", next_at, failures=failures)
        polling = {"polling": {"interval_seconds": seconds}}
        settings = workshop.settings.model_validate(workshop.settings.model_dump() | polling)
        return bool(due_repositories(repositories, head, {"project": poll}, settings))

    assert not due(from_now(3 * HOUR), seconds=4 * HOUR)
    assert due(from_now(3 * HOUR), seconds=300)
    assert not due(from_now(3 * HOUR), failures=9)
    assert due(from_now(1000 * HOUR), failures=9)
    poll_asked = []
    change_poll(store, "project", lambda known: replace(known, next_at=from_now(1000 * HOUR)))
    poll_due(store, workshop.settings, poll_asked.append)
    assert now() < read_poll(store, "project").next_at < from_now(HOUR)
