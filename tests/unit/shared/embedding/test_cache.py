from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from codequarry.shared.embedding.cache import embed_with_cache, vector_key
from codequarry.shared.embedding.factory import open_built_in
from codequarry.shared.embedding.tokens import count_tokens
from codequarry.shared.errors import EmbeddingError, TextsRejected
from codequarry.shared.settings.config import EmbeddingSettings, SettingsModel
from codequarry.shared.store.factory import open_store
from codequarry.shared.store.port import Store


@pytest.fixture
def open_cache(tmp_path: Path) -> Iterator[Callable[[int], Store]]:
    """Return a function that opens an embedded store for vectors of some dimension."""
    opened: list[Store] = []

    def opener(dimension: int) -> Store:
        opened.append(open_store(SettingsModel(home=tmp_path), dimension))
        return opened[-1]

    yield opener
    for store in opened:
        store.close()


def test_a_key_tells_models_and_texts_apart() -> None:
    key = vector_key("model", "text")
    assert len(key) == 64
    assert int(key, 16) > 0
    assert key == vector_key("model", "text")
    assert len({key, vector_key("model2", "text"), vector_key("model", "text2"), vector_key("model\0text", "")}) == 4
    assert vector_key("model", "\ud800") != vector_key("model", "?")


def test_what_was_embedded_is_not_embedded_again(open_cache: Callable[[int], Store]) -> None:
    store, model = open_cache(256), open_built_in(EmbeddingSettings())
    first = embed_with_cache(["one", "two"], model, store)
    assert (first.reused, first.embedded) == (0, 2)
    second = embed_with_cache(["two", "three", "one"], model, store)
    assert (second.reused, second.embedded) == (2, 1)
    assert second.tokens == count_tokens("three")
    assert second.keys == tuple(vector_key(model.name, text) for text in ("two", "three", "one"))
    rows = np.array([second.vectors[key] for key in second.keys])
    np.testing.assert_allclose(rows, model.embed_documents(["two", "three", "one"]), atol=1e-6)


def test_the_same_text_in_one_call_is_embedded_once(
    open_cache: Callable[[int], Store], server: Any, connect: Any
) -> None:
    made = embed_with_cache(["one", "two", "one", "one"], connect(), open_cache(8))
    assert (made.reused, made.embedded, len(made.keys), len(made.vectors)) == (2, 2, 4, 2)
    assert [request["input"] for request in server.requests] == [["one", "two"]]


def test_no_texts_ask_nobody(open_cache: Callable[[int], Store], server: Any, connect: Any) -> None:
    made = embed_with_cache([], connect(), open_cache(8))
    assert (made.keys, made.vectors, made.tokens) == ((), {}, 0)
    assert not server.requests


def test_another_document_prefix_is_another_entry(open_cache: Callable[[int], Store]) -> None:
    store = open_cache(256)
    embed_with_cache(["one"], open_built_in(EmbeddingSettings()), store)
    prefixed = embed_with_cache(["one"], open_built_in(EmbeddingSettings(document_prefix="text: ")), store)
    assert prefixed.embedded == 1


def test_an_interrupted_run_does_not_pay_twice(open_cache: Callable[[int], Store], server: Any, connect: Any) -> None:
    texts = [f"text {number}" for number in range(6)]
    server.script.extend(
        [lambda body: server.Reply(200, server.right(body)), server.Reply(401, {"error": {"message": "expired"}})]
    )
    with pytest.raises(EmbeddingError, match="expired"):
        embed_with_cache(texts, connect(batch_size=2, concurrency=1), open_cache(8))
    server.requests.clear()
    made = embed_with_cache(texts, connect(batch_size=2, concurrency=1), open_cache(8))
    assert (made.reused, made.embedded) == (2, 4)
    assert [request["input"] for request in server.requests] == [texts[2:4], texts[4:]]


def test_refused_texts_are_named_after_all_others_are_kept(
    open_cache: Callable[[int], Store], server: Any, connect: Any
) -> None:
    store = open_cache(8)
    server.refused = {"bad"}
    texts = ["good", "bad", "fine", "bad", "late"]
    with pytest.raises(TextsRejected) as caught:
        embed_with_cache(texts, connect(batch_size=2, concurrency=1), store)
    assert caught.value.reasons == {1: "this input is not allowed", 3: "this input is not allowed"}
    server.requests.clear()
    made = embed_with_cache(["good", "fine", "late"], connect(), store)
    assert (made.reused, made.embedded) == (3, 0)
    assert not server.requests
