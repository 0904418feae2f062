"""One large import by several worker processes, some of which die."""

import os
import signal

import numpy as np
import pytest

from bench.acceptance.processes import tree
from codequarry.ingest.fsck.versions import check_version
from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.shared.catalog.ledger import read_head, read_transaction
from codequarry.shared.jobs.job import JobRequest
from codequarry.shared.jobs.job_list import read_job

FILES = {
    f"src/d{at % 17}/f{at}.py": f'"""Step {at}."""\n\n\ndef step_{at}(x):\n    return x + {at}\n' for at in range(500)
}
SHARED = {"indexing.batch_files": 10, "queue.share_files": 50}


def contents(store):
    """Return the chunks of all rows with their vectors."""
    [timeline] = read_head(store).timelines
    rows = [stored.row for stored in store.history(timeline) if hasattr(stored, "row")]
    vectors = store.cached_vectors({row.vector_key for row in rows})
    return {(row.chunk.path, row.chunk.blob, row.chunk.id, row.chunk.text): vectors[row.vector_key] for row in rows}


def check_same(crew, repository, make_workshop) -> None:
    alone = make_workshop("alone")
    index_repository(IndexRequest(repository.origin), alone)
    made, expected = contents(crew.store), contents(alone.store)
    assert made.keys() == expected.keys()
    assert all(np.abs(made[key] - expected[key]).max() < 1e-6 for key in made)
    # Fetches the commit into the test's own mirror, and changes nothing in the index.
    assert not index_repository(IndexRequest(repository.origin), crew.workshop).changed
    head = read_head(crew.store)
    timeline = head.defaults["core"]
    record = read_transaction(crew.store, timeline, head.timelines[timeline].published)
    assert check_version(record, crew.workshop, full_text=True).problems == ()
    assert not head.open
    assert crew.store.list_documents("batch:") == crew.store.list_documents("chore:") == []


def helper_of(crew, job):
    """Return the pid of a helper that has claimed an unwritten batch, or None."""
    holder = read_job(crew.store, job.id).holder.split(" ")[2:3]
    for document in crew.store.list_documents("batch:"):
        claimant = str(document.body.get("claimant", "")).split(" ")
        if len(claimant) > 2 and holder and claimant[2] != holder[0] and not document.body["written"]:
            return int(claimant[2])
    return None


def shared_import(crew, repository, workers=3):
    """Start an import that several workers share, and return its job and a helper."""
    crew.start_beat()
    for at in range(workers):
        crew.start_worker(**crew.own_home(at))
    job = crew.submit(JobRequest("core", repository.origin))
    helpers = []
    crew.until(lambda: helpers.append(helper_of(crew, job)) or helpers[-1], "no worker helped")
    return job, helpers[-1]


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def kill_a_helper(crew, repository):
    job, helper = shared_import(crew, repository)
    started = tree(helper)
    os.kill(helper, signal.SIGKILL)
    [done] = crew.ended([job])
    assert (done.state, done.attempts) == ("done", 1)
    assert len(started) > 1
    crew.until(lambda: not any(map(is_running, started)), "its child processes still run")


def test_three_workers_write_the_same_as_one_although_a_helper_is_killed(make_crew, make_repository, make_workshop):
    crew = make_crew(SHARED)
    repository = make_repository("core", FILES)
    kill_a_helper(crew, repository)
    check_same(crew, repository, make_workshop)


def test_a_terminated_helper_returns_its_batches_and_leaves_nothing_running(make_crew, make_repository, make_workshop):
    crew = make_crew(SHARED)
    repository = make_repository("core", FILES)
    job, helper = shared_import(crew, repository)
    worker = next(process for process in crew.processes if helper in tree(process.pid))
    started = tree(worker.pid)
    worker.terminate()
    assert worker.wait(60) == 0
    crew.until(lambda: not any(map(is_running, started)), "its child processes still run")
    [done] = crew.ended([job])
    assert (done.state, done.attempts) == ("done", 1)
    check_same(crew, repository, make_workshop)


@pytest.mark.opensearch
def test_on_opensearch_each_worker_has_its_own_mirrors_and_the_result_is_the_same(
    make_crew, make_repository, make_workshop, opensearch_node, embedder
):
    with opensearch_node.empty_index(embedder.dimension) as index:
        place = {"store": "opensearch", "opensearch.urls": index.urls, "opensearch.index": index.index}
        crew = make_crew(SHARED | place)
        repository = make_repository("core", FILES)
        kill_a_helper(crew, repository)
        check_same(crew, repository, make_workshop)
        assert len(list(crew.folder.glob("home-*/mirrors/core-*.git"))) >= 2
        crew.stop()


def test_a_killed_coordinator_is_replaced_by_another(make_crew, make_repository, make_workshop):
    crew = make_crew(SHARED)
    repository = make_repository("core", FILES)
    crew.start_beat()
    for _ in range(2):
        crew.start_worker()
    job = crew.submit(JobRequest("core", repository.origin))
    crew.until(lambda: len(crew.store.list_documents("batch:")) > 60, "the import did not start")
    os.kill(int(read_job(crew.store, job.id).holder.split(" ")[2]), signal.SIGKILL)
    [done] = crew.ended([job])
    assert (done.state, done.attempts) == ("done", 2)
    check_same(crew, repository, make_workshop)
