"""Outcomes of a job: done, failed, retried, given back, cancelled."""

import threading
import time
from dataclasses import replace

import pytest
from billiard.exceptions import SoftTimeLimitExceeded
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from structlog.contextvars import get_contextvars

from codequarry.ingest.git.remote import ANSWER_SECONDS
from codequarry.ingest.removal.removal import remove_repository
from codequarry.ingest.run import pipeline
from codequarry.ingest.run.rename import rename_repository
from codequarry.ingest.workers import job_runner, running_job
from codequarry.ingest.workers.job_runner import FOLLOWING, run_job
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.catalog.merge_bases import read_merge_base
from codequarry.shared.catalog.pull_requests import read_pull_request
from codequarry.shared.catalog.repositories import Repository, claim_repository, read_repository
from codequarry.shared.errors import (
    EmbedderUnavailable,
    GitError,
    Interrupted,
    LeaseHeld,
    NotIndexed,
    Stopped,
    StoreFull,
)
from codequarry.shared.jobs.job import Job, JobRequest
from codequarry.shared.jobs.job_list import change_job, claim, claim_next, list_jobs, read_job, submit
from codequarry.shared.jobs.lifecycle import cancelled
from codequarry.shared.telemetry.traces import start_tracing, stop_tracing
from codequarry.shared.versions.refs import Ref


@pytest.fixture
def repository(make_repository):
    return make_repository(
        files={f"src/f{number}.py": f"def f{number}():\n    return {number}\n" for number in range(8)}
    )


@pytest.fixture
def workshop(make_workshop):
    return make_workshop()


@pytest.fixture
def do(repository, workshop):
    """Return a function that submits a job, claims it and runs it."""

    def run(*candidates: Ref, **fields) -> Job | None:
        request = JobRequest("project", repository.origin, candidates[0].value if candidates else "", candidates)
        request = replace(request, **fields)
        if request.trigger in FOLLOWING and not read_head(workshop.store).counter:
            claim_repository(workshop.store, Repository(request.repo, request.origin, ""))
        job, _ = submit(workshop.store, request)
        taken = claim(workshop.store, job.id, "me")
        assert taken is not None
        return run_job(taken, "me", lambda: workshop)

    return run


def test_a_job_ends_with_the_commit_that_it_published(do, repository, workshop):
    job = do()
    assert (job.state, job.commit, job.percent) == ("done", repository.git("rev-parse", "main").decode().strip(), 100)
    assert "project" in read_head(workshop.store).defaults


def test_the_first_candidate_that_the_origin_has_is_indexed(do, repository):
    do()
    repository.git("tag", "v1")
    assert do(Ref("branch", "v1"), Ref("tag", "v1")).state == "done"


def test_a_job_finds_a_merge_base(do, repository, workshop):
    base = do().commit
    repository.git("checkout", "--quiet", "-b", "dev")
    dev = repository.commit("dev")
    repository.git("checkout", "--quiet", "main")
    main = repository.commit("main")
    commits = (Ref("commit", main), Ref("commit", dev), Ref("pull", "7"))
    job = do(*commits, kind="merge-base", trigger="search")
    assert (job.state, job.commit) == ("done", base)
    repo_id = read_repository(workshop.store, "project").id
    assert read_merge_base(workshop.store, repo_id, main, dev) == base
    assert read_pull_request(workshop.store, repo_id, "7").base == base
    assert do(Ref("commit", main), Ref("commit", "f" * 40), kind="merge-base", trigger="search").state == "failed"


def test_the_job_of_a_deleted_version_has_no_commit(do, repository):
    do()
    repository.git("branch", "dev")
    assert do(Ref("branch", "dev")).commit
    repository.git("branch", "-D", "dev")
    job = do(Ref("branch", "dev"), commit="0" * 40)
    assert (job.state, job.commit) == ("done", "")


@pytest.mark.parametrize(("trigger", "state"), [("webhook", "done"), ("poll", "done"), ("request", "failed")])
def test_a_branch_deleted_before_its_push_was_handled_is_not_a_failure(do, trigger, state):
    """Bots create branches that live for seconds."""
    do()
    job = do(Ref("branch", "renovate"), trigger=trigger, commit="1" * 40)
    assert (job.state, job.commit) == (state, "")


def test_a_missing_branch_fails_the_job_without_retries(do):
    do()
    job = do(Ref("branch", "nowhere"))
    assert (job.state, job.attempts) == ("failed", 1)
    assert "has no branch nowhere" in job.error


