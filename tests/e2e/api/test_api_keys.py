"""API keys at the service: required scopes, refusals, and rate limits."""

import pytest
from flask import Flask

from codequarry.search_api.access import authentication as auth
from codequarry.search_api.http.admission import NEEDS, check_declared
from codequarry.search_api.http.app import create_app
from codequarry.shared.access.grants import ALL_PATHS, Grant
from codequarry.shared.access.key_list import add_key
from codequarry.shared.access.keys import new_key
from codequarry.shared.jobs.job import JobRequest
from codequarry.shared.jobs.job_list import JOB_PREFIX, change_job, submit
from codequarry.shared.jobs.lifecycle import cancelled
from codequarry.shared.model import PathGlobs
from codequarry.shared.versions.refs import Ref

pytestmark = pytest.mark.usefixtures("indexed")
ADMIN_KEY = "the-key-of-a-compose-file-9f2c"


def with_key(token):
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture(scope="module")
def key(store):
    """Return a function that makes a key and returns its headers."""

    def make(*scopes, repos="*", paths=ALL_PATHS):
        made, token = new_key("of a test", scopes, [Grant(repos, paths)])
        add_key(store, made)
        return with_key(token)

    return make


@pytest.fixture(scope="module")
def service(settings, store, embedder, key):
    """Yield a client of a service that has keys."""
    key("search")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(auth, "MIN_AGE_SECONDS", -1)
        yield create_app(settings, store, embedder).test_client()


@pytest.fixture(scope="module")
def keys(key):
    """Return a key of each scope."""
    return {scope: key(scope) for scope in ("search", "index", "admin")}


def address(request):
    method, _, rule = request.partition(" ")
    return method, rule.replace("<name>", "nope").replace("<job_id>", "nope")


@pytest.mark.parametrize("request_", sorted(NEEDS))
def test_every_route_requires_its_scope(service, keys, request_):
    method, path = address(request_)
    need = NEEDS[request_]
    statuses = {
        scope: service.open(path, method=method, json={} if method == "POST" else None, headers=headers).status_code
        for scope, headers in {**keys, "none": {}, "wrong": with_key("cq_000000000000_x")}.items()
    }
    if need in ("open", "signed"):
        assert len(set(statuses.values())) == 1  # a key makes no difference
        return
    assert statuses["none"] == statuses["wrong"] == 401
    for scope in keys:
        allowed = scope in (need, "admin")
        assert (statuses[scope] != 403) == allowed, (scope, statuses[scope])


def test_a_refusal_says_what_to_do_and_nothing_about_the_key(service, keys):
    response = service.get("/repos", headers=with_key("cq_000000000000_guessed"))
    assert response.headers["WWW-Authenticate"] == "Bearer"
    problem = response.get_json()
    assert (problem["status"], response.mimetype) == (401, "application/problem+json")
    assert "Authorization: Bearer" in problem["detail"]
    assert "guessed" not in response.text
    assert "'admin'" in service.get("/metrics", headers=keys["search"]).get_json()["detail"]


def test_indexing_on_demand_needs_its_scope(service, key):
    body = {"query": "retry", "filters": {"repo": "core"}}
    refused = service.post("/search-code?index=true", json=body, headers=key("search"))
    assert refused.status_code == 403
    assert service.post("/search-code?index=true", json=body, headers=key("search", "index")).status_code == 200


@pytest.mark.parametrize("change", ["retry", "cancel"])
def test_a_removal_job_can_only_be_changed_by_a_key_that_may_remove_the_repository(service, store, keys, key, change):
    removal, _ = submit(store, JobRequest("core", "", kind="remove"))
    if change == "retry":
        change_job(store, removal.id, cancelled)
    path = f"/jobs/{removal.id}/{change}"
    assert "'admin'" in service.post(path, headers=keys["index"]).get_json()["detail"]
    in_part = key("admin", paths=PathGlobs(("src/",)))
    assert "see all of it" in service.post(path, headers=in_part).get_json()["detail"]
    assert service.post(path, headers=keys["admin"]).status_code == 200
    store.delete_document(JOB_PREFIX + removal.id)


def test_removing_a_version_that_a_webhook_deleted_needs_only_the_index_scope(service, store, keys):
    removal, _ = submit(store, JobRequest("core", "", "refs/pull/1", (Ref("pull", "1"),), kind="remove"))
    assert service.post(f"/jobs/{removal.id}/cancel", headers=keys["index"]).status_code == 200
    store.delete_document(JOB_PREFIX + removal.id)


