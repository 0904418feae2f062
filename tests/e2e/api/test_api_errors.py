"""Every refusal is a problem+json that says what to do."""

import json

import pytest

from codequarry.search_api.http.app import create_app
from codequarry.search_api.http.routes.search import parse_json
from codequarry.shared.errors import EmbedderUnavailable, UsageError
from codequarry.shared.settings.config import SettingsModel

pytestmark = pytest.mark.usefixtures("indexed")


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"query": ""}, "empty"),
        ({"query": "   "}, "empty"),
        ({}, "'query' is missing; it must be a string"),
        ({"query": "x" * 10_001}, "10001 characters"),
        ({"query": "x", "top_k": 0}, "1 to 200"),
        ({"query": "x", "rerank": True}, "'rerank' needs a second stage, and none is set up here"),
        ({"query": "x", "weights": {"lexical": 1}}, "'weights' is not available yet"),
        ({"query": "x", "min_commit": "abc"}, "7 to 64 hexadecimal"),
        ({"query": "x", "min_commit": "abcdef0"}, "one repository"),
        ({"query": "x", "wait_ms": 5}, "min_commit"),
        ({"query": "x", "min_commit": "abcdef0", "wait_ms": 60_001}, "0 to 60000"),
        ({"query": "x", "repos": []}, "1 to 100"),
        ({"query": "x", "repos": [{"versionSpecifier": "main"}]}, "needs originUri"),
        ({"query": "x", "repos": [{"checkoutPath": "/tmp"}]}, "local paths are disabled"),
        ({"query": "x", "repos": [{"name": "core"}], "filters": {"repo": "core"}}, "not in both"),
        ({"query": "x", "filters": {"since": "once"}}, "'since' must be a day"),
        ({"query": "x -ref:main"}, "'-ref:' can't exclude versions"),
        ({"query": "/re[gx]/"}, "regular expressions are not available yet"),
        ({"query": "x", "filters": {"path": "!"}}, "glob"),
        ({"query": "x", "filters": {"path": "src/[a"}}, "bracket that is not closed"),
        ({"query": "x", "filters": {"commit": "abc"}}, "7 to 64"),
        ({"query": "x", "cursor": "nonsense"}, "cursor"),
        ({"query": "x repo:core", "filters": {"repo": "site"}}, "contradict"),
        ('{"query": "x"', "not valid JSON"),
        ("[]", "JSON object"),
        ('{"query": NaN}', "NaN is not JSON"),
        ("[" * 10_000, "deeper than 32"),
        (b'{"query": "\xff"}', "not valid JSON"),
    ],
)
def test_an_invalid_request_is_a_400_that_says_what_is_wrong(refused, body, says):
    data = json.dumps(body) if isinstance(body, dict) else body
    problem = refused(400, data=data, content_type="application/json")
    assert says in problem["detail"]
    assert "\n" not in problem["detail"]


@pytest.mark.parametrize(
    ("body", "name", "known"),
    [
        ({"query": "x", "topk": 3}, "topk", "top_k"),
        ({"query": "x", "filters": {"lang": "go"}}, "lang", "language"),
        ({"query": "x", "filters": {"symbol_type": "struct"}}, "struct", "class"),
        ({"query": "x langu:go"}, "langu", "lang"),
        ({"query": "x kind:struct"}, "struct", "class"),
    ],
)
def test_an_unknown_name_is_answered_with_the_known_names(refused, body, name, known):
    problem = refused(400, json=body)
    assert problem["name"] == name
    assert known in problem["known"]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"query": "x", "filters": {"repo": "nope"}}, "indexed: core, site"),
        ({"query": "x repo:nope"}, "indexed: core, site"),
        ({"query": "x", "filters": {"branch": "nope"}}, "core with branches main"),
        ({"query": "x", "filters": {"commit": "deadbeef"}}, "newest commits"),
        ({"query": "x ref:v9", "filters": {"repo": "core"}}, "--branch v9 or --tag v9"),
        ({"query": "x", "repos": [{"originUri": "https://me:secret@example.org/nope.git"}]}, "example.org/nope"),
        ({"query": "x", "repos": [{"name": "nope"}]}, "not in the index: nope"),
    ],
)
def test_an_unindexed_name_is_a_404_that_says_what_is_indexed(refused, body, says):
    assert says in refused(404, json=body)["detail"]


def test_a_cursor_of_another_search_is_refused(refused, search):
    cursor = search("retry page", top_k=1)["next_cursor"]
    assert "another search" in refused(400, json={"query": "retry", "top_k": 1, "cursor": cursor})["detail"]


