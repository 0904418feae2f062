"""Webhooks: from a signed delivery to a searchable commit, with the real pipeline."""

import hmac
import json
import os
import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from threading import Thread

import pytest
from werkzeug.serving import make_server

from codequarry.cli.session.embedded_worker import LocalIndexer
from codequarry.ingest.workers import job_runner
from codequarry.search_api.http.app import create_app
from codequarry.shared.catalog.pull_requests import read_pull_request
from codequarry.shared.catalog.repositories import read_repository
from codequarry.shared.jobs.job_list import list_jobs
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.settings.service import AuditSettings, LimitSettings
from codequarry.shared.settings.triggers import WebhookSettings

PAGE = Path(__file__).parents[3] / "docs" / "webhooks.md"
SECRET = "a secret of these tests"
GONE = "0" * 40
FINAL = ("done", "failed", "cancelled")


@pytest.fixture(scope="module")
def settings(settings, place):
    """Configure a secret for each kind of webhook, and allow requests to name the repositories of this module."""
    secrets = {
        f"{provider}_secrets": ["an older secret", SECRET] for provider in ("github", "gitlab", "gitea", "generic")
    }
    webhooks = WebhookSettings.model_validate(secrets | {"max_body_bytes": 90_000})
    api = settings.api.model_copy(update={"local_roots": (place.folder,)})
    return settings.model_copy(update={"webhooks": webhooks, "api": api})


@pytest.fixture(scope="module")
def application(settings, store, embedder, indexed):
    """Yield a service that indexes."""
    made = []

    def make(backend):
        made.append(LocalIndexer(backend))
        return made[-1]

    yield create_app(settings, store, embedder, make)
    for indexer in made:
        indexer.close()


@pytest.fixture(scope="module")
def service(application):
    """Return a client of the service."""
    return application.test_client()


@pytest.fixture
def core(indexed):
    """Return the work tree of the indexed repository `core`, on its default branch."""
    indexed["core"].git("checkout", "--quiet", "main")
    return indexed["core"]


def sign(body):
    return "sha256=" + hmac.new(SECRET.encode(), body, sha256).hexdigest()


def github(client, event, body, delivery="", **headers):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {"X-GitHub-Event": event, "X-Hub-Signature-256": sign(raw), **headers}
    if delivery:
        given["X-GitHub-Delivery"] = delivery
    return client.post("/webhooks/github", data=raw, headers=given, content_type="application/json")


def push(client, repository, branch, commit="", **fields):
    after = commit or repository.git("rev-parse", branch)
    body = {"ref": f"refs/heads/{branch}", "after": after, "repository": {"clone_url": str(repository.folder)}}
    return github(client, "push", body, **fields)


def accepted(response):
    assert response.status_code == 202, response.text
    body = response.get_json()
    assert body["result"] == "accepted", body
    return body


def ignored(response):
    assert response.status_code == 202, response.text
    body = response.get_json()
    assert (body["result"], body["job_id"]) == ("ignored", None)
    return body["reason"]


def ended(client, job_id):
    deadline = time.monotonic() + 60
    while (body := client.get(f"/jobs/{job_id}").get_json())["state"] not in FINAL:
        assert time.monotonic() < deadline, body
        time.sleep(0.02)
    return body


def versions(client, repo="core"):
    [known] = [entry for entry in client.get("/repos").get_json()["repos"] if entry["name"] == repo]
    return {version["ref"]: version["indexed_commit"] for version in known["versions"]}


def test_a_repeated_push_of_a_failed_commit_makes_no_new_job(service, core):
    commit = core.commit({".codequarryignore": "*a\n" * 10_001})
    job = ended(service, accepted(push(service, core, "main"))["job_id"])
    assert (job["state"], job["attempts"]) == ("failed", 1)
    again = {"ref": "refs/heads/main", "after": commit, "forced": True, "repository": {"clone_url": str(core.folder)}}
    assert job["error"] in ignored(github(service, "push", again))
    [known] = [repo for repo in service.get("/repos").get_json()["repos"] if repo["name"] == "core"]
    assert [(failure["ref"], failure["commit"]) for failure in known["failures"]] == [("main", commit)]
    core.commit({".codequarryignore": "*.log\n"})
    assert ended(service, accepted(push(service, core, "main"))["job_id"])["state"] == "done"


