"""`?index=true`: versions that a search names and the index lacks are indexed first."""

import threading
import time

import pytest

from codequarry.cli.session import embedded_worker
from codequarry.cli.session.embedded_worker import LocalIndexer
from codequarry.ingest.git.mirrors import open_access
from codequarry.ingest.git.origins import parse_origin
from codequarry.ingest.workers import running_job
from codequarry.search_api.http.app import create_app
from codequarry.search_api.http.request_context import EXTENSION
from codequarry.shared.catalog.repositories import Repository, save_repository
from codequarry.shared.errors import StoreUnavailable
from codequarry.shared.jobs import lifecycle
from codequarry.shared.jobs.job_list import read_job

pytestmark = pytest.mark.usefixtures("indexed")


@pytest.fixture(scope="module")
def worker(settings, store, embedder):
    """Yield a client of a service that indexes."""
    made = []

    def make(backend):
        made.append(LocalIndexer(backend))
        return made[-1]

    yield create_app(settings, store, embedder, make).test_client()
    for indexer in made:
        indexer.close()


@pytest.fixture(scope="module")
def branches(indexed):
    """Add branches and a tag to `core` that are not indexed."""
    core = indexed["core"]
    for name in ("fast", "slow", "third", "fourth", "fifth", "crowded"):
        core.git("checkout", "--quiet", "-b", name, "main")
        core.commit({f"{name}.py": f"def only_on_{name}():\n    return '{name}'\n"})
    core.git("tag", "v1")
    core.git("checkout", "--quiet", "main")
    return core


def ask(client, **fields):
    return client.post("/search-code?index=true", json={"query": "only_on", **fields})


def follow(client, job, until):
    """Return the first body of a job that satisfies a condition."""
    deadline = time.monotonic() + 60
    while not until(body := client.get(f"/jobs/{job}").get_json()):
        assert time.monotonic() < deadline, body
        time.sleep(0.05)
    return body


def test_an_unindexed_version_is_indexed_and_searched(worker, branches):
    response = ask(worker, query="only_on_fast", filters={"repo": "core", "branch": "fast"}, wait_ms=60_000)
    assert response.status_code == 200, response.text
    hit = response.get_json()["results"][0]
    assert (hit["path"], hit["ref"]) == ("fast.py", "fast")
    assert hit["commit"] == branches.git("rev-parse", "fast")


def test_after_the_wait_it_answers_with_a_job_to_follow(worker, branches):
    filters = {"repo": "core", "branch": "slow"}
    response = ask(worker, filters=filters, wait_ms=0)
    assert response.status_code == 202
    job = response.get_json()
    assert int(response.headers["Retry-After"]) > 0
    assert response.headers["Location"] == f"/jobs/{job['job_id']}"
    assert (job["repo"], job["ref"], job["state"]) == ("core", "slow", "queued")
    assert ask(worker, filters=filters, wait_ms=0).get_json()["job_id"] == job["job_id"]
    body = follow(worker, job["job_id"], lambda body: body["state"] in ("done", "failed"))
    assert (body["state"], body["error"]) == ("done", None)
    assert body["commit"] == branches.git("rev-parse", "slow")
    assert ask(worker, filters=filters).status_code == 200


def test_if_too_many_requests_wait_it_answers_with_the_job_at_once(worker, branches, monkeypatch):
    places = worker.application.extensions[EXTENSION].engine().waiting_places
    monkeypatch.setattr(places, "_free", threading.BoundedSemaphore(1))
    with places.taken(lambda _: None) as pause:
        pause(0)
        response = ask(worker, filters={"repo": "core", "branch": "crowded"}, wait_ms=60_000)
        assert response.status_code == 202
    follow(worker, response.get_json()["job_id"], lambda body: body["state"] == "done")


def test_a_search_indexes_by_the_rules_for_the_origin(worker, store):
    save_repository(store, Repository("asked-for", "https://nowhere.invalid/x/y", "main", guarded=True))
    response = ask(worker, filters={"repo": "asked-for"}, wait_ms=0)
    assert read_job(store, response.get_json()["job_id"]).guarded
    worker.post(f"/jobs/{response.get_json()['job_id']}/cancel")
    store.delete_document("repository:asked-for")


def test_a_name_that_could_be_a_branch_or_a_tag_is_tried_as_both(worker, branches):
    response = ask(worker, query="only_on_third ref:v1", filters={"repo": "core"}, wait_ms=60_000)
    assert response.status_code == 200, response.text
    assert response.get_json()["freshness"][0]["kind"] == "tag"


