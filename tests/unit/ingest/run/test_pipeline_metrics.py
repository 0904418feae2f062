"""Metrics of an index run: chunks, files, embeddings, transactions, lag, and outcomes of jobs."""

from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta

import pytest

from codequarry.ingest.run import pipeline
from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.ingest.workers import job_runner
from codequarry.ingest.workers.job_runner import run_job
from codequarry.shared.catalog.documents import put_document
from codequarry.shared.catalog.repositories import Repository, claim_repository, read_ref_head
from codequarry.shared.errors import EmbedderUnavailable, LimitExceeded
from codequarry.shared.jobs.job import JobRequest
from codequarry.shared.jobs.job_list import claim, submit
from codequarry.shared.telemetry import metrics


@pytest.fixture
def repository(make_repository):
    files = {f"src/f{number}.py": f"def f{number}():\n    return {number}\n" for number in range(3)}
    return make_repository(files={**files, "logo.png": b"\x89PNG\0\0"})


@pytest.fixture
def grown():
    """Return a function that returns the growth of a series."""

    def samples():
        lines = metrics.render().decode().splitlines()
        return {series: float(value) for series, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}

    metrics.start_counting()
    before = samples()
    return lambda name: samples().get(f"codequarry_{name}", 0.0) - before.get(f"codequarry_{name}", 0.0)


def test_a_run_counts_written_chunks_and_reused_embeddings(repository, make_workshop, grown):
    workshop = make_workshop()
    report = index_repository(IndexRequest(repository.origin), workshop)
    assert grown("chunks_written_total") == report.chunks_written > 0
    assert grown('files_total{verdict="indexed"}') == 3
    assert grown('files_total{verdict="binary"}') == 1
    embedded = report.embedded + report.log_embedded
    assert grown("embeddings_total") == embedded
    assert grown("embedding_tokens_total") == report.tokens + report.log_tokens
    assert grown('embed_seconds_count{of="chunks"}') >= 1
    assert grown('transactions_total{result="published"}') == 1
    index_repository(IndexRequest(repository.origin, full=True), workshop)
    assert grown("embeddings_total") == embedded
    assert grown("embedding_cache_hits_total") == embedded


def test_an_aborted_transaction_is_counted(repository, make_workshop, grown):
    with pytest.raises(LimitExceeded):
        index_repository(IndexRequest(repository.origin, max_chunks=1), make_workshop())
    assert (grown('transactions_total{result="aborted"}'), grown('transactions_total{result="published"}')) == (1, 0)


def test_the_lag_of_a_change_starts_when_the_change_was_reported(repository, make_workshop, grown):
    workshop = make_workshop()
    index_repository(IndexRequest(repository.origin), workshop)
    assert (grown('index_lag_seconds_count{run="import"}'), grown('index_lag_seconds_count{run="change"}')) == (1, 0)
    repository.write("src/f0.py", "def f0():\n    return 100\n")
    repository.commit()
    seen_at = (datetime.now(UTC) - timedelta(seconds=1000)).isoformat()
    index_repository(IndexRequest(repository.origin, seen_at=seen_at), workshop)
    assert grown('index_lag_seconds_count{run="change"}') == 1
    assert 1000 <= grown('index_lag_seconds_sum{run="change"}') < 1100
    index_repository(IndexRequest(repository.origin, seen_at=seen_at), workshop)
    assert grown('index_lag_seconds_count{run="change"}') == 1, "a run that publishes nothing has no lag"


def test_the_lag_of_a_fetched_change_starts_with_the_first_fetch(repository, make_workshop, grown, monkeypatch):
    workshop = make_workshop()
    index_repository(IndexRequest(repository.origin), workshop)
    repository.write("src/f0.py", "def f0():\n    return 100\n")
    repository.commit()

    def fail(*_):
        raise EmbedderUnavailable("it is down")

    with monkeypatch.context() as broken:
        broken.setattr(pipeline, "transact", fail)
        with pytest.raises(EmbedderUnavailable):
            index_repository(IndexRequest(repository.origin), workshop)
    seen = read_ref_head(workshop.store, "project", "")
    an_hour_ago = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    put_document(workshop.store, seen.document_key, asdict(replace(seen, seen_at=an_hour_ago)))
    index_repository(IndexRequest(repository.origin), workshop)
    assert 3600 <= grown('index_lag_seconds_sum{run="change"}') < 3700
    assert grown('index_lag_seconds_count{run="change"}') == 1


def test_job_runs_are_counted_by_outcome(repository, make_workshop, grown, monkeypatch):
    workshop = make_workshop()
    claim_repository(workshop.store, Repository("project", repository.origin, "main"))

    def do(**fields):
        job, _ = submit(workshop.store, JobRequest("project", repository.origin, **fields))
        return run_job(claim(workshop.store, job.id, "me"), "me", lambda: workshop)

    do(trigger="webhook")
    assert grown('jobs_ended_total{kind="index",state="done",trigger="webhook"}') == 1
    assert grown('job_seconds_count{kind="index",trigger="webhook"}') == 1

    def fail(*_):
        raise EmbedderUnavailable("it is down")

    monkeypatch.setattr(job_runner, "index_repository", fail)
    assert do(trigger="poll").state == "queued"
    assert grown('jobs_ended_total{kind="index",state="queued",trigger="poll"}') == 1
    assert grown('job_failures_total{reason="EmbedderUnavailable"}') == 1
