"""The keys of the queue in Redis: one that holds something else, by an operator's mistake, is set aside.

Without this every worker would end at its first command to that key, and every start after it.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from codequarry.shared.jobs.job import PRIORITIES
from codequarry.shared.queue.messages import QUEUES
from codequarry.shared.telemetry.logs import logger

if TYPE_CHECKING:
    from redis import Redis

# What stood under a key of ours is found here.
ASIDE_PREFIX = "codequarry.set-aside:"
# Between a queue's name and a priority, as the client of the queue writes them; the most urgent one has no suffix.
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
"""What each key of the queue holds."""


def set_aside(client: "Redis") -> int:
    """Rename the keys that hold something else than they should, and return how many; several processes may at once."""
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
    """Rename a key unless another process did, which may have filled it again with what belongs there."""
    from redis.exceptions import WatchError

    with client.pipeline() as pipe:
        try:
            pipe.watch(key)  # type: ignore[no-untyped-call]  # redis-py types it in part
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
