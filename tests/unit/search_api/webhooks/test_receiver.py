"""Deciding which deliveries become jobs."""

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
NO_RULES = None
RULES = RepositorySettings(origin="https://host/owner/core", refs=("release/*", "refs/tags/v*"), pulls=True)


def decision(ref, change="moved", rules=NO_RULES, head=HEAD, **fields):
    return decide(Event("push", NamedRepository(), ref, change, **fields), Known(CORE, head, rules), "webhook github")


def branch(name):
    return Ref("branch", name)


def test_the_default_branch_is_indexed_with_or_without_its_name():
    for job in (decision(branch("main"), commit="c9"), decision(None, commit="c9")):
        assert isinstance(job, JobRequest)
        assert (job.ref, job.candidates, job.commit, job.priority) == ("", (), "c9", 3)


def test_before_the_first_import_the_host_names_the_default_branch():
    event = Event("push", NamedRepository(default_branch="trunk"), branch("trunk"), "moved")
    job = decide(event, Known(Repository("core", "https://host/owner/core", ""), Head(), None), "")
    assert isinstance(job, JobRequest)
    assert (job.ref, job.priority) == ("", 6)


@pytest.mark.parametrize(
    ("ref", "change", "commit", "wanted"),
    [
        (branch("trunk"), "moved", "c9", "c9"),
        (branch("main"), "moved", "c9", "c9"),
        (branch("main"), "deleted", "0" * 40, ""),
        (None, "moved", "", ""),
    ],
)
def test_a_changed_default_branch_is_noticed_in_a_delivery(ref, change, commit, wanted):
    """The job asks the origin for its default branch when it runs."""
    event = Event("push", NamedRepository(default_branch="trunk"), ref, change, commit)
    job = decide(event, Known(CORE, HEAD, None), "")
    assert isinstance(job, JobRequest)
    assert (job.ref, job.candidates, job.commit) == ("", (), wanted)


def test_a_chosen_default_branch_stays_whatever_the_host_names():
    event = Event("push", NamedRepository(default_branch="trunk"), branch("trunk"), "moved")
    chosen = replace(CORE, follows_head=False)
    assert "neither the default branch nor indexed" in decide(event, Known(chosen, HEAD, None), "")
    deleted = Event("delete", NamedRepository(default_branch="trunk"), branch("main"), "deleted")
    assert "can be removed only with its repository" in decide(deleted, Known(chosen, HEAD, None), "")


@pytest.mark.parametrize(
    ("ref", "rules"),
    [
        (branch("dev"), NO_RULES),
        (branch("release/2"), RULES),
        (Ref("tag", "v2"), RULES),
        (Ref("pull", "5"), NO_RULES),
        (Ref("pull", "9"), RULES),
    ],
)
def test_versions_that_are_indexed_or_in_the_settings_are_indexed(ref, rules):
    job = decision(ref, rules=rules)
    assert isinstance(job, JobRequest)
    assert (job.ref, job.candidates, job.kind) == (ref.key, (ref,), "index")


@pytest.mark.parametrize(
    ("ref", "rules"),
    [
        (branch("feature"), NO_RULES),
        (branch("left"), NO_RULES),
        (branch("v2"), RULES),
        (Ref("tag", "release/2x"), NO_RULES),
        (Ref("pull", "9"), NO_RULES),
    ],
)
def test_other_versions_are_ignored_with_a_reason(ref, rules):
    assert "neither the default branch nor indexed" in decision(ref, rules=rules)


def test_an_explicit_request_indexes_any_version():
    job = decision(branch("x"), asked=True, alternatives=(Ref("tag", "x"),))
    assert isinstance(job, JobRequest)
    assert job.candidates == (branch("x"), Ref("tag", "x"))


def test_a_deleted_version_is_checked_and_a_closed_pull_request_is_removed():
    gone = decision(branch("dev"), "deleted", commit="0" * 40)
    closed = decision(Ref("pull", "5"), "closed")
    assert isinstance(gone, JobRequest) and isinstance(closed, JobRequest)
    assert (gone.kind, gone.commit, closed.kind) == ("index", "0" * 40, "remove")


def test_versions_that_are_not_indexed_are_not_removed():
    assert decision(branch("feature"), "deleted", rules=RULES) == "branch feature is not indexed"
    assert decision(Ref("pull", "9"), "closed", rules=RULES) == "pull request 9 is not indexed"
    assert "can be removed only with its repository" in decision(branch("main"), "deleted")


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
