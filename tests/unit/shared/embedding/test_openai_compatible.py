import base64
import logging
import socket
import threading
import traceback
from collections import deque
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import numpy as np
import pytest
import stamina
from hypothesis import given
from hypothesis import strategies as st
from stamina.instrumentation import RetryDetails

from codequarry.shared.embedding.openai_compatible import OpenAICompatibleEmbedder, batches
from codequarry.shared.embedding.retries import Patience
from codequarry.shared.embedding.tokens import count_tokens
from codequarry.shared.errors import EmbedderUnavailable, EmbeddingError, TextsRejected, UsageError

KEY = "sk-secret"


def expected(server: Any, *texts: str, dimension: int = 8) -> np.ndarray:
    rows = np.array([server.vector_of(text, dimension) for text in texts])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def waits() -> Any:
    """Collect the details of each retry: the seconds waited and the cause."""
    seen: list[RetryDetails] = []
    stamina.instrumentation.set_on_retry_hooks([seen.append])
    yield seen
    stamina.instrumentation.set_on_retry_hooks(None)


def test_texts_become_normalised_vectors_in_order(server: Any, connect: Any) -> None:
    rows = connect().embed_documents(["one", "two", "three"])
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, expected(server, "one", "two", "three"), atol=1e-6)
    [request] = server.requests
    assert request == {"model": "some-model", "input": ["one", "two", "three"], "encoding_format": "float"}
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_vectors_in_another_order_are_sorted_by_index(server: Any, connect: Any) -> None:
    def shuffled(body: dict[str, Any]) -> Any:
        right = server.right(body)
        return server.Reply(200, right | {"data": right["data"][::-1]})

    server.script.append(shuffled)
    rows = connect().embed_documents(["one", "two", "three"])
    np.testing.assert_allclose(rows, expected(server, "one", "two", "three"), atol=1e-6)


def test_requests_are_limited_by_texts_and_by_tokens(server: Any, connect: Any) -> None:
    texts = [f"text {number}" for number in range(7)] + ["long " * 100]
    rows = connect(batch_size=3, batch_tokens=100, concurrency=1).embed_documents(texts)
    np.testing.assert_allclose(rows, expected(server, *texts), atol=1e-6)
    assert [len(request["input"]) for request in server.requests] == [3, 3, 1, 1]


def test_requests_are_sent_in_parallel(server: Any, connect: Any) -> None:
    server.together = threading.Barrier(3)
    texts = [f"text {number}" for number in range(6)]
    rows = connect(batch_size=2, concurrency=3).embed_documents(texts)
    np.testing.assert_allclose(rows, expected(server, *texts), atol=1e-6)


def test_an_empty_text_is_zeros_and_is_not_sent(server: Any, connect: Any) -> None:
    embedder = connect(dimensions=8)
    rows = embedder.embed_documents(["", "one", ""])
    assert not rows[0].any()
    assert not rows[2].any()
    assert not embedder.embed_query("").any()
    assert embedder.embed_documents([]).shape == (0, 8)
    assert [request["input"] for request in server.requests] == [["one"]]


def test_prefixes_and_input_types_differ_for_queries_and_documents(server: Any, connect: Any) -> None:
    embedder = connect(
        query_prefix="query: ", document_prefix="text: ", query_input_type="query", document_input_type="document"
    )
    embedder.embed_documents(["one"])
    embedder.embed_query("two")
    assert [(r["input"], r["input_type"]) for r in server.requests] == [
        (["text: one"], "document"),
        (["query: two"], "query"),
    ]


def test_a_known_model_has_prefixes_that_settings_can_remove(server: Any, connect: Any) -> None:
    connect(model="nomic-embed-text", dimensions=8).embed_documents(["one"])
    connect(model="nomic-embed-text", dimensions=8, document_prefix="").embed_documents(["one"])
    assert [request["input"] for request in server.requests] == [["search_document: one"], ["one"]]


def test_requests_to_voyage_use_its_parameters(server: Any, connect: Any) -> None:
    embedder = connect(model="voyage-code-3", dimensions=2048)
    np.testing.assert_allclose(embedder.embed_query("one"), expected(server, "one", dimension=2048)[0], atol=1e-6)
    [request] = server.requests
    assert request == {
        "model": "voyage-code-3",
        "input": ["one"],
        "input_type": "query",
        "output_dimension": 2048,
        "encoding_format": "base64",
    }