def test_a_push_to_the_default_branch_is_searchable_after_its_job(service, core):
    commit = core.commit({"pushed.py": "def only_in_the_push():\n    return 1\n"})
    response = push(service, core, "main", delivery="first")
    body = accepted(response)
    assert response.headers["Location"] == f"/jobs/{body['job_id']}"
    job = ended(service, body["job_id"])
    assert (job["state"], job["commit"], job["trigger"], job["priority"]) == ("done", commit, "webhook", 3)
    asked = {"query": "only_in_the_push", "filters": {"repo": "core"}, "min_commit": commit}
    hit = service.post("/search-code", json=asked).get_json()
    assert hit["results"][0]["path"] == "pushed.py"


def test_a_repeated_delivery_starts_nothing(service, store, core):
    core.commit({"again.py": "again = 1\n"})
    first = accepted(push(service, core, "main", delivery="again"))
    ended(service, first["job_id"])
    jobs = len(list_jobs(store))
    for count in (1, 2):
        again = accepted(push(service, core, "main", delivery="again"))
        assert (again["job_id"], again["repeated"], again["repeats"]) == (first["job_id"], True, count)
    assert len(list_jobs(store)) == jobs


def gitlab_push(client, core, before, after):
    project = {"git_http_url": str(core.folder)}
    body = {"object_kind": "push", "ref": "refs/heads/main", "before": before, "after": after, "project": project}
    return client.post("/webhooks/gitlab", json=body, headers={"X-Gitlab-Token": SECRET})


def test_a_replayed_delivery_with_another_id_starts_nothing(service, store, core):
    """GitHub and Gitea sign only the body, so anybody can choose the id."""
    core.commit({"seen.py": "seen = 1\n"})
    first = accepted(push(service, core, "main", delivery="genuine"))
    ended(service, first["job_id"])
    jobs = len(list_jobs(store))
    for other in ("invented", ""):
        again = accepted(push(service, core, "main", delivery=other))
        assert (again["job_id"], again["repeated"], again["delivery_id"]) == (first["job_id"], True, "genuine")
    assert len(list_jobs(store)) == jobs


def test_identical_gitlab_deliveries_of_a_branch_that_goes_back_and_forth_are_told_apart(service, core):
    """They contain neither id nor time, so a delivery is a repetition only if nothing came after the first."""
    old, new = core.git("rev-parse", "main"), core.commit({"forth.py": "x = 1\n"})
    first = gitlab_push(service, core, old, new)
    assert ended(service, accepted(first)["job_id"])["state"] == "done"
    assert accepted(gitlab_push(service, core, old, new))["repeated"]
    core.git("reset", "--quiet", "--hard", old)
    assert ended(service, accepted(gitlab_push(service, core, new, old))["job_id"])["commit"] == old
    core.git("reset", "--quiet", "--hard", new)
    third = accepted(gitlab_push(service, core, old, new))
    assert not third["repeated"]
    assert ended(service, third["job_id"])["commit"] == new


def test_a_reopened_pull_request_is_not_closed_by_an_old_delivery(service, core):
    core.git("update-ref", "refs/pull/8/head", core.git("rev-parse", "main"))

    def send(action, moment, delivery):
        pull = {"number": 8, "updated_at": moment}
        body = {"action": action, "pull_request": pull, "repository": {"clone_url": str(core.folder)}}
        return github(service, "pull_request", body, delivery)

    ended(service, accepted(generic(service, repo="core", ref="pull/8"))["job_id"])
    ended(service, accepted(send("closed", 1, "closed"))["job_id"])
    ended(service, accepted(generic(service, repo="core", ref="pull/8"))["job_id"])
    ended(service, accepted(send("synchronize", 3, "moved"))["job_id"])
    assert accepted(send("closed", 1, "invented"))["repeated"]
    assert "pull/8" in versions(service)


