"""Definitions and edges over HTTP: the answers follow their schemas, and the pages and errors are those documented."""

from collections.abc import Callable
from typing import Any

import jsonschema
import pytest

FILES = {
    "src/store.py": "class Store:\n    def load(self, key):\n        return self.check(key)\n\n"
    "    def check(self, key):\n        return key\n",
    "src/app.py": "from store import Store\n\n\ndef main():\n    return Store().load(1)\n",
    "README.md": "# App\n\nIt begins in `src/app.py`.\n",
}


@pytest.fixture(scope="module")
def indexed(place: Any, index: Callable[..., Any]) -> Any:
    """Index a repository with two modules and a document."""
    repository = place.repository("related", FILES)
    index(repository.folder)
    return repository


@pytest.fixture
def check(client: Any, indexed: Any) -> Callable[..., Any]:
    """Return a function that checks an answer against a schema of the service and returns it."""
    document = client.get("/openapi.json").get_json()

    def checked(response: Any, schema: str) -> Any:
        assert response.status_code == 200, response.text
        reference = {"$ref": f"#/components/schemas/{schema}", "components": document["components"]}
        jsonschema.validate(response.get_json(), reference)
        return response.get_json()

    return checked


def test_definitions_are_listed(client: Any, check: Callable[..., Any]) -> None:
    answer = check(client.get("/symbols?name=Store.load&repo=related"), "Definitions")
    (found,) = answer["definitions"]
    assert (found["path"], found["start_line"], found["container"]) == ("src/store.py", 2, "Store")
    assert (answer["total"], answer["next_cursor"], answer["freshness"][0]["ref"]) == (1, None, "main")


def test_edges_are_listed_page_by_page(client: Any, check: Callable[..., Any]) -> None:
    body = {"name": "Store.load", "direction": "both", "kinds": ["call"], "filters": {"repo": "related"}}
    body["limit"] = 1
    first = check(client.post("/graph", json=body), "Edges")
    second = check(client.post("/graph", json=body | {"cursor": first["next_cursor"]}), "Edges")
    edges = [*first["edges"], *second["edges"]]
    assert [(edge["from"]["symbol"], edge["to"]["symbol"]) for edge in edges] == [
        ("main", "Store.load"),
        ("Store.load", "Store.check"),
    ]
    assert (first["total"], second["next_cursor"]) == (2, None)


def test_a_hit_can_be_asked_for_its_neighbours(client: Any, search: Any, check: Callable[..., Any]) -> None:
    hit = search("main", filters={"repo": "related"})["results"][0]
    answer = check(client.post("/graph", json={"chunk_id": hit["id"], "direction": "out", "kinds": ["call"]}), "Edges")
    assert {edge["to"]["symbol"] for edge in answer["edges"]} == {"Store", "Store.load"}


def test_documents_lead_to_the_files_that_they_name(client: Any, check: Callable[..., Any]) -> None:
    answer = check(client.post("/graph", json={"name": "src/app.py", "kinds": ["link"]}), "Edges")
    (edge,) = answer["edges"]
    assert (edge["from"]["path"], edge["from"]["line"], edge["to"]["path"]) == ("README.md", 3, "src/app.py")


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({}, 400, "either 'name' or 'chunk_id'"),
        ({"name": "x", "kinds": ["calls"]}, 400, "calls"),
        ({"name": "x", "direction": "up"}, 400, "up"),
        ({"name": "x", "depth": 9}, 400, "depth"),
        ({"name": "x", "min_confidence": 2}, 400, "min_confidence"),
        ({"name": "x", "colour": 1}, 400, "colour"),
        ({"name": "x", "filters": {"repo": "nowhere"}}, 404, "nowhere"),
        ({"name": "x", "filters": {"type": "commit"}}, 400, "not in commits"),
        ({"name": "?!"}, 400, "not the name of a symbol"),
    ],
)
def test_wrong_requests_are_problems(client: Any, indexed: Any, body: Any, status: int, words: str) -> None:
    response = client.post("/graph", json=body)
    assert response.status_code == status
    assert response.content_type == "application/problem+json" and words in response.get_json()["detail"]