def test_the_name_depends_on_what_changes_vectors_but_not_on_the_server(server: Any, connect: Any) -> None:
    assert connect(model="text-embedding-3-small").name == "text-embedding-3-small-1536"
    assert connect(model="text-embedding-3-small", dimensions=512).name == "text-embedding-3-small-512"
    assert connect().name == "some-model"
    assert connect(document_prefix="text: ").name.startswith("some-model+")
    assert connect(model="voyage-code-3").name != connect(model="voyage-code-3", document_input_type="").name
    assert not server.requests


def test_an_unknown_dimension_is_requested_once(server: Any, connect: Any) -> None:
    embedder = connect()
    assert (embedder.dimension, embedder.dimension) == (8, 8)
    assert len(server.requests) == 1


def test_too_many_dimensions_are_refused_before_any_request(server: Any, connect: Any) -> None:
    with pytest.raises(UsageError, match="dimensions = 2000: 'text-embedding-3-small' has at most 1536"):
        connect(model="text-embedding-3-small", dimensions=2000)


def test_a_dimension_that_the_server_ignores_is_an_error(server: Any, connect: Any) -> None:
    server.script.append(lambda body: server.Reply(200, server.right(body | {"dimensions": 8})))
    with pytest.raises(EmbeddingError, match=r"has 8 numbers for text 0, not 4; see .embedding. model and dimensions"):
        connect(dimensions=4).embed_documents(["one"])


def test_responses_429_and_500_are_retried(server: Any, connect: Any) -> None:
    busy = server.Reply(429, {"error": {"message": "slow down"}})
    server.script.extend([busy, server.Reply(500, "oops"), server.Reply(503, {"detail": "loading"})])
    np.testing.assert_allclose(connect().embed_documents(["one"]), expected(server, "one"), atol=1e-6)
    assert len(server.requests) == 4


@pytest.mark.parametrize("as_date", [False, True])
def test_retry_after_is_respected_up_to_a_limit(
    server: Any, connect: Any, waits: list[RetryDetails], as_date: bool
) -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True) if as_date else "3600"
    server.script.append(server.Reply(429, {}, {"Retry-After": later}))
    connect(Patience(2, 10, first_wait=0.01, longest_wait=0.2, jitter=0.0)).embed_documents(["one"])
    assert [retry.wait_for for retry in waits] == [0.2]


def test_a_short_retry_after_is_respected_exactly(server: Any, connect: Any, waits: list[RetryDetails]) -> None:
    server.script.extend(
        [server.Reply(429, {}, {"Retry-After": "0.05"}), server.Reply(503, {}, {"retry-after-ms": "20"})]
    )
    connect(Patience(2, 10, first_wait=5, longest_wait=9)).embed_documents(["one"])
    assert [retry.wait_for for retry in waits] == pytest.approx([0.05, 0.02])


def test_a_server_that_stays_down_is_unavailable_after_max_retries(server: Any, connect: Any) -> None:
    server.script.extend([server.Reply(502, "<html>bad gateway</html>")] * 10)
    with pytest.raises(EmbedderUnavailable, match=rf"{server.url} answers 502: <html>bad gateway"):
        connect(max_retries=2).embed_documents(["one"])
    assert len(server.requests) == 3


def test_a_server_that_hangs_is_unavailable(server: Any, connect: Any) -> None:
    server.script.extend([server.Reply(hang=True)] * 2)
    with pytest.raises(EmbedderUnavailable, match=rf"{server.url} did not answer within 0.2 s"):
        connect(max_retries=1, timeout_seconds=0.2).embed_documents(["one"])
    assert len(server.requests) == 2


def test_a_query_is_retried_once(server: Any, connect: Any) -> None:
    server.script.extend([server.Reply(500, "oops")] * 10)
    with pytest.raises(EmbedderUnavailable, match="answers 500: oops"):
        connect(max_retries=6).embed_query("one")
    assert len(server.requests) == 2