def test_an_ignored_delivery_is_examined_again_if_it_is_repeated(service, core):
    core.git("branch", "later", "main")
    reason = ignored(push(service, core, "later", delivery="too-early"))
    assert "neither the default branch nor indexed" in reason
    ended(service, accepted(generic(service, repo="core", ref="later"))["job_id"])
    assert not accepted(push(service, core, "later", delivery="too-early"))["repeated"]


def test_each_secret_has_its_own_limits_and_unverified_senders_use_none_up(
    settings, store, embedder, indexed, tmp_path
):
    limits = LimitSettings(requests_per_minute=1, burst=2)
    file = tmp_path / "audit.jsonl"
    changed = settings.model_copy(update={"limits": limits, "audit": AuditSettings(file=file)})
    client = create_app(changed, store, embedder, lambda _: object()).test_client()

    def send(secret, path="/webhooks/github"):
        raw = b'{"zen": "%s"}' % os.urandom(4).hex().encode()
        signature = hmac.new(secret.encode(), raw, sha256).hexdigest()
        headers = {"X-GitHub-Event": "ping", "X-Hub-Signature-256": f"sha256={signature}"}
        headers |= {"X-Gitea-Event": "ping", "X-Gitea-Signature": signature}
        return client.post(path, data=raw, headers=headers, content_type="application/json").status_code

    assert [send("a guess at it") for _ in range(5)] == [401] * 5
    assert [send(SECRET) for _ in range(3)] == [202, 202, 429]
    assert send("an older secret") == 202
    assert send(SECRET, "/webhooks/gitea") == 202
    who = {json.loads(line)["principal"] for line in file.read_text().splitlines()}
    assert who == {
        "unverified sender", "github webhook, secret 1", "github webhook, secret 2", "gitea webhook, secret 2"
    }  # fmt: skip


def test_a_branch_is_followed_from_its_indexing_until_its_deletion(service, core):
    core.git("checkout", "--quiet", "-b", "topic", "main")
    core.commit({"topic.py": "x = 1\n"})
    assert "neither the default branch nor indexed" in ignored(push(service, core, "topic"))
    assert ended(service, accepted(generic(service, repo="core", ref="topic"))["job_id"])["state"] == "done"

    moved = core.commit({"topic.py": "x = 2\n"})
    assert ended(service, accepted(push(service, core, "topic"))["job_id"])["commit"] == moved
    assert versions(service)["topic"] == moved

    core.git("checkout", "--quiet", "main")
    core.git("branch", "-D", "topic")
    assert ended(service, accepted(push(service, core, "topic", GONE))["job_id"])["state"] == "done"
    assert "topic" not in versions(service)
    body = {"ref": "topic", "ref_type": "branch", "repository": {"clone_url": str(core.folder)}}
    assert "is not indexed" in ignored(github(service, "delete", body))


def test_two_events_of_one_deletion_are_both_accepted(service, store, core):
    """Code hosts send two events for a deletion; the second run finds nothing left to drop."""
    core.git("branch", "twice", "main")
    ended(service, accepted(generic(service, repo="core", ref="twice"))["job_id"])
    first = accepted(push(service, core, "twice", GONE))
    core.git("branch", "-D", "twice")
    second = push(service, core, "twice", GONE).get_json()
    for delivery in (first, second):
        if delivery["job_id"]:
            assert ended(service, delivery["job_id"])["state"] == "done"


def test_a_pull_request_is_followed_from_its_indexing_until_it_is_closed(service, core):
    core.git("update-ref", "refs/pull/7/head", core.git("rev-parse", "main"))

    def send(action):
        pull = {"number": 7, "head": {"sha": core.git("rev-parse", "refs/pull/7/head")}}
        body = {"action": action, "pull_request": pull, "repository": {"clone_url": str(core.folder)}}
        return github(service, "pull_request", body)

    assert "pull request 7 is neither" in ignored(send("opened"))
    assert ended(service, accepted(generic(service, repo="core", ref="pull/7"))["job_id"])["state"] == "done"
    assert ended(service, accepted(send("synchronize"))["job_id"])["state"] == "done"
    closed = ended(service, accepted(send("closed"))["job_id"])
    assert (closed["kind"], closed["state"]) == ("remove", "done")
    assert "pull/7" not in versions(service)


