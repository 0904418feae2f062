"""Every way in which a cluster can fail a caller, told as one of our errors, in words that help and hide secrets."""

import json
import logging
import socket
from collections.abc import Iterator

import pytest
import stamina

from codequarry.shared.errors import ModelMismatch, StoreError, StoreFull, StoreUnavailable
from codequarry.shared.model import Filters, Layer, Snapshot
from codequarry.shared.settings.config import OpenSearchSettings
from codequarry.shared.store.opensearch.connection import Serializer, reason_of, shown_urls
from codequarry.shared.store.opensearch.store import OpenSearchStore
from codequarry.shared.store.port import Store

SECRET = "hunter2"
NOW = Snapshot((Layer((1,), 1),))
JSON = {"Content-Type": "application/json"}


@pytest.fixture(autouse=True)
def no_waiting() -> Iterator[None]:
    stamina.set_testing(True, attempts=3)
    yield
    stamina.set_testing(False)


def store_at(url: str, **settings: object) -> OpenSearchStore:
    return OpenSearchStore(OpenSearchSettings(urls=(url,), timeout_seconds=1, **settings), 4)


def error_body(status: int, kind: str, reason: str) -> tuple[int, dict[str, str], bytes]:
    error = {"type": kind, "reason": reason, "root_cause": [{"type": kind, "reason": reason}]}
    return status, JSON, json.dumps({"error": error, "status": status}).encode()


def failure_of(store: Store) -> StoreError:
    with pytest.raises(StoreError) as caught:
        store.count(NOW, Filters())
    store.close()
    assert SECRET not in str(caught.value)
    return caught.value


def test_a_cluster_that_is_not_there_is_named_with_what_to_run() -> None:
    failure = failure_of(store_at(f"http://user:{SECRET}@127.0.0.1:9"))
    assert isinstance(failure, StoreUnavailable)
    assert "http://127.0.0.1:9" in str(failure)
    assert "codequarry opensearch start" in str(failure)


def test_a_cluster_that_does_not_answer_in_time_is_told_apart() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        failure = failure_of(store_at(f"http://127.0.0.1:{silent.getsockname()[1]}"))
    assert isinstance(failure, StoreUnavailable)
    assert "did not answer within 1 s" in str(failure)


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        ((401, {}, b"Unauthorized"), StoreError, "opensearch.password"),
        (error_body(403, "security_exception", "no permissions for [indices:data/read]"), StoreError, "no permissions"),
        (error_body(429, "rejected_execution_exception", "queue is full"), StoreUnavailable, "queue is full"),
        (error_body(503, "cluster_block_exception", "no master"), StoreUnavailable, "no master"),
        (
            error_body(429, "cluster_block_exception", "disk usage exceeded flood-stage watermark"),
            StoreFull,
            "make room",
        ),
        (error_body(500, "i_o_exception", "No space left on device"), StoreFull, "make room"),
        (error_body(400, "illegal_argument", "Query vector has invalid dimension: 3"), ModelMismatch, "another length"),
        (error_body(400, "parsing_exception", "unknown query"), StoreError, "parsing_exception: unknown query"),
        ((502, {}, b"<html>bad gateway</html>"), StoreUnavailable, "try again"),
    ],
)
def test_a_refusal_becomes_the_error_that_says_what_to_do(serve, answer, kind, words) -> None:
    failure = failure_of(store_at(serve(lambda method, path, body: answer), user="me", password=SECRET))
    assert type(failure) is kind
    assert words in str(failure)


def test_the_account_is_sent_whether_it_stands_in_the_settings_or_in_the_url(serve) -> None:
    seen: list[str] = []

    def reply(method: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        seen.append(headers.get("authorization", ""))
        return error_body(400, "x", "y")

    url = serve(reply, with_headers=True)
    failure_of(store_at(url, user="me", password=SECRET))
    failure_of(store_at(url.replace("//", "//me:hunter2@")))
    failure_of(store_at(url.replace("//", "//me@")))
    assert seen == ["Basic bWU6aHVudGVyMg==", "Basic bWU6aHVudGVyMg==", "Basic bWU6"]


def test_urls_are_shown_without_accounts() -> None:
    settings = OpenSearchSettings(urls=("https://me:pw@one.example:9200/prefix", "http://two.example"))
    assert shown_urls(settings) == "https://one.example:9200/prefix, http://two.example"


def found_nothing(method: str, path: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
    return 200, JSON, json.dumps({"hits": {"total": {"value": 0}}}).encode()


def test_a_certificate_of_an_unknown_ca_is_refused_with_the_setting_that_helps(serve, tls) -> None:
    failure = failure_of(store_at(serve(found_nothing, tls[0])))
    assert isinstance(failure, StoreUnavailable)
    assert "opensearch.ca_file" in str(failure)


@pytest.mark.parametrize("trusting", ["ca_file", "verify_certificates"])
def test_a_certificate_is_accepted_by_its_ca_or_when_the_settings_say_so(serve, tls, trusting) -> None:
    settings = {"ca_file": tls[1]} if trusting == "ca_file" else {"verify_certificates": False}
    store = store_at(serve(found_nothing, tls[0]), **settings)
    assert store.count(NOW, Filters()) == 0
    store.close()


def test_a_busy_cluster_is_asked_again_for_a_write(serve) -> None:
    answers = iter([error_body(429, "rejected", "busy"), error_body(503, "rejected", "busy"), (404, JSON, b"{}")])
    url = serve(lambda method, path, body: next(answers))
    store = store_at(url)
    store.delete_document("k")
    store.close()


def test_text_that_is_no_unicode_can_be_sent() -> None:
    for text in ("plain", "größe", "lone \udc80 surrogate", "a\0b"):
        dumped = Serializer().dumps({"text": text})
        assert json.loads(dumped.encode()) == {"text": text}
    assert Serializer().dumps("as it is") == "as it is"


def test_the_innermost_reason_is_told_in_one_line() -> None:
    inner = {"type": "inner", "reason": "the very\n cause"}
    outer = {"type": "outer", "reason": "something", "caused_by": inner}
    assert reason_of({"error": outer}) == "inner: the very cause"
    assert reason_of({"error": {"type": "t", "reason": "r", "root_cause": [{"type": "t", "reason": "r"}]}}) == "t: r"
    assert reason_of({"error": "no handler"}) == "no handler"
    assert reason_of(None) == ""


def test_the_client_s_own_log_says_nothing_not_even_to_who_listens_to_it(caplog) -> None:
    """It would make a traceback of each failed request, twice a second as long as a node is silent."""
    client_log = logging.getLogger("opensearch")
    client_log.addHandler(caplog.handler)
    caplog.set_level(logging.DEBUG)
    try:
        failure_of(store_at("http://127.0.0.1:9"))
    finally:
        client_log.removeHandler(caplog.handler)
    # Its trace of requests is another log, which nobody hears but pytest.
    assert not [one for one in caplog.records if one.name == client_log.name]
