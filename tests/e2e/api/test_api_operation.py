"""What operators see: repositories, probes, metrics, the description of the API."""

import re

import pytest

from codequarry.search_api.http.admission import NEEDS
from codequarry.search_api.query.filters import FILTERS
from codequarry.search_api.query.request import FIELDS
from codequarry.shared.catalog.repositories import Progress, Repository, clear_progress, save_progress, save_repository
from codequarry.shared.telemetry.instruments import METRICS


@pytest.fixture
def importing(store):
    """Add a repository to the catalog whose first import is running."""
    save_repository(store, Repository("later", "https://github.com/example/later", "main", head_commit="f" * 40))
    save_progress(
        store, Progress("later", "indexing", "f" * 40, 43, 100, 0, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z")
    )
    yield
    clear_progress(store, "later")
    store.delete_document("repository:later")


def test_an_empty_index_says_that_nothing_is_indexed(client, search):
    answer = search("anything")
    assert answer["results"] == []
    assert answer["reason"] == "not indexed yet"
    assert "codequarry index" in answer["suggestion"]
    assert client.get("/repos").get_json() == {"repos": []}


def test_a_first_import_reports_its_progress(client, importing, search):
    described = client.get("/repos").get_json()["repos"]
    assert [(repo["name"], repo["state"], repo["percent"], repo["indexed_commit"]) for repo in described] == [
        ("later", "importing", 43, None)
    ]
    answer = search("anything", filters={"repo": "later"})
    assert answer["reason"] == "importing: later 43 %"
    assert [(entry["repo"], entry["state"], entry["percent"]) for entry in answer["freshness"]] == [
        ("later", "importing", 43)
    ]


def test_repos_describe_the_state_of_each_repository(client, indexed, embedder):
    described = {repo["name"]: repo for repo in client.get("/repos").get_json()["repos"]}
    core = described["core"]
    assert core["indexed_commit"] == core["head_commit"] == indexed["core"].git("rev-parse", "HEAD")
    assert core["state"] == "ready" and core["percent"] is None and core["branch"] == "main"
    assert core["skipped"] == {"binary": 1}
    assert core["files"] == 6 and core["chunks"] > 6
    assert core["model"] == embedder.name
    assert list(described) == sorted(described)


def test_probes_answer(client, indexed):
    assert client.get("/healthz").get_json()["status"] == "ok"
    ready = client.get("/readyz")
    assert ready.status_code == 200
    assert ready.get_json()["checks"]["store"] == "ok"


def test_metrics_count_searches_by_outcome_and_measure_their_stages(client, indexed):
    def value(metric):
        found = re.search(rf"^{re.escape(metric)} (\S+)$", client.get("/metrics").text, re.MULTILINE)
        return float(found.group(1)) if found else 0.0

    found, refused = 'codequarry_searches_total{outcome="found"}', 'codequarry_searches_total{outcome="refused"}'
    before = value(found), value(refused)
    client.post("/search-code", json={"query": "retry"})
    client.post("/search-code", json={"query": ""})
    assert (value(found), value(refused)) == (before[0] + 1, before[1] + 1)
    assert value('codequarry_search_stage_seconds_count{stage="recall"}') >= 1


def test_metric_labels_are_bounded(client, indexed):
    client.get("/secret-path-in-the-address")
    client.open("/repos", method="PROPFIND")
    text = client.get("/metrics").text
    assert client.get("/metrics").mimetype == "text/plain"
    assert "secret-path" not in text
    assert "PROPFIND" not in text
    labels = set(re.findall(r"(\w+)=\"", text))
    assert labels - {"le"} <= {label for metric in METRICS for label in metric.labels}
    assert "repo" not in labels


def test_the_api_describes_itself(client):
    spec = client.get("/openapi.json").get_json()
    assert spec["openapi"].startswith("3.1")
    rules = {request.partition(" ")[2].replace("<", "{").replace(">", "}") for request in NEEDS}
    assert set(spec["paths"]) == rules - {"/openapi.json"}
    operation = spec["paths"]["/search-code"]["post"]
    assert set(operation["responses"]) == {
        *("200", "202", "400", "401", "403", "404", "413", "415", "429", "500", "501", "503", "504")
    }
    assert operation["security"] == [{"key": []}]
    assert spec["paths"]["/healthz"]["get"]["security"] == []
    body = spec["components"]["schemas"]["SearchBody"]
    assert set(body["properties"]) == {*FIELDS, "token"}
    filters = next(option for option in body["properties"]["filters"]["anyOf"] if option.get("type") == "object")
    assert set(filters["properties"]) == set(FILTERS)
    assert body["examples"]


def test_every_reference_of_the_description_resolves(client):
    text = client.get("/openapi.json").text
    schemas = client.get("/openapi.json").get_json()["components"]["schemas"]
    assert set(re.findall(r'"#/components/schemas/([^"]+)"', text)) <= set(schemas)


def test_a_new_commit_is_searched_while_paging_continues_on_the_old_commit(client, index, indexed, search):
    first = search("retry page", top_k=2)
    repository = indexed["core"]
    old = repository.git("rev-parse", "HEAD")
    new = repository.commit({"src/retry.py": None, "src/again.py": "def retry_page():\n    return 'retry page'\n"})
    assert index(repository.folder).commit == new
    fresh = search("retry page", top_k=50)
    assert {hit["commit"] for hit in fresh["results"] if hit["repo"] == "core"} == {new}
    assert "src/retry.py" not in {hit["path"] for hit in fresh["results"]}
    rest = []
    cursor = first["next_cursor"]
    while cursor:
        answer = search("retry page", top_k=2, cursor=cursor)
        rest += [hit["path"] for hit in answer["results"]]
        cursor = answer["next_cursor"]
    shown = {hit["path"] for hit in first["results"]} | set(rest)
    assert "src/retry.py" in shown
    assert "src/again.py" not in shown
    before = search("retry", filters={"commit": old, "repo": "core"}, top_k=50)
    assert "src/retry.py" in {hit["path"] for hit in before["results"]}
