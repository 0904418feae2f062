"""`POST /repos`, `DELETE /repos/NAME`, and what clients see of jobs."""

import time
from dataclasses import replace

import pytest

from codequarry.cli.session.embedded_worker import LocalIndexer
from codequarry.ingest.git.mirrors import open_access
from codequarry.ingest.git.origins import parse_origin
from codequarry.ingest.remotes import polling
from codequarry.search_api.http.app import create_app
from codequarry.shared.catalog.polls import change_poll
from codequarry.shared.jobs.job import JobRequest
from codequarry.shared.jobs.job_list import change_job, claim, submit
from codequarry.shared.jobs.lifecycle import MAX_ATTEMPTS, failed_once
from codequarry.shared.timestamps import from_now

FINAL = ("done", "failed", "cancelled")


@pytest.fixture(scope="module")
def settings(settings, place):
    """Allow requests to name the repositories of this module by path."""
    return settings.model_copy(update={"api": settings.api.model_copy(update={"local_roots": (place.folder,)})})


@pytest.fixture(scope="module")
def service(settings, store, embedder, indexed):
    """Yield a client of a service that indexes."""
    made = []

    def make(backend):
        made.append(LocalIndexer(backend))
        return made[-1]

    yield create_app(settings, store, embedder, make).test_client()
    for indexer in made:
        indexer.close()


def ended(client, job_id):
    """Wait until a job has ended and return it."""
    deadline = time.monotonic() + 60
    while (body := client.get(f"/jobs/{job_id}").get_json())["state"] not in FINAL:
        assert time.monotonic() < deadline, body
        time.sleep(0.05)
    return body


def names(client):
    return {repo["name"] for repo in client.get("/repos").get_json()["repos"]}


def add(client, **body):
    response = client.post("/repos", json=body)
    assert response.status_code == 202, response.text
    assert response.headers["Location"] == f"/jobs/{response.get_json()['job_id']}"
    return response.get_json()


def test_a_repository_is_added_with_a_job_and_removed_again(service, place):
    repository = place.repository("fresh", {"a.py": "def fresh_function():\n    return 1\n"})
    job = add(service, origin=str(repository.folder))
    assert (job["repo"], job["kind"], job["ref"]) == ("fresh", "index", "")
    done = ended(service, job["job_id"])
    assert (done["state"], done["commit"]) == ("done", repository.git("rev-parse", "HEAD"))
    found = service.post("/search-code", json={"query": "fresh_function", "filters": {"repo": "fresh"}})
    assert found.get_json()["results"][0]["path"] == "a.py"

    removed = service.delete("/repos/fresh")
    assert removed.status_code == 202
    assert ended(service, removed.get_json()["job_id"])["state"] == "done"
    assert "fresh" not in names(service)


def test_a_version_and_a_name_can_be_requested(service, place):
    repository = place.repository("versions", {"a.py": "x = 1\n"})
    repository.git("tag", "v1")
    job = add(service, origin=str(repository.folder), name="mine", ref="v1")
    assert ended(service, job["job_id"])["state"] == "done"
    [mine] = [repo for repo in service.get("/repos").get_json()["repos"] if repo["name"] == "mine"]
    assert {version["ref"] for version in mine["versions"]} == {"main", "v1"}


def test_a_repository_removed_during_its_import_does_not_come_back(service, settings, place):
    repository = place.repository("brief", {"a.py": "x = 1\n"})
    with open_access(parse_origin(str(repository.folder)), settings.git, settings.home).locked():
        index = add(service, origin=str(repository.folder))["job_id"]
        deadline = time.monotonic() + 60
        while service.get(f"/jobs/{index}").get_json()["state"] != "running":
            assert time.monotonic() < deadline
            time.sleep(0.05)
        remove = service.delete("/repos/brief").get_json()["job_id"]
    # It is told to stop between two steps. If no step was left, it is removed after it was done.
    assert ended(service, index)["state"] in ("cancelled", "done")
    assert ended(service, remove)["state"] == "done"
    assert "brief" not in names(service)


