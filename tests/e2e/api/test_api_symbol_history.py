"""When a symbol changed, over HTTP: the real pipeline indexes some commits, and the answer follows its schema."""

from collections.abc import Callable
from typing import Any

import jsonschema
import pytest

ONE = "def retry_delay(attempt: int) -> float:\n    delay = 2.0**attempt\n    return delay\n\n\n"
TWO = ONE.replace("2.0", "3.0")
OTHER = "class Store:\n    def load(self, key):\n        value = key + 1\n        return value\n"


@pytest.fixture(scope="module")
def commits(place: Any, index: Callable[..., Any]) -> list[str]:
    """Index a repository at four commits, of which two came at once, and return the indexed commits."""
    repository = place.repository("timed", {"src/delay.py": ONE, "src/store.py": OTHER})
    found = []
    for steps in ([], [{"src/delay.py": ONE + "X = 1\n"}, {"src/delay.py": TWO}], [{"src/store.py": None}]):
        for step in steps:
            repository.commit(step)
        index(repository.folder)
        found.append(repository.git("rev-parse", "HEAD"))
    return found


@pytest.fixture
def ask(client: Any, commits: list[str]) -> Callable[..., Any]:
    """Return a function that asks for a history and returns the body, checked against the schema."""
    document = client.get("/openapi.json").get_json()

    def get(query: str) -> Any:
        response = client.get(f"/symbols/history?repo=timed&{query}")
        assert response.status_code == 200, response.text
        schema = {"$ref": "#/components/schemas/SymbolHistory", "components": document["components"]}
        jsonschema.validate(response.get_json(), schema)
        return response.get_json()

    return get


def test_events_name_the_range_of_commits_between_two_heads(ask: Any, commits: list[str]) -> None:
    answer = ask("name=retry_delay")
    (item,) = answer["declarations"]
    changed, present = item["events"]
    assert (changed["event"], changed["commit_count"]) == ("changed", 2)
    assert changed["range"] == f"{commits[0]}..{commits[1]}"
    assert (present["event"], present["commit"], item["begins"]["commit"]) == ("present", commits[0], commits[0])
    assert (changed["after"]["start_line"], changed["after"]["end_line"]) == (1, 3)
    assert (answer["total"], answer["total_events"], answer["next_cursor"]) == (1, 2, None)


def test_both_texts_of_a_change_can_be_fetched(ask: Any, search: Any) -> None:
    changed = ask("name=retry_delay")["declarations"][0]["events"][0]
    for text, expected in ((changed["before"], "2.0"), (changed["after"], "3.0")):
        filters = {"commit": text["commit"], "id": text["id"], "content_hash": text["content_hash"]}
        (hit,) = search("retry_delay", filters=filters)["results"]
        assert expected in hit["text"]


def test_a_vanished_symbol_is_found_by_its_qualified_name(ask: Any, commits: list[str]) -> None:
    (item,) = ask("name=Store.load")["declarations"]
    assert (item["exists"], item["path"]) == (False, "src/store.py")
    assert [(event["event"], event["commit"]) for event in item["events"]] == [
        ("vanished", commits[2]),
        ("present", commits[0]),
    ]


def test_the_service_does_not_ask_git_and_says_so(ask: Any) -> None:
    answer = ask("name=retry_delay")
    assert answer["declarations"][0]["beyond"] is None
    assert "codequarry log --git" in answer["beyond_reason"]


def test_pages_follow_each_other(ask: Any) -> None:
    first = ask("name=retry_delay&limit=1")
    second = ask(f"name=retry_delay&limit=1&cursor={first['next_cursor']}")
    events = [page["declarations"][0]["events"][0]["event"] for page in (first, second)]
    assert (events, second["next_cursor"]) == (["changed", "present"], None)


@pytest.mark.parametrize(
    ("query", "status", "detail"),
    [
        ("", 400, "name is missing"),
        ("name=1", 400, "not the name of a symbol"),
        ("name=x&limit=0", 400, "limit"),
        ("name=x&tags=1", 400, "tags"),
        ("name=x&cursor=x", 400, "cursor"),
        ("name=x&repo=nope", 404, "nope"),
        ("name=x&branch=nope", 404, "nope"),
    ],
)
def test_wrong_requests_are_refused(client: Any, commits: list[str], query: str, status: int, detail: str) -> None:
    response = client.get(f"/symbols/history?{query}")
    assert (response.status_code, response.mimetype) == (status, "application/problem+json")
    assert detail in response.get_json()["detail"]
