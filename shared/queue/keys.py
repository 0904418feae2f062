"""The queue's keys in Redis. A key of the wrong type would stop every worker at startup, so it is set aside."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from codequarry.shared.jobs.job import PRIORITIES
from codequarry.shared.queue.messages import QUEUES
from codequarry.shared.telemetry.logs import logger

if TYPE_CHECKING:
    from redis import Redis

# Prefix of the keys that were set aside.
ASIDE_PREFIX = "codequarry.set-aside:"
# Separates a queue's name and a priority, as kombu writes keys. The most urgent priority has no suffix.
SEPARATOR = "\x06\x16"
NONE = "none"
WRONG_TYPE = "WRONGTYPE"

log = logger("codequarry.queue")


def _types() -> Mapping[str, str]:
    suffixes = ["" if level == 0 else f"{SEPARATOR}{level}" for level in sorted(PRIORITIES.values())]
    lists = {f"{queue}{suffix}": "list" for queue in QUEUES for suffix in suffixes}
    bindings = {f"_kombu.binding.{queue}": "set" for queue in QUEUES}
    return lists | bindings | {"unacked": "hash", "unacked_index": "zset", "unacked_mutex": "string"}


TYPES = _types()
"""The Redis type of each key of the queue."""


def set_aside(client: "Redis") -> int:
    """Rename the keys of the wrong type and return their number; several processes can do so at once."""
    with client.pipeline(transaction=False) as pipe:
        for key in TYPES:
            pipe.type(key)
        found: list[Any] = pipe.execute()
    wrong = [
        key
        for (key, expected), kind in zip(TYPES.items(), found, strict=True)
        if _name_of(kind) not in (expected, NONE)
    ]
    return sum(_set_one_aside(client, key) for key in wrong)


def _set_one_aside(client: "Redis", key: str) -> bool:
    """Rename a key unless another process already has; the key may then hold the right type again."""
    from redis.exceptions import WatchError

    with client.pipeline() as pipe:
        try:
            pipe.watch(key)  # type: ignore[no-untyped-call]  # partly typed in redis-py
            name = _name_of(pipe.type(key))
            if name in (TYPES[key], NONE):
                return False
            pipe.multi()
            pipe.rename(key, ASIDE_PREFIX + key)
            pipe.execute()
        except WatchError:
            return False
    log.warning("a key of the queue held something else, and was renamed", key=key, holds=name, to=ASIDE_PREFIX + key)
    return True


def _name_of(kind: object) -> str:
    return kind.decode() if isinstance(kind, bytes) else str(kind)
