"""Which deliveries become jobs."""

from dataclasses import replace

import pytest

from codequarry.search_api.webhooks.events import Event, NamedRepository
from codequarry.search_api.webhooks.receiver import Known, decide, find
from codequarry.shared.catalog.repositories import Repository
from codequarry.shared.jobs.job import JobRequest
from codequarry.shared.settings.triggers import RepositorySettings
from codequarry.shared.versions.head import Head, Timeline
from codequarry.shared.versions.refs import Ref

CORE = Repository("core", "https://host/owner/core", "main")
HEAD = Head(
    counter=3,
    timelines={
        1: Timeline("core", 1, "c1", branch="main"),
        2: Timeline("core", 2, "c2", ref="refs/heads/dev"),
        3: Timeline("core", 3, "c3", ref="refs/pull/5"),
        4: Timeline("core", 3, "c3", ref="refs/heads/left", gone=True),
    },
    defaults={"core": 1},
)
NOTHING_NAMED = None
RULES = RepositorySettings(origin="https://host/owner/core", refs=("release/*", "refs/tags/v*"), pulls=True)


def told(ref, change="moved", rules=NOTHING_NAMED, head=HEAD, **fields):
    return decide(Event("push", NamedRepository(), ref, change, **fields), Known(CORE, head, rules), "webhook github")


def branch(name):
    return Ref("branch", name)


def test_the_default_branch_is_indexed_however_it_is_named():
    for wish in (told(branch("main"), commit="c9"), told(None, commit="c9")):
        assert isinstance(wish, JobRequest)
        assert (wish.ref, wish.candidates, wish.commit, wish.priority) == ("", (), "c9", 3)


def test_a_repository_that_waits_for_its_first_import_is_indexed_by_the_branch_that_the_host_says():
    event = Event("push", NamedRepository(default_branch="trunk"), branch("trunk"), "moved")
    wish = decide(event, Known(Repository("core", "https://host/owner/core", ""), Head(), None), "")
    assert isinstance(wish, JobRequest)
    assert (wish.ref, wish.priority) == ("", 6)


@pytest.mark.parametrize(
    ("ref", "change", "commit", "wanted"),
    [
        (branch("trunk"), "moved", "c9", "c9"),
        (branch("main"), "moved", "c9", "c9"),
        (branch("main"), "deleted", "0" * 40, ""),
        (None, "moved", "", ""),
    ],
)
def test_another_default_branch_is_noticed_by_what_the_host_says_of_it(ref, change, commit, wanted):
    """The origin knows which one it is when the job runs."""
    event = Event("push", NamedRepository(default_branch="trunk"), ref, change, commit)
    wish = decide(event, Known(CORE, HEAD, None), "")
    assert isinstance(wish, JobRequest)
    assert (wish.ref, wish.candidates, wish.commit) == ("", (), wanted)


def test_a_branch_that_a_person_chose_stays_the_default_one_whatever_the_host_says():
    event = Event("push", NamedRepository(default_branch="trunk"), branch("trunk"), "moved")
    chosen = replace(CORE, follows_head=False)
    assert "neither the default branch nor indexed" in decide(event, Known(chosen, HEAD, None), "")
    deleted = Event("delete", NamedRepository(default_branch="trunk"), branch("main"), "deleted")
    assert "can be removed only with its repository" in decide(deleted, Known(chosen, HEAD, None), "")


@pytest.mark.parametrize(
    ("ref", "rules"),
    [
        (branch("dev"), NOTHING_NAMED),
        (branch("release/2"), RULES),
        (Ref("tag", "v2"), RULES),
        (Ref("pull", "5"), NOTHING_NAMED),
        (Ref("pull", "9"), RULES),
    ],
)
def test_what_is_indexed_or_named_by_the_settings_is_indexed(ref, rules):
    wish = told(ref, rules=rules)
    assert isinstance(wish, JobRequest)
    assert (wish.ref, wish.candidates, wish.kind) == (ref.key, (ref,), "index")


@pytest.mark.parametrize(
    ("ref", "rules"),
    [
        (branch("feature"), NOTHING_NAMED),
        (branch("left"), NOTHING_NAMED),
        (branch("v2"), RULES),
        (Ref("tag", "release/2x"), NOTHING_NAMED),
        (Ref("pull", "9"), NOTHING_NAMED),
    ],
)
def test_other_versions_are_left_alone_with_a_reason(ref, rules):
    assert "neither the default branch nor indexed" in told(ref, rules=rules)


def test_who_asks_gets_what_the_settings_do_not_name():
    wish = told(branch("x"), asked=True, alternatives=(Ref("tag", "x"),))
    assert isinstance(wish, JobRequest)
    assert wish.candidates == (branch("x"), Ref("tag", "x"))


def test_a_deleted_version_is_looked_for_at_the_origin_and_a_closed_pull_request_is_removed():
    gone = told(branch("dev"), "deleted", commit="0" * 40)
    closed = told(Ref("pull", "5"), "closed")
    assert isinstance(gone, JobRequest) and isinstance(closed, JobRequest)
    assert (gone.kind, gone.commit, closed.kind) == ("index", "0" * 40, "remove")


def test_what_is_not_there_is_not_removed():
    assert told(branch("feature"), "deleted", rules=RULES) == "branch feature is not indexed"
    assert told(Ref("pull", "9"), "closed", rules=RULES) == "pull request 9 is not indexed"
    assert "can be removed only with its repository" in told(branch("main"), "deleted")


@pytest.mark.parametrize(
    "origin",
    [
        "https://host/owner/core.git",
        "git@host:owner/core.git",
        "ssh://git@HOST/Owner/Core",
        "https://user:secret@host:443/owner/core/",
    ],
)
def test_a_repository_is_found_by_any_spelling_of_its_origin(origin):
    assert find(NamedRepository(("https://elsewhere/x", origin)), {"core": CORE}) == CORE
    assert find(NamedRepository(("https://host/owner/other",)), {"core": CORE}) is None
    assert find(NamedRepository(("https://[broken",)), {"core": CORE}) is None