def test_a_refused_connection_names_the_url_without_retries(connect: Any, waits: list[RetryDetails]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(EmbedderUnavailable, match=f"no embeddings server at {url} .*see .embedding. base_url"):
            connect(base_url=url).embed_documents(["one"])
    assert not waits


def test_an_exhausted_quota_is_not_retried(server: Any, connect: Any) -> None:
    server.script.append(server.Reply(429, {"error": {"message": "no credit left", "code": "insufficient_quota"}}))
    with pytest.raises(EmbeddingError, match="refuses the request: no credit left"):
        connect().embed_documents(["one"])
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, "refuses the key .*see .embedding. api_key"),
        (404, "see .embedding. base_url and model"),
        (418, "answers 418"),
    ],
)
def test_permanent_errors_are_reported_without_retries(server: Any, connect: Any, status: int, message: str) -> None:
    server.script.append(server.Reply(status, {"error": {"message": "no"}}))
    with pytest.raises(EmbeddingError, match=message) as caught:
        connect().embed_documents(["one"])
    assert not isinstance(caught.value, EmbedderUnavailable)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"data": [{"index": 0, "embedding": [1.0] * 8}]}, "has 1 vectors for 2 texts"),
        ({"data": [{"index": 0, "embedding": [1.0] * 8}] * 2}, "has the indices"),
        ({"error": {"message": "overloaded"}}, "has no vectors: overloaded"),
        ("<html>hello</html>", "did not send JSON"),
    ],
)
def test_a_wrong_answer_is_never_used(server: Any, connect: Any, body: object, message: str) -> None:
    server.script.append(server.Reply(200, body))
    with pytest.raises(EmbeddingError, match=message) as caught:
        connect().embed_documents(["one", "two"])
    assert server.url in str(caught.value)


def test_refused_texts_are_found_and_the_others_are_embedded(server: Any, connect: Any) -> None:
    texts = [f"text {number}" for number in range(50)]
    server.refused = {"text 17", "text 40"}
    with pytest.raises(TextsRejected, match=r"refused 2 texts .text 17: this input is not allowed") as caught:
        connect(batch_size=25, concurrency=2).embed_documents(texts)
    assert set(caught.value.reasons) == {17, 40}
    assert set(caught.value.vectors) == set(range(50)) - {17, 40}
    np.testing.assert_allclose(caught.value.vectors[3], expected(server, "text 3")[0], atol=1e-6)


def test_a_request_with_wrong_parameters_is_not_split_further(server: Any, connect: Any) -> None:
    server.script.extend([server.Reply(400, {"error": {"message": "unknown field input_type"}})] * 9)
    with pytest.raises(EmbeddingError, match="refuses every text: unknown field input_type") as caught:
        connect(document_input_type="x").embed_documents([f"text {number}" for number in range(64)])
    assert not isinstance(caught.value, TextsRejected)
    assert len(server.requests) == 2


def test_a_refused_query_is_an_error_with_its_reason(server: Any, connect: Any) -> None:
    server.refused = {"one"}
    with pytest.raises(EmbeddingError, match="refuses the query: this input is not allowed"):
        connect().embed_query("one")


def test_batches_shrink_to_what_a_server_accepts(server: Any, connect: Any) -> None:
    server.most_texts = 10
    embedder = connect(batch_size=32, concurrency=1)
    texts = [f"text {number}" for number in range(32)]
    np.testing.assert_allclose(embedder.embed_documents(texts), expected(server, *texts), atol=1e-6)
    server.requests.clear()
    embedder.embed_documents(texts)
    assert [len(request["input"]) for request in server.requests] == [8, 8, 8, 8]


def test_the_key_appears_only_in_the_header(
    server: Any, connect: Any, waits: list[RetryDetails], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.script.append(server.Reply(500, {"error": {"message": f"failed for {KEY}"}}))
    server.script.append(server.Reply(401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}))
    embedder = connect()
    with pytest.raises(EmbeddingError) as caught:
        embedder.embed_documents(["one"])
    texts = [
        "".join(traceback.format_exception(caught.value)),
        caplog.text,
        repr(embedder),
        repr(vars(embedder)),
        *(repr(retry.caused_by) for retry in waits),
    ]
    assert "Incorrect API key provided: ***" in texts[0]
    assert not any(KEY in text for text in texts)