@pytest.mark.parametrize(("number", "target", "kept"), [(41, "next", "next"), (42, "main", "")])
def test_the_target_of_a_pull_request_is_remembered_before_it_is_indexed(service, core, store, number, target, kept):
    """The default branch is the target of any pull request of which nothing else is known."""
    pull = {"number": number, "head": {"sha": "1" * 40}, "base": {"ref": target}}
    body = {"action": "opened", "pull_request": pull, "repository": {"clone_url": str(core.folder)}}
    assert f"pull request {number} is neither" in ignored(github(service, "pull_request", body))
    assert read_pull_request(store, read_repository(store, "core").id, str(number)).target == kept


def generic(client, **body):
    raw, identifier, moment = json.dumps(body).encode(), os.urandom(8).hex(), str(int(time.time()))
    signed = f"{identifier}.{moment}.".encode() + raw
    headers = {
        "X-Codequarry-Delivery": identifier,
        "X-Codequarry-Timestamp": moment,
        "X-Codequarry-Signature": sign(signed),
    }
    return client.post("/webhooks/generic", data=raw, headers=headers, content_type="application/json")


def test_gitlab_and_gitea_are_understood(service, core):
    commit = core.commit({"other_hosts.py": "y = 1\n"})
    project = {"git_ssh_url": "git@nowhere:x/y.git", "git_http_url": str(core.folder)}
    body = {"object_kind": "push", "ref": "refs/heads/main", "after": commit, "project": project}
    response = service.post("/webhooks/gitlab", json=body, headers={"X-Gitlab-Token": SECRET})
    assert ended(service, accepted(response)["job_id"])["commit"] == commit

    commit = core.commit({"other_hosts.py": "y = 2\n"})
    raw = json.dumps(
        {"ref": "refs/heads/main", "after": commit, "repository": {"clone_url": str(core.folder)}}
    ).encode()
    headers = {"X-Gitea-Event": "push", "X-Gitea-Signature": sign(raw).removeprefix("sha256=")}
    response = service.post("/webhooks/gitea", data=raw, headers=headers, content_type="application/json")
    assert ended(service, accepted(response)["job_id"])["commit"] == commit


def test_github_may_send_a_form(service, core):
    raw = b"payload=%7B%22zen%22%3A%20%22Keep%20it%20simple%22%7D"
    headers = {"X-GitHub-Event": "ping", "X-Hub-Signature-256": sign(raw)}
    response = service.post(
        "/webhooks/github", data=raw, headers=headers, content_type="application/x-www-form-urlencoded"
    )
    assert ignored(response) == "the hook works"


def test_a_form_with_too_many_fields_is_a_400(service):
    raw = b"&".join(b"f%d=x" % number for number in range(40))
    response = service.post(
        "/webhooks/github",
        data=raw,
        headers={"X-GitHub-Event": "ping", "X-Hub-Signature-256": sign(raw)},
        content_type="application/x-www-form-urlencoded",
    )
    assert response.status_code == 400
    assert "'payload'" in response.get_json()["detail"]


def test_a_hundred_pushes_within_a_second_make_at_most_two_runs(application, store, core, monkeypatch):
    begun = []
    real = job_runner.index_repository

    def counted(request, *rest):
        begun.append(request)
        return real(request, *rest)

    monkeypatch.setattr(job_runner, "index_repository", counted)
    commits = [core.commit({"burst.py": f"burst = {number}\n"}) for number in range(3)]

    def tell(number):
        return accepted(push(application.test_client(), core, "main", commits[number % 3], delivery=f"burst-{number}"))

    with ThreadPoolExecutor(16) as pool:
        jobs = {body["job_id"] for body in pool.map(tell, range(100))}
    client = application.test_client()
    for job in jobs:
        assert ended(client, job)["state"] == "done"
    assert versions(client)["main"] == commits[-1]
    assert len(begun) <= 2
    assert len(jobs) <= 2


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"\xff\xfe\x00", "not valid JSON"),
        (b"[1]", "JSON object"),
        (b'"text"', "JSON object"),
        (b"[" * 40_000, "nested deeper"),
        (b'{"ref": 3}', "'ref'"),
        (b'{"ref": "refs/heads/main", "after": NaN}', "not valid JSON"),
        (b'{"ref": "refs/heads/--x..y", "after": "1", "repository": 7}', "not the name of a branch"),
    ],
)
def test_invalid_content_is_a_400_even_if_it_is_signed(service, body, says):
    response = github(service, "push", body)
    assert response.status_code == 400, response.text
    assert says in response.get_json()["detail"]