def test_each_listed_repository_is_indexed_at_its_own_version(worker, branches):
    repos = [{"name": "core", "versionSpecifier": "third"}, {"name": "site"}]
    response = ask(worker, query="only_on_third", repos=repos, wait_ms=60_000)
    assert response.status_code == 200, response.text
    assert {(version["repo"], version["ref"]) for version in response.get_json()["freshness"]} == {
        ("core", "third"),
        ("site", "main"),
    }


def test_a_repository_that_is_only_in_the_catalog_is_indexed(worker, store, place):
    repository = place.repository("later", {"a.py": "def come_later():\n    pass\n"})
    save_repository(store, Repository("later", str(repository.folder), "main"))
    response = ask(worker, query="come_later", filters={"repo": "later"}, wait_ms=60_000)
    assert response.status_code == 200, response.text
    assert response.get_json()["results"][0]["path"] == "a.py"


def test_a_waiting_job_runs_after_the_job_before_it(worker, branches, indexed, settings, monkeypatch):
    """The first job waits for a hanging fetch, and keeps showing that it is alive."""
    monkeypatch.setattr(running_job, "BEAT_SECONDS", 0.05)
    indexed["site"].git("branch", "beta")
    with open_access(parse_origin(str(branches.folder)), settings.git, settings.home).locked():
        running = ask(worker, filters={"repo": "core", "branch": "fourth"}, wait_ms=0).get_json()["job_id"]
        first = follow(worker, running, lambda body: body["state"] == "running")
        waiting = ask(worker, filters={"repo": "site", "branch": "beta"}, wait_ms=0).get_json()["job_id"]
        follow(worker, running, lambda body: body["updated_at"] > first["updated_at"] and body["progress"])
        assert worker.get(f"/jobs/{waiting}").get_json()["state"] == "queued"
    for job in (running, waiting):
        assert follow(worker, job, lambda body: body["state"] in ("done", "failed"))["state"] == "done"


def test_a_version_that_does_not_exist_is_a_404_that_says_so(worker):
    response = ask(worker, filters={"repo": "core", "branch": "no-such"}, wait_ms=60_000)
    assert response.status_code == 404
    assert "indexing it failed" in response.get_json()["detail"]


@pytest.mark.parametrize(
    ("fields", "status", "says"),
    [
        ({"filters": {"branch": "nowhere"}}, 400, "name the repository"),
        ({"filters": {"repo": "core", "ref": "workspace:/etc"}}, 404, "is not indexed"),
        ({"filters": {"ref": "workspace:/etc"}}, 404, "codequarry index --workspace /etc"),
        ({"repos": [{"originUri": "https://example.org/unknown"}]}, 404, "not in the index"),
        ({"filters": {"repo": "unknown"}}, 404, "is not indexed"),
    ],
)
def test_a_repository_outside_the_catalog_is_never_fetched(worker, store, fields, status, says):
    before = len(store.list_documents("job:"))
    response = ask(worker, **fields)
    assert response.status_code == status
    assert says in response.get_json()["detail"]
    assert len(store.list_documents("job:")) == before


def test_without_a_worker_it_is_a_501_that_names_the_command(client):
    response = ask(client, filters={"repo": "core", "branch": "nowhere"})
    assert response.status_code == 501
    assert "codequarry index" in response.get_json()["detail"]
    assert ask(client, query="retry").status_code == 200


def test_the_flag_is_true_or_false(client):
    response = client.post("/search-code?index=perhaps", json={"query": "x"})
    assert response.status_code == 400


def test_an_unknown_job_is_a_404(client):
    assert client.get("/jobs/nope").status_code == 404


def test_a_job_whose_end_could_not_be_written_is_run_again(worker, branches, monkeypatch):
    """Otherwise it would run forever for every request of the same version, because its holder is alive."""
    for name, value in (("TIDY_SECONDS", 0.0), ("LOOK_SECONDS", 0.02)):
        monkeypatch.setattr(embedded_worker, name, value)
    monkeypatch.setattr(lifecycle, "RETRY_SECONDS", 0.0)
    change, failures = running_job.change_job, [StoreUnavailable("it restarts")]

    def at_first_unavailable(store, job_id, rule):
        if failures and threading.current_thread().name == "indexer":
            raise failures.pop()
        return change(store, job_id, rule)

    monkeypatch.setattr(running_job, "change_job", at_first_unavailable)
    lost = ask(worker, filters={"repo": "core", "branch": "fifth"}, wait_ms=0).get_json()["job_id"]
    body = follow(worker, lost, lambda body: body["state"] in ("done", "failed"))
    assert (body["state"], body["attempts"], failures) == ("done", 2, [])