def test_metrics_need_a_key_that_sees_everything(service, key):
    assert "see everything" in service.get("/metrics", headers=key("admin", repos="core")).get_json()["detail"]
    assert service.get("/metrics", headers=key("admin")).status_code == 200


def test_a_key_can_be_sent_in_the_body(service, keys):
    token = keys["search"]["Authorization"].partition(" ")[2]
    assert service.post("/search-code", json={"query": "retry", "token": token}).status_code == 200
    assert service.post("/search-code", json={"query": "retry", "token": "x"}).status_code == 401
    assert service.post("/search-code", json={"query": "retry", "token": 5}, headers=keys["search"]).status_code == 400


def test_routes_that_reveal_nothing_about_the_index_are_open(service):
    for path in ("/healthz", "/readyz", "/openapi.json"):
        assert service.get(path).status_code == 200
    assert service.get("/no-such-path").status_code == 404
    assert service.options("/repos").status_code == 200


def test_the_description_says_which_scope_an_operation_needs(service):
    paths = service.get("/openapi.json").get_json()
    assert paths["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    removing = paths["paths"]["/repos/{name}"]["delete"]
    assert removing["security"] == [{"key": []}]
    assert "`admin`" in removing["description"]


def test_a_route_without_a_declared_need_prevents_the_service_from_starting(settings, store, embedder, monkeypatch):
    from codequarry.search_api.http.routes import repos

    app = Flask("x", static_folder=None)
    app.register_blueprint(repos.blueprint)
    app.add_url_rule("/new", view_func=lambda: "", methods=["POST"], endpoint="new")
    with pytest.raises(ValueError, match="POST /new"):
        check_declared(app)
    monkeypatch.setattr(
        "codequarry.search_api.http.admission.NEEDS", {route: "open" for route in NEEDS if "/repos" not in route}
    )
    with pytest.raises(ValueError, match="DELETE /repos/<name>"):
        create_app(settings, store, embedder)


def test_every_declared_need_is_of_an_existing_route(service):
    rules = service.application.url_map.iter_rules()
    assert set(NEEDS) == {f"{method} {rule.rule}" for rule in rules for method in rule.methods - {"HEAD", "OPTIONS"}}


class TestLimits:
    @pytest.fixture
    def limited(self, settings, store, embedder):
        """Return a function that makes a client of a service with limits."""

        def make(**limits):
            changed = settings.model_copy(update={"limits": settings.limits.model_copy(update=limits)})
            return create_app(changed, store, embedder).test_client()

        return make

    def test_beyond_the_rate_a_key_is_told_when_to_retry(self, limited, key):
        client, mine, other = limited(requests_per_minute=6, burst=2), key("search"), key("search")
        assert [client.get("/repos", headers=mine).status_code for _ in range(3)] == [200, 200, 429]
        refused = client.get("/repos", headers=mine)
        assert 1 <= int(refused.headers["Retry-After"]) <= 10
        assert refused.get_json()["status"] == 429
        assert client.get("/repos", headers=other).status_code == 200

    def test_probes_are_not_limited(self, limited, key):
        client, headers = limited(total_requests_per_minute=1, total_burst=1), key("search")
        assert client.get("/repos", headers=headers).status_code == 200
        assert client.get("/repos", headers=headers).status_code == 429
        assert {client.get("/healthz").status_code for _ in range(5)} == {200}

    def test_every_ended_request_makes_room(self, limited, key):
        client, headers = limited(concurrent=1, total_concurrent=1), key("search")
        for body in ({"query": "retry"}, {"query": ""}, {"query": "retry", "nonsense": 1}):
            assert client.post("/search-code", json=body, headers=headers).status_code in (200, 400)
        assert client.get("/metrics", headers=headers).status_code == 403
        assert client.get("/repos", headers=headers).status_code == 200


def test_the_key_in_the_settings_is_accepted(settings, store, embedder):
    secret = {"admin_key": ADMIN_KEY}
    changed = settings.model_copy(update={"auth": type(settings.auth).model_validate(secret)})
    client = create_app(changed, store, embedder).test_client()
    assert client.get("/metrics", headers=with_key(ADMIN_KEY)).status_code == 200