def test_unsigned_content_is_not_read(service, store):
    before = len(store.list_documents("delivery:"))
    for headers in ({}, {"X-Hub-Signature-256": "sha256=" + "0" * 64}):
        response = service.post("/webhooks/github", data=b"{", headers=headers)
        assert response.status_code == 401
    assert service.post("/webhooks/gitlab", data=b"{", headers={"X-Gitlab-Token": "guess"}).status_code == 401
    assert service.post("/webhooks/github", data=b"x" * 90_001).status_code == 413
    assert len(store.list_documents("delivery:")) == before


def test_without_a_secret_an_endpoint_refuses_and_says_what_to_set(settings, store, embedder):
    bare = create_app(settings.model_copy(update={"webhooks": WebhookSettings()}), store, embedder).test_client()
    for provider in ("github", "gitlab", "gitea", "generic"):
        response = bare.post(f"/webhooks/{provider}", json={})
        assert response.status_code == 403
        assert f"{provider}_secrets" in response.get_json()["detail"]


def test_an_unknown_repository_is_ignored_unless_the_settings_say_otherwise(
    service, settings, store, embedder, place, application
):
    newcomer = place.repository("newcomer", {"a.py": "x = 1\n"})
    assert "is not in the index" in ignored(push(service, newcomer, "main"))
    assert "nothing-such is not in the index" in ignored(generic(service, repo="nothing-such"))

    webhooks = settings.webhooks.model_copy(update={"add_unknown": True})
    open_settings = settings.model_copy(update={"webhooks": webhooks})
    indexer = application.extensions["codequarry.indexer"]
    adding = create_app(open_settings, store, embedder, lambda _: indexer).test_client()
    assert ended(service, accepted(push(adding, newcomer, "main"))["job_id"])["state"] == "done"
    assert "newcomer" in {repo["name"] for repo in service.get("/repos").get_json()["repos"]}


def test_the_log_of_deliveries_has_the_outcome_of_each(service, core):
    core.commit({"logged.py": "logged = 1\n"})
    push(service, core, "main", delivery="logged")
    push(service, core, "nowhere", "1" * 40, delivery="left-alone")
    log = service.get("/deliveries?limit=2").get_json()["deliveries"]
    assert [delivery["delivery_id"] for delivery in log] == ["left-alone", "logged"]
    left, done = log
    assert (left["result"], left["repo"], left["ref"], left["job_id"]) == (
        "ignored",
        "core",
        "refs/heads/nowhere",
        None,
    )
    assert (done["result"], done["provider"], done["event"], done["ref"]) == ("accepted", "github", "push", None)
    assert done["job_id"] and done["received_at"]
    assert service.get("/deliveries?limit=0").status_code == 400


def test_the_script_for_ci_systems_in_the_documentation_works(application, core):
    [script] = re.findall(r"```bash\n(.*?)```", PAGE.read_text(), re.S)
    commit = core.commit({"from_ci.py": "z = 1\n"})
    server = make_server("127.0.0.1", 0, application, threaded=True)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        environment = os.environ | {"CODEQUARRY_URL": f"http://127.0.0.1:{server.port}", "CODEQUARRY_SECRET": SECRET}
        done = subprocess.run(["bash", "-euc", script], env=environment, capture_output=True, text=True, timeout=60)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert done.returncode == 0, done.stderr + done.stdout
    job = json.loads(done.stdout)["job_id"]
    assert ended(application.test_client(), job)["commit"] == commit


def test_secrets_must_be_long_enough():
    with pytest.raises(ValueError, match="8 characters"):
        SettingsModel.model_validate({"webhooks": {"github_secrets": [""]}})