def test_a_body_that_is_too_large_is_refused(refused):
    refused(413, data=b'{"query": "' + b"x" * 60_000 + b'"}', content_type="application/json")


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_body_that_is_not_json_is_refused(refused, content_type):
    refused(415, data="query=x", content_type=content_type)


def test_an_unknown_path_and_a_wrong_method_are_problems_too(client):
    missing, wrong = client.get("/nope"), client.get("/search-code")
    assert (missing.status_code, missing.mimetype) == (404, "application/problem+json")
    assert (wrong.status_code, wrong.mimetype) == (405, "application/problem+json")
    assert "POST" in wrong.headers["Allow"]


def test_unpaired_surrogates_are_accepted(client):
    body = '{"query": "retry \\ud800", "filters": {"tags": ["\\udfff"]}}'
    assert client.post("/search-code", data=body, content_type="application/json").status_code == 200


def test_a_request_keeps_its_id(client):
    given = client.post("/search-code", json={}, headers={"X-Request-ID": "abc-1"})
    assert given.headers["X-Request-ID"] == given.get_json()["request_id"] == "abc-1"
    made = client.get("/healthz", headers={"X-Request-ID": "not an id\u00e9"}).headers["X-Request-ID"]
    assert len(made) == 32


class SilentEmbedder:
    """A model whose server does not answer."""

    def __init__(self, real):
        self.name, self.dimension, self.max_tokens = real.name, real.dimension, real.max_tokens

    def embed_query(self, text):
        raise EmbedderUnavailable("the server does not answer")

    def close(self):
        pass


def test_without_embeddings_a_search_answers_by_words_and_says_so(settings, store, embedder):
    app = create_app(settings, store, SilentEmbedder(embedder))
    answer = app.test_client().post("/search-code", json={"query": "retry_later"}).get_json()
    assert answer["results"][0]["path"] == "src/retry.py"
    assert answer["degraded"] == ["embedding"]
    ready = app.test_client().get("/readyz")
    assert ready.status_code == 200
    assert "unavailable" in ready.get_json()["checks"]["embedding"]


@pytest.fixture(scope="module")
def stranded():
    """Return a client of a service whose OpenSearch is unreachable."""
    settings = {
        "store": "opensearch",
        "api": {"trust_loopback": True},
        "opensearch": {"urls": ["http://127.0.0.1:9"], "timeout_seconds": 1, "max_retries": 0},
    }
    return create_app(SettingsModel.model_validate(settings)).test_client()


def test_an_unreachable_store_is_a_503_with_retry_after(stranded):
    for response in (stranded.post("/search-code", json={"query": "x"}), stranded.get("/repos")):
        assert (response.status_code, response.mimetype) == (503, "application/problem+json")
        assert int(response.headers["Retry-After"]) > 0


def test_a_service_without_its_store_is_alive_but_not_ready(stranded):
    assert stranded.get("/healthz").status_code == 200
    ready = stranded.get("/readyz")
    assert ready.status_code == 503
    assert ready.get_json()["status"] == "unavailable"
    assert ready.headers["Retry-After"]


def test_an_unexpected_error_shows_no_internals(settings, store, embedder):
    class Broken(SilentEmbedder):
        def embed_query(self, text):
            raise ZeroDivisionError("secret detail")

    response = create_app(settings, store, Broken(embedder)).test_client().post("/search-code", json={"query": "x"})
    assert (response.status_code, response.mimetype) == (500, "application/problem+json")
    assert "secret" not in response.text
    assert "Traceback" not in response.text
    assert response.get_json()["request_id"] in response.get_json()["detail"]


def test_an_index_of_another_model_is_refused_with_advice(settings, store, embedder):
    class Other(SilentEmbedder):
        def __init__(self, real):
            super().__init__(real)
            self.name = "other-model"

    response = create_app(settings, store, Other(embedder)).test_client().post("/search-code", json={"query": "x"})
    assert response.status_code == 500
    assert "this index was made with model" in response.get_json()["detail"]


@pytest.mark.parametrize("depth", [33, 200_000 // 10])
def test_a_body_nested_too_deeply_is_refused(refused, depth):
    body = '{"query": "x", "filters": ' + "[" * depth + "]" * depth + "}"
    assert "deeper than 32" in refused(400, data=body, content_type="application/json")["detail"]


def test_an_unclosed_string_is_scanned_only_once():
    """If it were scanned again from each of a million quotes, the service would be busy for hours."""
    with pytest.raises(UsageError, match="not valid JSON"):
        parse_json(b'{"query": "' + b'\\"' * 1_000_000)
    with pytest.raises(UsageError, match="deeper than 32"):
        parse_json(b'["\\\\", "\\"' + b"]" + b'", ' + b"[" * 40)


def test_brackets_in_a_string_are_not_nesting(search):
    assert search('"\\[' + "[" * 100)
