"""The audit log has a line for everything that was read or changed; if it can't be written, requests are refused."""

import json
import os
import threading

import pytest

from codequarry.search_api.access import authentication as auth
from codequarry.search_api.http.app import create_app
from codequarry.search_api.http.audit_log import AuditedAccess, AuditLog
from codequarry.shared.access.grants import Grant
from codequarry.shared.access.key_list import add_key
from codequarry.shared.access.keys import new_key
from codequarry.shared.errors import UsageError
from codequarry.shared.settings.service import AuditSettings

pytestmark = pytest.mark.usefixtures("indexed")


@pytest.fixture(scope="module")
def key(store):
    """Add a key that sees only `core`; return it and its token."""
    made, token = new_key("reader", ["search"], [Grant("core")])
    add_key(store, made)
    return made, token


@pytest.fixture
def audited(settings, store, embedder, tmp_path, key, monkeypatch):
    """Return a function that makes a client of a service with an audit log, and the file of the log."""
    monkeypatch.setattr(auth, "MIN_AGE_SECONDS", -1)
    file = tmp_path / "audit.jsonl"

    def make(**fields):
        changed = settings.model_copy(update={"audit": AuditSettings(file=file, **fields)})
        client = create_app(changed, store, embedder).test_client()
        client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {key[1]}"
        return client

    return make, file


def lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_search_is_logged_with_caller_action_repositories_and_number_of_results(audited, key):
    make, file = audited
    response = make().post("/search-code", json={"query": "retry of a secret plan"}, headers={"X-Request-ID": "my-id"})
    (line,) = lines(file)
    assert line.pop("time").startswith("20")
    assert line == {
        "principal": f"reader ({key[0].id})",
        "action": "POST /search-code",
        "status": 200,
        "request_id": "my-id",
        "repositories": ["core"],
        "results": len(response.get_json()["results"]),
    }
    assert "secret plan" not in file.read_text()
    assert key[1] not in file.read_text()


def test_the_query_is_logged_if_the_settings_ask_for_it(audited, key):
    make, file = audited
    make(queries=True).post("/search-code", json={"query": "retry", "token": key[1]})
    assert lines(file)[0]["query"] == "retry"
    assert key[1] not in file.read_text()


def test_refused_requests_are_logged_and_probes_are_not(audited):
    make, file = audited
    client = make()
    client.get("/metrics")
    client.get("/repos", headers={"Authorization": "Bearer nonsense"})
    client.post("/search-code", json={"query": ""})
    client.get("/jobs/nope")
    client.head("/repos")
    client.options("/repos")
    for path in ("/healthz", "/readyz", "/openapi.json", "/no-such-path"):
        client.get(path)
    assert [(line["action"], line["status"], line["principal"][:6]) for line in lines(file)] == [
        ("GET /metrics", 403, "reader"),
        ("GET /repos", 401, "nobody"),
        ("POST /search-code", 400, "reader"),
        ("GET /jobs/<job_id>", 404, "reader"),
        ("GET /repos", 200, "reader"),
    ]


def test_every_reading_route_logs_the_repositories(audited):
    make, file = audited
    client = make()
    client.get("/repos")
    client.get("/jobs")
    client.post("/diff-search", json={"query": "retry", "from": "main", "to": "main", "all": True})
    assert [(line["status"], line["repositories"], "results" in line) for line in lines(file)] == [
        (200, ["core"], True),
        (200, [], True),
        (200, ["core"], True),
    ]


def test_a_request_that_waited_too_long_is_logged_as_refused(settings, store, embedder, tmp_path):
    file = tmp_path / "audit.jsonl"
    changed = settings.model_copy(update={"audit": AuditSettings(file=file)})
    response = create_app(changed, store, embedder, waited=lambda: 1e6).test_client().get("/repos")
    assert (response.status_code, response.mimetype) == (503, "application/problem+json")
    assert response.headers["Retry-After"]
    assert [(line["action"], line["status"], line["principal"]) for line in lines(file)] == [
        ("GET /repos", 503, "nobody")
    ]


def test_if_the_log_can_not_be_written_requests_are_refused(audited):
    make, file = audited
    client = make()
    file.unlink()
    file.mkdir()
    response = client.post("/search-code", json={"query": "retry"})
    assert response.status_code == 503
    assert "results" not in response.get_json()
    assert client.get("/healthz").status_code == 200


def test_a_file_that_can_not_be_written_prevents_the_service_from_starting(tmp_path):
    with pytest.raises(UsageError, match="can't be written"):
        AuditLog(tmp_path / "no" / "folder", False)


def test_after_rotation_the_next_line_is_written_to_the_new_file(tmp_path):
    file = tmp_path / "audit.jsonl"
    log = AuditLog(file, False)
    log.add("one", "GET /repos", 200, "1", AuditedAccess())
    file.rename(tmp_path / "audit.jsonl.1")
    log.add("two", "GET /repos", 200, "2", AuditedAccess())
    assert [line["principal"] for line in lines(file)] == ["two"]
    os.truncate(file, 0)
    log.add("three", "GET /repos", 200, "3", AuditedAccess())
    assert [line["principal"] for line in lines(file)] == ["three"]
    assert file.stat().st_mode & 0o777 == 0o600


def test_lines_of_many_writers_do_not_mix(tmp_path):
    file = tmp_path / "audit.jsonl"
    repositories = [f"repository-with-a-long-name-{number}" for number in range(200)]

    def write(number):
        log = AuditLog(file, False)
        for _ in range(20):
            log.add(f"writer {number}", "GET /repos", 200, "x", AuditedAccess(repositories, 200))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(lines(file)) == 160