def test_a_service_polls_an_origin_and_notices_changes(settings, store, embedder, place, indexed, monkeypatch):
    monkeypatch.setattr(polling, "LOOK_SECONDS", 0.05)
    made = []

    def make(backend):
        made.append(LocalIndexer(backend))
        return made[-1]

    client = create_app(settings, store, embedder, make).test_client()
    repository = place.repository("quiet", {"a.py": "x = 1\n"})
    ended(client, add(client, origin=str(repository.folder))["job_id"])
    commit = repository.commit({"a.py": "x = 2\n"})
    change_poll(store, "quiet", lambda poll: replace(poll, next_at=from_now(-1)))
    deadline = time.monotonic() + 60
    while not (jobs := [job for job in client.get("/jobs?repo=quiet").get_json()["jobs"] if job["trigger"] == "poll"]):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert ended(client, jobs[0]["job_id"])["commit"] == commit
    made[0].close()


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "'origin' is missing"),
        ({"origin": "https://git.example/a/b", "branch": "x"}, "unknown field 'branch'"),
        ({"origin": "/etc"}, "local_roots"),
        ({"origin": "file:///etc"}, "local_roots"),
        ({"origin": "--upload-pack=touch"}, "URL of a git repository"),
        ({"origin": "ext::sh -c touch"}, ""),
        ({"origin": "gopher://git.example/a/b"}, "gopher"),
        ({"origin": "https://git.example/a/b", "ref": "a..b"}, "not the name of a branch"),
        ({"origin": "https://git.example/a/b", "ref": "workspace:/etc"}, "working tree"),
        ({"origin": 3}, "'origin' must be a string"),
    ],
)
def test_an_invalid_addition_is_refused_at_once(service, body, says):
    before = service.get("/jobs").get_json()["total"]
    response = service.post("/repos", json=body)
    assert response.status_code == 400, response.text
    assert says in response.get_json()["detail"]
    assert service.get("/jobs").get_json()["total"] == before


def test_a_malformed_or_taken_name_is_refused(service, place):
    folder = str(place.repository("other", {"a.py": "x = 1\n"}).folder)
    for name in ("a b", "core"):
        assert service.post("/repos", json={"origin": folder, "name": name}).status_code == 400


def test_an_origin_that_can_not_be_fetched_is_listed_until_removed(service, place):
    folder = place.folder / "no-repository"
    folder.mkdir()
    job = ended(service, add(service, origin=str(folder))["job_id"])
    assert (job["state"], len(job["failures"])) == ("failed", 1)
    [known] = [repo for repo in service.get("/repos").get_json()["repos"] if repo["name"] == "no-repository"]
    assert known["indexed_commit"] is None
    assert ended(service, service.delete("/repos/no-repository").get_json()["job_id"])["state"] == "done"
    assert "no-repository" not in names(service)


def test_an_unknown_repository_can_not_be_removed(service):
    response = service.delete("/repos/nothing")
    assert response.status_code == 404
    assert "indexed: " in response.get_json()["detail"]


def test_without_a_worker_additions_and_removals_are_refused(client, place, indexed):
    assert client.post("/repos", json={"origin": str(indexed["core"].folder)}).status_code == 501
    assert client.delete("/repos/core").status_code == 501


@pytest.fixture
def failed(store):
    """Return a job that failed finally."""
    job, _ = submit(store, JobRequest("gone", "/nowhere"))
    for attempt in range(MAX_ATTEMPTS):
        change_job(store, job.id, lambda job: replace(job, not_before=""))
        assert claim(store, job.id, "worker")
        job = change_job(store, job.id, lambda job, why=f"reason {attempt}": failed_once(job, "worker", why, 0.0))
    return job


def test_the_dead_letter_list_has_every_reason(client, failed):
    body = client.get("/jobs?state=failed&repo=gone&limit=1").get_json()
    assert body["total"] >= 1
    [job] = body["jobs"]
    assert job["failures"] == [f"reason {attempt}" for attempt in range(MAX_ATTEMPTS)]
    assert client.get("/jobs?state=done&repo=gone").get_json() == {"jobs": [], "total": 0, "next_cursor": None}


def test_a_failed_job_is_retried_and_cancelled(client, failed):
    job = client.post(f"/jobs/{failed.id}/retry").get_json()
    assert (job["state"], job["attempts"], len(job["failures"])) == ("queued", 0, MAX_ATTEMPTS)
    assert client.post(f"/jobs/{failed.id}/retry").status_code == 409
    assert client.post(f"/jobs/{failed.id}/cancel").get_json()["state"] == "cancelled"
    assert client.post(f"/jobs/{failed.id}/cancel").status_code == 409
    assert client.post("/jobs/nope/retry").status_code == 404


def test_jobs_are_listed_in_the_order_of_execution(client, store):
    jobs = [submit(store, JobRequest("order", "", str(number), priority=number))[0].id for number in (9, 0, 3)]
    cancelled = client.post(f"/jobs/{jobs[1]}/cancel").get_json()["job_id"]
    listed = [job["job_id"] for job in client.get("/jobs?repo=order").get_json()["jobs"]]
    assert listed == [jobs[2], jobs[0], cancelled]


@pytest.mark.parametrize("query", ["state=lost", "limit=0", "limit=x", "limit=1001", "sort=up"])
def test_unknown_parameters_and_values_are_refused(client, query):
    response = client.get(f"/jobs?{query}")
    assert response.status_code == 400
    assert query.partition("=")[0] in response.get_json()["detail"]
