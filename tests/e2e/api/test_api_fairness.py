"""Two keys and one worker: many jobs of one key do not delay the other's jobs, and are limited by a quota."""

import time

import pytest

from codequarry.cli.session.embedded_worker import LocalIndexer
from codequarry.search_api.access import authentication as auth
from codequarry.search_api.http.app import create_app
from codequarry.shared.access.grants import Grant
from codequarry.shared.access.key_list import add_key
from codequarry.shared.access.keys import new_key
from codequarry.shared.settings.service import LimitSettings

pytestmark = pytest.mark.usefixtures("indexed")

QUOTA = 20


@pytest.fixture(scope="module")
def branches(indexed):
    """Add many branches to `core` that are not indexed."""
    core = indexed["core"]
    for number in range(QUOTA + 5):
        core.git("branch", f"b{number}", "main")
    return core


@pytest.fixture(scope="module")
def service(settings, store, embedder):
    """Yield the application of a service that indexes, with a quota of jobs for each key."""
    made = []

    def make(backend):
        made.append(LocalIndexer(backend))
        return made[-1]

    limited = settings.model_copy(update={"limits": LimitSettings(jobs_waiting_per_key=QUOTA)})
    yield create_app(limited, store, embedder, make)
    for indexer in made:
        indexer.close()


@pytest.fixture
def client_of(service, store, monkeypatch):
    """Return a function that makes a client with a new key."""

    monkeypatch.setattr(auth, "MIN_AGE_SECONDS", -1)

    def make(name):
        key, token = new_key(name, ["search", "index"], [Grant("*")])
        add_key(store, key)
        client = service.test_client()
        client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {token}"
        return client

    return make


def ask(client, branch):
    filters = {"repo": "core", "branch": branch}
    return client.post("/search-code?index=true", json={"query": "retry", "filters": filters, "wait_ms": 0})


def test_many_jobs_of_one_key_end_at_its_quota_and_do_not_delay_another_key(client_of, branches):
    storm, quiet = client_of("storm"), client_of("quiet")
    answers = [ask(storm, f"b{number}") for number in range(QUOTA + 4)]
    refused = [answer for answer in answers if answer.status_code == 429]
    assert refused
    assert int(refused[0].headers["Retry-After"]) >= 1
    assert "jobs_waiting_per_key" in refused[0].get_json()["detail"]
    mine = ask(quiet, f"b{QUOTA + 4}").get_json()["job_id"]
    deadline = time.monotonic() + 60
    while quiet.get(f"/jobs/{mine}").get_json()["state"] != "done":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    waiting = storm.get("/jobs?state=queued").get_json()
    assert waiting["total"] > 0
    for job in waiting["jobs"]:
        storm.post(f"/jobs/{job['job_id']}/cancel")


def test_jobs_are_paginated(client_of, branches):
    client = client_of("reader")
    whole = client.get("/jobs?limit=1000").get_json()
    assert whole["next_cursor"] is None
    deadline = time.monotonic() + 60
    while any(job["state"] in ("queued", "running") for job in whole["jobs"]):
        assert time.monotonic() < deadline
        whole = client.get("/jobs?limit=1000").get_json()
    seen, cursor = [], ""
    while cursor is not None:
        page = client.get("/jobs?limit=3" + (f"&cursor={cursor}" if cursor else "")).get_json()
        assert (len(page["jobs"]), page["total"]) == (min(3, whole["total"] - len(seen)), whole["total"])
        seen += page["jobs"]
        cursor = page["next_cursor"]
    assert seen == whole["jobs"]
    first = client.get("/jobs?limit=3").get_json()["next_cursor"]
    assert client.get(f"/jobs?limit=3&state=failed&cursor={first}").status_code == 400
    assert client_of("other").get(f"/jobs?limit=3&cursor={first}").status_code == 400
