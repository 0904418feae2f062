"""Changes of many rows are repeated until no row is left, or raise an error."""

import json
from collections.abc import Callable, Iterator

import pytest
import stamina

from codequarry.shared.errors import StoreFull, StoreUnavailable
from codequarry.shared.settings.config import OpenSearchSettings
from codequarry.shared.store.opensearch.connection import connect
from codequarry.shared.store.opensearch.sweeps import MAX_FRUITLESS_STEPS, Sweeper

QUERY = {"match_all": {}}
ALL_FINE = {"_shards": {"total": 1, "successful": 1, "failed": 0}}
NOTHING = {"total": 0, "updated": 0, "deleted": 0, "failures": [], "timed_out": False}


@pytest.fixture(autouse=True)
def no_waiting() -> Iterator[None]:
    stamina.set_testing(True, attempts=2)
    yield
    stamina.set_testing(False)


@pytest.fixture
def sweeper(serve) -> Iterator[Callable[..., Sweeper]]:
    """Return a function that makes a sweeper whose steps and refreshes get the given answers."""
    clients = []

    def make(steps: Iterator[dict], refreshed: dict = ALL_FINE) -> Sweeper:
        def reply(method: str, path: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
            answer = refreshed if "_refresh" in path else {**NOTHING, **next(steps)}
            return 200, {"Content-Type": "application/json"}, json.dumps(answer).encode()

        settings = OpenSearchSettings(urls=(serve(reply),))
        clients.append(connect(settings))
        return Sweeper(clients[-1])

    yield make
    for client in clients:
        client.close()


def test_a_sweep_continues_until_a_step_finds_nothing(sweeper) -> None:
    steps = iter([{"total": 2000, "updated": 2000}, {"total": 500, "updated": 499, "noops": 1}, {}])
    assert sweeper(steps).retire(["index"], QUERY, 3, [1]) == 2499
    assert next(steps, None) is None


def test_conflicts_are_retried(sweeper) -> None:
    steps = iter([{"total": 5, "updated": 0, "version_conflicts": 5}, {"total": 5, "updated": 5}, {}])
    assert sweeper(steps).revive(["index"], QUERY, 3) == 5


def test_rows_that_keep_changing_are_not_retried_forever(sweeper) -> None:
    steps = ({"total": 1, "version_conflicts": 1} for _ in range(MAX_FRUITLESS_STEPS))
    with pytest.raises(StoreUnavailable, match="run the command again"):
        sweeper(steps).delete(["index"], QUERY)


def test_a_failed_step_is_an_error_with_its_reason(sweeper) -> None:
    failure = {"index": "i", "status": 500, "cause": {"type": "engine_exception", "reason": "it broke"}}
    with pytest.raises(StoreUnavailable, match="engine_exception: it broke"):
        sweeper(iter([{"total": 1, "failures": [failure]}])).delete(["index"], QUERY)


def test_a_full_disk_is_reported(sweeper) -> None:
    failure = {"cause": {"type": "cluster_block_exception", "reason": "disk usage exceeded flood-stage watermark"}}
    with pytest.raises(StoreFull, match="flood-stage"):
        sweeper(iter([{"total": 1, "failures": [failure]}])).retire(["index"], QUERY, 3, [])


def test_a_shard_that_cannot_be_refreshed_is_an_error(sweeper) -> None:
    failed = {"_shards": {"total": 2, "successful": 1, "failed": 1}}
    with pytest.raises(StoreUnavailable, match="1 of 2 shards of index could not be refreshed"):
        sweeper(iter(()), failed).refresh("index")