def test_credentials_in_the_url_are_sent_but_never_shown(
    server: Any, connect: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    embedder = connect(base_url=server.url.replace("//", "//user:hid%21den@"))
    embedder.embed_documents(["one"])
    assert server.headers[0]["authorization"] == f"Basic {base64.b64encode(b'user:hid!den').decode()}"
    server.script.append(server.Reply(404, {"error": {"message": "nothing here for hid!den"}}))
    with pytest.raises(EmbeddingError, match=r"nothing here for \*\*\*") as caught:
        embedder.embed_documents(["two"])
    assert server.url in str(caught.value)
    shown = str(caught.value) + caplog.text + repr(vars(embedder))
    assert not any(secret in shown for secret in ("hid!den", "hid%21den"))
    assert "Basic" not in shown


def test_without_a_key_none_is_sent_even_if_openai_api_key_is_set(
    server: Any, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-someone-else")
    connect(api_key=None).embed_documents(["one"])
    assert "authorization" not in server.headers[0]


def test_a_long_text_is_cut_into_windows_that_fit(server: Any, connect: Any) -> None:
    embedder = connect(context_window=64)
    text = " ".join(f"name{number}" for number in range(200))
    windows = embedder.windows(text)
    assert embedder.max_tokens == 64
    assert len(windows) > 5
    assert all(window.end_token - window.start_token <= 56 for window in windows)
    assert len(text) == windows[-1].start_char + (windows[-1].characters or 0)


def test_a_query_longer_than_the_window_is_the_mean_of_all_its_windows(server: Any, connect: Any) -> None:
    embedder = connect(context_window=64, query_prefix="find: ")
    text = " ".join(f"name{number}" for number in range(200))
    found = embedder.embed_query(text)
    [request] = server.requests
    assert len(request["input"]) > 5
    assert all(part.startswith("find: ") and part.removeprefix("find: ") in text for part in request["input"])
    mean = expected(server, *request["input"]).mean(axis=0)
    np.testing.assert_allclose(found, mean / np.linalg.norm(mean), atol=1e-6)


def test_a_model_with_an_unknown_window_gets_the_usual_window(connect: Any) -> None:
    embedder = connect()
    assert embedder.max_tokens == 8192
    assert [window.text for window in embedder.windows("word " * 4000)] == ["word " * 4000]
    assert len(embedder.windows("word " * 9000)) == 3, "white space counts, because some tokenizers count it"


def test_more_than_the_window_of_a_known_model_is_refused(connect: Any) -> None:
    with pytest.raises(UsageError, match="context_window = 9000: model 'text-embedding-3-small' reads 8192 tokens"):
        connect(model="text-embedding-3-small", context_window=9000)


@pytest.mark.parametrize("status", [400, 413, 500])
def test_a_text_that_the_server_finds_too_long_is_embedded_in_parts(server: Any, connect: Any, status: int) -> None:
    """A server may have a smaller window than the settings say; no text may be lost for that."""

    def answer(body: dict[str, Any]) -> Any:
        if any(len(text) > 1500 for text in body["input"]):
            return server.Reply(status, {"error": {"message": "the input is too long: maximum 300 tokens"}})
        return server.Reply(200, server.right(body))

    server.script.extend([answer] * 100)
    text = " ".join(f"name{number}" for number in range(500))
    rows = connect().embed_documents(["short", text, "other"])
    np.testing.assert_allclose(rows[[0, 2]], expected(server, "short", "other"), atol=1e-6)
    parts = [part for request in server.requests for part in request["input"] if part in text and len(part) <= 1500]
    assert "".join(sorted(set(parts), key=text.index)) == text
    assert np.isclose(np.linalg.norm(rows[1]), 1)


def test_a_long_text_whose_content_is_refused_is_reported(server: Any, connect: Any) -> None:
    def answer(body: dict[str, Any]) -> Any:
        if any("forbidden" in text for text in body["input"]):
            return server.Reply(400, {"error": {"message": "this input is not allowed"}})
        return server.Reply(200, server.right(body))

    server.script.extend([answer] * 100)
    text = " ".join([*(f"name{number}" for number in range(500)), "forbidden"])
    with pytest.raises(TextsRejected, match="this input is not allowed") as caught:
        connect().embed_documents(["short", text])
    assert list(caught.value.vectors) == [0]


def test_after_a_failure_the_remaining_texts_are_not_sent(server: Any, connect: Any) -> None:
    server.script = deque([server.Reply(401, {"error": {"message": "no"}})] * 4)
    embedder: OpenAICompatibleEmbedder = connect(batch_size=1, concurrency=2)
    with pytest.raises(EmbeddingError, match="refuses the key"):
        embedder.embed_documents([f"text {number}" for number in range(100)])
    assert len(server.requests) < 100


def test_batches_respect_both_limits_and_skip_empty_texts() -> None:
    texts = ["a" * 29, "b" * 29, "", "c" * 290, "d", "e", "f"]
    assert list(batches(texts, most_texts=2, most_tokens=20)) == [[0, 1], [3], [4, 5], [6]]
    assert list(batches(["", ""], 10, 10)) == []


@given(texts=st.lists(st.text(max_size=80), max_size=40), most_texts=st.integers(1, 8), most_tokens=st.integers(1, 60))
def test_batches_contain_every_text_once_in_order(texts: list[str], most_texts: int, most_tokens: int) -> None:
    found = list(batches(texts, most_texts, most_tokens))
    assert [index for batch in found for index in batch] == [index for index, text in enumerate(texts) if text]
    for batch in found:
        assert 0 < len(batch) <= most_texts
        assert len(batch) == 1 or sum(count_tokens(texts[index]) for index in batch) <= most_tokens
