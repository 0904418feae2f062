"""Bulk writes retry only transient failures and name the documents that were not written."""

import json
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
import stamina

from codequarry.shared.errors import StoreFull, StoreUnavailable
from codequarry.shared.settings.config import OpenSearchSettings
from codequarry.shared.store.opensearch.bulk import BulkItem, create_all
from codequarry.shared.store.opensearch.connection import connect

ATTEMPTS = 4
CREATED = {"status": 201}
EXISTS = {"status": 409, "error": {"type": "version_conflict_engine_exception", "reason": "exists"}}
BUSY = {"status": 429, "error": {"type": "rejected", "reason": "queue is full"}}
AWAY = {"status": 503, "error": {"type": "unavailable_shards_exception", "reason": "primary shard is not active"}}
BAD = {"status": 400, "error": {"type": "mapper_parsing_exception", "reason": "failed to parse field [x]"}}
FULL = {"status": 429, "error": {"type": "cluster_block_exception", "reason": "disk usage exceeded flood-stage"}}


@pytest.fixture(autouse=True)
def no_waiting() -> Iterator[None]:
    stamina.set_testing(True, attempts=ATTEMPTS)
    yield
    stamina.set_testing(False)


class Cluster:
    """Answers bulk requests with the planned results of each id, repeating the last."""

    def __init__(self, plan: dict[str, list[dict]]) -> None:
        self.plan = plan
        self.sent: Counter[str] = Counter()
        self.requests: list[int] = []

    def __call__(self, method: str, path: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        assert path.startswith("/_bulk") and "require_alias=true" in path
        lines = [json.loads(line) for line in body.splitlines()]
        ids = [line["create"]["_id"] for line in lines[::2]]
        self.requests.append(len(ids))
        items = [{"create": {"_id": id_, **self.result(id_)}} for id_ in ids]
        answer = {"errors": True, "items": items}
        return 200, {"Content-Type": "application/json"}, json.dumps(answer).encode()

    def result(self, id_: str) -> dict:
        self.sent[id_] += 1
        results = self.plan.get(id_, [CREATED])
        return results[min(self.sent[id_], len(results)) - 1]


@pytest.fixture
def write(serve) -> Callable[..., dict[str, str]]:
    def run(reply: object, names: list[str], **settings: object) -> dict[str, str]:
        chosen = OpenSearchSettings(urls=(serve(reply),), timeout_seconds=2, **settings)
        client = connect(chosen)
        try:
            return create_all(client, [BulkItem("index", name, {"n": 1}, "repo") for name in names])
        finally:
            client.close()

    return run


def test_only_transient_failures_are_retried(write) -> None:
    cluster = Cluster({"b": [BUSY, AWAY, CREATED], "c": [BUSY, CREATED]})
    assert write(cluster, ["a", "b", "c", "d"]) == {}
    assert cluster.sent == {"a": 1, "b": 3, "c": 2, "d": 1}


def test_existing_documents_count_as_written(write) -> None:
    cluster = Cluster({"a": [EXISTS], "b": [BUSY, EXISTS]})
    assert write(cluster, ["a", "b"]) == {}
    assert cluster.sent == {"a": 1, "b": 2}


def test_a_bad_document_is_named_without_retries_and_the_others_are_written(write) -> None:
    cluster = Cluster({"b": [BAD]})
    assert write(cluster, ["a", "b", "c"]) == {"b": "mapper_parsing_exception: failed to parse field [x]"}
    assert cluster.sent == {"a": 1, "b": 1, "c": 1}


def test_a_document_refused_by_every_retry_is_named_with_its_reason(write) -> None:
    cluster = Cluster({"b": [BUSY]})
    assert write(cluster, ["a", "b"], max_retries=5) == {"b": "rejected: queue is full (after 5 retries)"}
    assert cluster.sent == {"a": 1, "b": ATTEMPTS}


def test_a_full_disk_is_not_retried(write) -> None:
    cluster = Cluster({"b": [FULL]})
    with pytest.raises(StoreFull, match="free some space"):
        write(cluster, ["a", "b"])
    assert cluster.sent["b"] == 1


def test_a_refused_request_is_retried_as_a_whole(write) -> None:
    cluster, answers = Cluster({}), iter([429, 503, 503])

    def reply(method: str, path: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        status = next(answers, None)
        return cluster(method, path, body) if status is None else (status, {}, b'{"error": "busy"}')

    assert write(reply, ["a", "b"]) == {}
    assert cluster.sent == {"a": 1, "b": 1}


def test_an_unreachable_cluster_is_unavailable_and_not_a_list_of_bad_documents(serve) -> None:
    settings = OpenSearchSettings(urls=("http://127.0.0.1:9",))
    client = connect(settings)
    with pytest.raises(StoreUnavailable, match="codequarry opensearch start"):
        create_all(client, [BulkItem("index", "a", {})])
    client.close()


def test_requests_are_as_large_as_the_settings_allow(write) -> None:
    cluster = Cluster({})
    assert write(cluster, [f"{number:0300}" for number in range(100)], bulk_bytes=10_000) == {}
    assert sum(cluster.requests) == 100
    assert max(cluster.requests) <= 10_000 // 300


def test_without_documents_no_request_is_sent(write) -> None:
    cluster = Cluster({})
    assert write(cluster, []) == {}
    assert cluster.requests == []


def test_errors_name_a_document_even_if_its_name_is_too_long_for_an_id(write) -> None:
    name = "x" * 600
    answers = []

    def reply(method: str, path: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        answers.append(json.loads(body.splitlines()[0])["create"])
        items = {"items": [{"create": {"_id": answers[-1]["_id"], **BAD}}]}
        return 200, {"Content-Type": "application/json"}, json.dumps(items).encode()

    assert list(write(reply, [name])) == [name]
    assert len(answers[0]["_id"]) == 64
    assert answers[0]["routing"] == "repo"
