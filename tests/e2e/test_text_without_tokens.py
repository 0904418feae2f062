"""Text without any token of the default model: its vector would be all zeros, which no store accepts."""

from collections.abc import Callable
from typing import Any

import pytest

FILES = {
    "说明": "重试之间等待几秒。\n",
    "src/server.go": "package server\n\n// Serve answers requests.\nfunc Serve(port int) error {\n\treturn nil\n}\n",
}


@pytest.fixture(scope="module")
def indexed(new_workspace: Callable[[], Any]) -> Any:
    """Return a workspace with one repository, for tests that only read."""
    place = new_workspace()
    place.indexed("manual", FILES)
    return place


@pytest.mark.parametrize("query", ["等待几秒", "→ ()", "¿"])
def test_it_is_indexed_and_found(indexed: Any, query: str) -> None:
    body = indexed.run("search", query, "--json").json
    assert body["reason"] is None
    assert body["results"][0]["path"] == "说明"
    assert {hit["path"] for hit in body["results"]} == set(FILES)


def test_it_is_similar_only_to_other_text_without_tokens(indexed: Any) -> None:
    outcome = indexed.run("embed-check", "→", "¿")
    assert "1.00" in outcome.out