def test_a_repository_is_removed(do, workshop):
    do()
    assert do(kind="remove").state == "done"
    assert "project" not in read_head(workshop.store).defaults


@pytest.mark.parametrize(
    ("error", "attempts", "waits"),
    [
        (EmbedderUnavailable("it is down"), 0, True),
        (StoreFull("no room"), 0, True),
        (GitError("no network"), 1, True),
        (LeaseHeld("somebody else"), 0, True),
        (NotIndexed("x"), 1, False),
    ],
)
def test_only_transient_failures_are_retried(do, monkeypatch, error, attempts, waits):
    def fail(*_):
        raise error

    monkeypatch.setattr(job_runner, "index_repository", fail)
    job = do()
    assert (job.state, job.attempts) == ("queued" if waits else "failed", attempts)


@pytest.mark.parametrize("error", [Interrupted("the worker ends"), LeaseHeld("x"), NotIndexed("x")])
def test_a_cancelled_job_ends_even_if_its_run_fails(do, workshop, monkeypatch, error):
    def cancel_and_fail(*_):
        [job] = list_jobs(workshop.store)
        change_job(workshop.store, job.id, cancelled)
        raise error

    monkeypatch.setattr(job_runner, "index_repository", cancel_and_fail)
    assert do().state == "cancelled"


