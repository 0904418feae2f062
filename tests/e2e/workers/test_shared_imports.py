"""One big import by several worker processes, some of which die."""

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
    rows = [one.row for one in store.history(timeline) if hasattr(one, "row")]
    vectors = store.cached_vectors({row.vector_key for row in rows})
    return {(row.chunk.path, row.chunk.blob, row.chunk.id, row.chunk.text): vectors[row.vector_key] for row in rows}


def check_same(crew, repository, make_workshop) -> None:
    alone = make_workshop("alone")
    index_repository(IndexRequest(repository.origin), alone)
    made, expected = contents(crew.store), contents(alone.store)
    assert made.keys() == expected.keys()
    assert all(np.abs(made[key] - expected[key]).max() < 1e-6 for key in made)
    # Brings the commit into a mirror of the test's own, and nothing into the index.
    assert not index_repository(IndexRequest(repository.origin), crew.workshop).changed
    head = read_head(crew.store)
    timeline = head.defaults["core"]
    record = read_transaction(crew.store, timeline, head.timelines[timeline].published)
    assert check_version(record, crew.workshop, full_text=True).problems == ()
    assert not head.open
    assert crew.store.list_documents("batch:") == crew.store.list_documents("chore:") == []


def helper_of(crew, job):
    """Return the id of a process that takes part and has a batch in hand; None where there is none just now."""
    holder = read_job(crew.store, job.id).holder.split(" ")[2:3]
    for document in crew.store.list_documents("batch:"):
        claimant = str(document.body.get("claimant", "")).split(" ")
        if len(claimant) > 2 and holder and claimant[2] != holder[0] and not document.body["written"]:
            return int(claimant[2])
    return None


def shared_import(crew, repository, workers=3):
    """Begin an import that several share, and return its job and somebody who takes part."""
    crew.start_beat()
    for at in range(workers):
        crew.start_worker(**crew.own_home(at))
    job = crew.submit(JobRequest("core", repository.origin))
    helpers = []
    crew.until(lambda: helpers.append(helper_of(crew, job)) or helpers[-1], "nobody took part")
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
    crew.until(lambda: not any(map(is_running, started)), "what it had started runs on")


def test_three_workers_write_what_one_writes_although_a_helper_is_killed(make_crew, make_repository, make_workshop):
    crew = make_crew(SHARED)
    repository = make_repository("core", FILES)
    kill_a_helper(crew, repository)
    check_same(crew, repository, make_workshop)


def test_a_helper_that_is_told_to_end_gives_its_batches_back_and_leaves_nothing_running(
    make_crew, make_repository, make_workshop
):
    crew = make_crew(SHARED)
    repository = make_repository("core", FILES)
    job, helper = shared_import(crew, repository)
    worker = next(process for process in crew.processes if helper in tree(process.pid))
    started = tree(worker.pid)
    worker.terminate()
    assert worker.wait(60) == 0
    crew.until(lambda: not any(map(is_running, started)), "what it had started runs on")
    [done] = crew.ended([job])
    assert (done.state, done.attempts) == ("done", 1)
    check_same(crew, repository, make_workshop)


@pytest.mark.opensearch
def test_the_same_on_opensearch_where_each_worker_has_its_own_mirrors(
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


def test_a_coordinator_that_is_killed_is_followed_by_another(make_crew, make_repository, make_workshop):
    crew = make_crew(SHARED)
    repository = make_repository("core", FILES)
    crew.start_beat()
    for _ in range(2):
        crew.start_worker()
    job = crew.submit(JobRequest("core", repository.origin))
    crew.until(lambda: len(crew.store.list_documents("batch:")) > 60, "the import did not begin")
    os.kill(int(read_job(crew.store, job.id).holder.split(" ")[2]), signal.SIGKILL)
    [done] = crew.ended([job])
    assert (done.state, done.attempts) == ("done", 2)
    check_same(crew, repository, make_workshop)
