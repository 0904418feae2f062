"""Renaming a repository keeps every version that can be indexed again, and is never visible half-done."""

import pytest

from codequarry.ingest.git.origins import parse_origin
from codequarry.ingest.run import rename as renaming
from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.ingest.run.rename import rename_repository
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.catalog.polls import read_poll
from codequarry.shared.catalog.repositories import list_repositories
from codequarry.shared.errors import NotIndexed, Stopped, UsageError
from codequarry.shared.jobs.job import JobRequest
from codequarry.shared.jobs.job_list import list_jobs, read_job, submit
from codequarry.shared.repositories.mirror_folders import mirror_folder
from codequarry.shared.timestamps import now
from codequarry.shared.versions.refs import Ref


@pytest.fixture
def repository(make_repository):
    repository = make_repository(files={"a.py": "def first():\n    return 1\n"})
    repository.git("branch", "dev")
    repository.git("tag", "v1")
    return repository


@pytest.fixture
def workshop(make_workshop, repository):
    workshop = make_workshop()
    for ref in (None, Ref("branch", "dev"), Ref("tag", "v1")):
        index_repository(IndexRequest(repository.origin, ref), workshop)
    return workshop


def names(workshop):
    return [repository.name for repository in list_repositories(workshop.store)]


def versions(workshop, repo):
    head = read_head(workshop.store)
    return {head.timelines[timeline].ref for timeline in head.of_repo(repo)}


def test_all_versions_get_the_new_name_and_the_old_name_is_gone(workshop, repository):
    reports = []
    renamed = rename_repository("project", "better", workshop, reports.append)
    assert (renamed.versions, renamed.lost) == (("main", "dev", "v1"), ())
    assert names(workshop) == ["better"]
    assert versions(workshop, "better") == {"", "refs/heads/dev", "refs/tags/v1"}
    assert versions(workshop, "project") == set()
    assert mirror_folder(parse_origin(repository.origin), workshop.settings.home).exists()
    assert index_repository(IndexRequest(repository.origin), workshop).repo == "better"


def test_nothing_is_embedded_again(workshop, monkeypatch):
    embedded = []
    real = renaming.index_repository

    def counted(*arguments):
        report = real(*arguments)
        embedded.append(report.embedded)
        return report

    monkeypatch.setattr(renaming, "index_repository", counted)
    rename_repository("project", "better", workshop)
    assert embedded == [0, 0, 0]


def test_an_interrupted_rename_keeps_the_old_name_and_can_be_repeated(workshop, monkeypatch):
    real = renaming.index_repository

    def fail_at_the_second(request, *rest):
        if request.ref:
            raise Stopped("stopped")
        return real(request, *rest)

    monkeypatch.setattr(renaming, "index_repository", fail_at_the_second)
    with pytest.raises(Stopped):
        rename_repository("project", "better", workshop)
    assert names(workshop) == ["better", "project"]
    assert versions(workshop, "project") == {"", "refs/heads/dev", "refs/tags/v1"}
    monkeypatch.undo()
    rename_repository("project", "better", workshop)
    assert names(workshop) == ["better"]


def test_a_version_that_the_origin_no_longer_has_is_reported(workshop, repository):
    repository.git("branch", "-D", "dev")
    renamed = rename_repository("project", "better", workshop)
    assert (renamed.versions, renamed.lost) == (("main", "v1"), ("dev",))


def test_an_unavailable_name_is_refused(workshop, make_repository):
    other = make_repository("other", {"b.py": "b = 1\n"})
    index_repository(IndexRequest(other.origin), workshop)
    for name in ("other", "a b", "project"):
        with pytest.raises(UsageError):
            rename_repository("project", name, workshop)
    with pytest.raises(NotIndexed, match="indexed: other, project"):
        rename_repository("nothing", "better", workshop)
    assert names(workshop) == ["other", "project"]


def test_queued_jobs_are_moved_to_the_new_name(workshop, repository):
    """Otherwise a push during the renaming would be lost. The origin is also polled soon, to catch ended jobs."""
    store = workshop.store
    waits, _ = submit(store, JobRequest("project", repository.origin, "refs/heads/dev", (Ref("branch", "dev"),)))
    other, _ = submit(store, JobRequest("other", repository.origin + "x"))
    rename_repository("project", "better", workshop)
    assert read_job(store, waits.id).state == "cancelled"
    queued = {(job.repo, job.ref, job.refs) for job in list_jobs(store, ("queued",))}
    assert queued == {("better", "refs/heads/dev", (Ref("branch", "dev"),)), (other.repo, "", ())}
    assert read_poll(store, "better").next_at <= now()


def test_an_interrupted_rename_does_not_lose_queued_jobs(workshop, repository, monkeypatch):
    store = workshop.store
    submit(store, JobRequest("project", repository.origin, "refs/heads/dev", (Ref("branch", "dev"),)))

    def end(*_):
        raise Stopped("stopped")

    monkeypatch.setattr(renaming, "remove_repository", end)
    with pytest.raises(Stopped):
        rename_repository("project", "better", workshop)
    assert [(job.repo, job.ref) for job in list_jobs(store, ("queued",))] == [("better", "refs/heads/dev")]
