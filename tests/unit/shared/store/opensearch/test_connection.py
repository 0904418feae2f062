"""Every failure of a cluster becomes one of our errors, with a helpful message and without secrets."""

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


def test_a_refused_connection_names_the_command_to_run() -> None:
    failure = failure_of(store_at(f"http://user:{SECRET}@127.0.0.1:9"))
    assert isinstance(failure, StoreUnavailable)
    assert "http://127.0.0.1:9" in str(failure)
    assert "codequarry opensearch start" in str(failure)


def test_a_timeout_has_its_own_message() -> None:
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
            "free some space",
        ),
        (error_body(500, "i_o_exception", "No space left on device"), StoreFull, "free some space"),
        (error_body(400, "illegal_argument", "Query vector has invalid dimension: 3"), ModelMismatch, "a different"),
        (error_body(400, "parsing_exception", "unknown query"), StoreError, "parsing_exception: unknown query"),
        ((502, {}, b"<html>bad gateway</html>"), StoreUnavailable, "try again"),
    ],
)
def test_each_refusal_becomes_its_error_with_a_remedy(serve, answer, kind, words) -> None:
    failure = failure_of(store_at(serve(lambda method, path, body: answer), user="me", password=SECRET))
    assert type(failure) is kind
    assert words in str(failure)


def test_credentials_are_sent_from_the_settings_or_the_url(serve) -> None:
    seen: list[str] = []

    def reply(method: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        seen.append(headers.get("authorization", ""))
        return error_body(400, "x", "y")

    url = serve(reply, with_headers=True)
    failure_of(store_at(url, user="me", password=SECRET))
    failure_of(store_at(url.replace("//", "//me:hunter2@")))
    failure_of(store_at(url.replace("//", "//me@")))
    assert seen == ["Basic bWU6aHVudGVyMg==", "Basic bWU6aHVudGVyMg==", "Basic bWU6"]


def test_urls_are_shown_without_credentials() -> None:
    settings = OpenSearchSettings(urls=("https://me:pw@one.example:9200/prefix", "http://two.example"))
    assert shown_urls(settings) == "https://one.example:9200/prefix, http://two.example"


def found_nothing(method: str, path: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
    return 200, JSON, json.dumps({"hits": {"total": {"value": 0}}}).encode()


def test_a_certificate_of_an_unknown_ca_is_refused_and_names_the_setting(serve, tls) -> None:
    failure = failure_of(store_at(serve(found_nothing, tls[0])))
    assert isinstance(failure, StoreUnavailable)
    assert "opensearch.ca_file" in str(failure)


@pytest.mark.parametrize("trusting", ["ca_file", "verify_certificates"])
def test_a_certificate_is_accepted_with_its_ca_or_without_verification(serve, tls, trusting) -> None:
    settings = {"ca_file": tls[1]} if trusting == "ca_file" else {"verify_certificates": False}
    store = store_at(serve(found_nothing, tls[0]), **settings)
    assert store.count(NOW, Filters()) == 0
    store.close()


def test_a_write_is_retried_if_the_cluster_is_busy(serve) -> None:
    answers = iter([error_body(429, "rejected", "busy"), error_body(503, "rejected", "busy"), (404, JSON, b"{}")])
    url = serve(lambda method, path, body: next(answers))
    store = store_at(url)
    store.delete_document("k")
    store.close()


def test_text_with_lone_surrogates_can_be_sent() -> None:
    for text in ("plain", "größe", "lone \udc80 surrogate", "a\0b"):
        dumped = Serializer().dumps({"text": text})
        assert json.loads(dumped.encode()) == {"text": text}
    assert Serializer().dumps("as it is") == "as it is"


def test_the_innermost_reason_is_shown_on_one_line() -> None:
    inner = {"type": "inner", "reason": "the very\n cause"}
    outer = {"type": "outer", "reason": "something", "caused_by": inner}
    assert reason_of({"error": outer}) == "inner: the very cause"
    assert reason_of({"error": {"type": "t", "reason": "r", "root_cause": [{"type": "t", "reason": "r"}]}}) == "t: r"
    assert reason_of({"error": "no handler"}) == "no handler"
    assert reason_of(None) == ""


def test_the_client_logs_nothing_even_to_its_own_handlers(caplog) -> None:
    """It would log a traceback for each failed request, twice a second while a node is silent."""
    client_log = logging.getLogger("opensearch")
    client_log.addHandler(caplog.handler)
    caplog.set_level(logging.DEBUG)
    try:
        failure_of(store_at("http://127.0.0.1:9"))
    finally:
        client_log.removeHandler(caplog.handler)
    # Its trace of requests goes to another logger, which only pytest captures.
    assert not [record for record in caplog.records if record.name == client_log.name]