def test_ctrl_c_gives_the_job_back(do, workshop, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(job_runner, "index_repository", interrupt)
    with pytest.raises(KeyboardInterrupt):
        do()
    [job] = list_jobs(workshop.store)
    assert (job.state, job.attempts, job.holder) == ("queued", 0, "")


def test_an_unexpected_error_is_retried_and_its_text_hidden(do, monkeypatch):
    def fail(*_):
        raise ValueError("secret")

    monkeypatch.setattr(job_runner, "index_repository", fail)
    job = do()
    assert (job.state, job.error) == ("queued", f"an unexpected error (ValueError); see the log for job {job.id}")


def test_a_job_beyond_the_soft_limit_is_retried(do, workshop, monkeypatch):
    """Rows that it has written are kept for the next attempt."""
    transact = pipeline.transact

    def take_long(run, held, placer):
        run.watch.say = lambda _: raise_limit()
        return transact(run, held, placer)

    def raise_limit():
        raise SoftTimeLimitExceeded

    monkeypatch.setattr(pipeline, "transact", take_long)
    job = do()
    assert (job.state, job.attempts) == ("queued", 1)
    assert job.error == "it took longer than [queue] soft_limit_seconds; the next attempt continues from there"
    assert len(read_head(workshop.store).open) == 1


def test_cancelling_a_running_job_aborts_its_transaction(do, repository, workshop, monkeypatch):
    monkeypatch.setattr(running_job, "BEAT_SECONDS", 0.01)
    transact = pipeline.transact

    def cancel_first(run, held, placer):
        [job] = workshop.store.list_documents("job:")
        change_job(workshop.store, job.body["id"], cancelled)
        deadline = time.monotonic() + 30
        with pytest.raises(Stopped):
            while time.monotonic() < deadline:
                run.watch.say("scanning")
        return transact(run, held, placer)

    monkeypatch.setattr(pipeline, "transact", cancel_first)
    job = do()
    assert job.state == "cancelled"
    head = read_head(workshop.store)
    assert (head.open, head.defaults) == ({}, {})


@pytest.mark.parametrize("how", ["cancelled", "its worker ends"])
def test_a_job_can_end_while_it_waits_for_its_origin(workshop, silent_server, monkeypatch, how):
    """A clone may take an hour."""
    monkeypatch.setattr(running_job, "FIRST_BEAT_SECONDS", 0.01)
    origin = f"http://127.0.0.1:{silent_server}/team/large.git"
    job, _ = submit(workshop.store, JobRequest("large", origin))
    if how == "cancelled":
        threading.Timer(0.2, lambda: change_job(workshop.store, job.id, cancelled)).start()
        monkeypatch.setattr(running_job, "BEAT_SECONDS", 0.05)
    began = time.monotonic()

    def attend(*_):
        if how != "cancelled" and time.monotonic() - began > 0.2:
            raise Interrupted("the worker ends")

    over = run_job(claim(workshop.store, job.id, "me"), "me", lambda: workshop, attend)
    assert over.state == ("cancelled" if how == "cancelled" else "queued")
    assert time.monotonic() - began < ANSWER_SECONDS


@pytest.mark.parametrize("phase", ["scanning", "indexing"])
def test_a_cancelled_job_publishes_nothing_even_between_heartbeats(repository, workshop, monkeypatch, phase):
    monkeypatch.setattr(running_job, "FIRST_BEAT_SECONDS", 3600.0)
    monkeypatch.setattr(running_job, "BEAT_SECONDS", 3600.0)
    job, _ = submit(workshop.store, JobRequest("project", repository.origin))

    def attend(_, progress):
        if progress.phase == phase and not read_job(workshop.store, job.id).stopping:
            change_job(workshop.store, job.id, cancelled)

    over = run_job(claim(workshop.store, job.id, "me"), "me", lambda: workshop, attend)
    assert over.state == "cancelled"
    assert (read_head(workshop.store).defaults, read_head(workshop.store).open) == ({}, {})


def test_a_run_that_lost_its_job_does_not_change_it(do, workshop, monkeypatch):
    def lose(*_):
        [job] = workshop.store.list_documents("job:")
        change_job(workshop.store, job.body["id"], lambda known: replace(known, holder="other"))
        raise NotIndexed("x")

    monkeypatch.setattr(job_runner, "index_repository", lose)
    assert do() is None
    [job] = workshop.store.list_documents("job:")
    assert read_job(workshop.store, job.body["id"]).holder == "other"


def test_a_repository_that_is_removed_during_a_job_is_not_indexed_again(do, repository, workshop, monkeypatch):
    do()
    repository.write("src/f0.py", "def f0():\n    return 10\n")
    repository.commit()

    def remove_then_transact(*arguments):
        remove_repository("project", workshop.store, workshop.settings)
        return transact(*arguments)

    transact = pipeline.transact
    monkeypatch.setattr(pipeline, "transact", remove_then_transact)
    job = do()
    assert (job.state, job.attempts) == ("failed", 1)
    assert "'project' was removed or changed during this run" in job.error
    assert read_repository(workshop.store, "project") is None


@pytest.mark.parametrize("trigger", ["request", "webhook", "sync"])
def test_a_branch_requested_first_does_not_become_the_default_branch(do, repository, workshop, trigger):
    """A push may overtake the first import, and branches of the settings are more urgent than it."""
    repository.git("branch", "dev")
    assert do(Ref("branch", "dev"), trigger=trigger).state == "done"
    head = read_head(workshop.store)
    assert head.default_branch("project") == "main"
    assert read_repository(workshop.store, "project").follows_head
    assert {state.ref for state in head.timelines.values()} == {"", "refs/heads/dev"}
    assert do(Ref("branch", "main")).state == "done"
    assert read_head(workshop.store).default_branch("project") == "main"


def test_a_job_continues_the_trace_and_request_id_of_its_request(repository, workshop):
    exporter, trace, parent = InMemorySpanExporter(), "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    asked = JobRequest(
        "project", repository.origin, request_id="asked-here", traceparent=f"00-{trace}-{parent}-01"
    )  # fmt: skip
    submit(workshop.store, asked)
    taken = claim_next(workshop.store, "me")
    bound = []
    start_tracing("test", exporter)
    try:
        run_job(taken, "me", lambda: workshop, lambda *_: bound.append(get_contextvars()["request_id"]))
    finally:
        stop_tracing()
    span = next(finished for finished in exporter.get_finished_spans() if finished.name == "job")
    assert (f"{span.context.trace_id:032x}", f"{span.parent.span_id:016x}") == (trace, parent)
    assert {finished.name for finished in exporter.get_finished_spans()} >= {"job.fetching", "job.file_history"}
    assert set(bound) == {"asked-here"}


@pytest.mark.parametrize("trigger", ["webhook", "poll", "search"])
def test_following_jobs_do_not_restore_a_removed_repository(do, workshop, trigger):
    """Such as a push that arrived during the removal."""
    do()
    remove_repository("project", workshop.store, workshop.settings)
    job = do(trigger=trigger)
    assert (job.state, job.error) == ("cancelled", "'project' was removed from the index after this job was submitted")
    assert read_repository(workshop.store, "project") is None
    assert do(trigger="request").state == "done"


def test_a_job_for_a_renamed_repository_uses_the_new_name(do, repository, workshop):
    do()
    rename_repository("project", "renamed", workshop)
    repository.write("src/f0.py", "def f0():\n    return 10\n")
    commit = repository.commit()
    job = do(trigger="webhook")
    head = read_head(workshop.store)
    assert (job.state, job.commit) == ("done", commit)
    assert [(state.repo, state.commit) for state in head.timelines.values()] == [("renamed", commit)]
