"""Queue keys with foreign values are set aside, even by several processes at once."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import redis

from codequarry.shared.queue.keys import ASIDE_PREFIX, TYPES, set_aside

PROCESSES, ROUNDS = 4, 50


@pytest.fixture
def server(queue_server):
    with redis.Redis.from_url(queue_server.url) as client:
        client.flushall()
        yield client
        client.flushall()


def spoil(server):
    server.flushall()
    for key in TYPES:
        if key != "unacked_mutex":  # a string is its correct type
            server.set(key, "an operator's")


def test_several_processes_can_set_keys_aside_at_once(queue_server, server):
    together = Barrier(PROCESSES)

    def look():
        with redis.Redis.from_url(queue_server.url) as client:
            together.wait(10)
            return set_aside(client)

    with ThreadPoolExecutor(PROCESSES) as threads:
        for _ in range(ROUNDS):
            spoil(server)
            counts = [future.result() for future in [threads.submit(look) for _ in range(PROCESSES)]]
            assert sum(counts) == len(TYPES) - 1
            assert server.get(ASIDE_PREFIX + "scan") == b"an operator's"


def test_a_key_that_another_process_filled_again_stays(server):
    """Before the renaming, another process sets the key aside and sends a message."""
    spoil(server)

    class Slow(redis.Redis):
        def pipeline(self, transaction=True, shard_hint=None):
            if transaction:
                self.delete("scan")
                self.lpush("scan", "a message")
            return super().pipeline(transaction, shard_hint)

    options = server.connection_pool.connection_kwargs
    with Slow(host=options["host"], port=options["port"], db=options["db"]) as client:
        set_aside(client)
    assert server.lrange("scan", 0, -1) == [b"a message"]
