"""A Celery transport that survives foreign keys and unreadable messages in Redis.

Messages only say that there is work; the jobs are in the catalog (decision 0015). So an unreadable message is logged
and dropped, and nothing is lost.
"""

import base64
import json
from collections.abc import Callable, Mapping
from queue import Empty
from types import MappingProxyType
from typing import Any, TypeVar

from kombu.transport import redis as kombu_redis
from redis.exceptions import ResponseError

from codequarry.shared.queue.keys import WRONG_TYPE, set_aside
from codequarry.shared.queue.messages import LOOK_AFTER_JOBS, POLL_ORIGINS, RUN_JOB, WRITE_BATCH
from codequarry.shared.telemetry.logs import logger

TRANSPORT = f"{__name__}:Transport"
# Our messages carry a few ids; Celery adds a few hundred bytes.
MOST_CHARACTERS = 10_000
_ARGUMENTS: Mapping[str, tuple[type, ...]] = MappingProxyType(
    {RUN_JOB: (str,), WRITE_BATCH: (int, int, int), LOOK_AFTER_JOBS: (), POLL_ORIGINS: ()}
)

Result = TypeVar("Result")

log = logger("codequarry.queue")


def fault_of(message: object) -> str:
    """Return why a message can't be from Codequarry, or "" if it can."""
    if not isinstance(message, dict) or not isinstance(message.get("body"), str):
        return "it has no body"
    if len(message["body"]) > MOST_CHARACTERS:
        return "it is too large"
    headers, properties = message.get("headers"), message.get("properties")
    if not isinstance(headers, dict) or not isinstance(properties, dict):
        return "it has no headers or properties"
    if message.get("content-type") != "application/json" or message.get("content-encoding") != "utf-8":
        return "it is not JSON"
    if not _is_delivered(properties):
        return "it has no delivery information"
    expected = _ARGUMENTS.get(str(headers.get("task")))
    if expected is None or not isinstance(headers.get("id"), str):
        return "it names an unknown task"
    if headers.get("eta") is not None or headers.get("expires") is not None:
        return "it has an eta or an expiry"
    given = _arguments(message["body"])
    is_right = given is not None and len(given) == len(expected) and all(map(_is_a, given, expected))
    return "" if is_right else "its arguments do not fit its task"


def _is_delivered(properties: Mapping[str, Any]) -> bool:
    info = properties.get("delivery_info")
    known = isinstance(info, dict) and {"exchange", "routing_key"} <= info.keys()
    return known and isinstance(properties.get("delivery_tag"), str) and properties.get("body_encoding") == "base64"


def _is_a(value: object, kind: type) -> bool:
    return type(value) is kind


def _arguments(body: str) -> list[Any] | None:
    try:
        arguments, named, embedded = json.loads(base64.b64decode(body, validate=True))
    except (ValueError, TypeError, RecursionError):
        return None
    is_body = isinstance(arguments, list) and named == {} and isinstance(embedded, dict)
    return arguments if is_body else None


class QoS(kombu_redis.QoS):
    """Messages that were taken but are not yet acknowledged."""

    def append(self, message: Any, delivery_tag: str) -> None:  # noqa: ANN401  # kombu's own signature
        """Record that a message was taken."""
        _with_repair(self.channel, lambda: super(QoS, self).append(message, delivery_tag))

    def ack(self, delivery_tag: str) -> None:
        """Record that a message's work is done."""
        _with_repair(self.channel, lambda: super(QoS, self).ack(delivery_tag))

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        """Drop a message, or requeue it."""
        _with_repair(self.channel, lambda: super(QoS, self).reject(delivery_tag, requeue))

    def restore_visible(self, start: int = 0, num: int = 10, interval: int = 10) -> None:
        """Redeliver messages that were not acknowledged in time."""
        _with_repair(self.channel, lambda: super(QoS, self).restore_visible(start, num, interval))

    def restore_by_tag(self, tag: Any, client: Any = None, leftmost: bool = False) -> None:  # noqa: ANN401
        """Redeliver one message, or drop it if it can't be read."""
        try:
            super().restore_by_tag(tag, client, leftmost)
        except (ValueError, TypeError, KeyError) as error:
            log.warning("a message that nobody acknowledged can't be read, and was dropped", error=type(error).__name__)
            self._remove_from_indices(tag).execute()


class Channel(kombu_redis.Channel):
    """A connection to the queue's keys."""

    QoS = QoS

    def _brpop_read(self, **options: Any) -> bool:  # noqa: ANN401  # kombu's own signature
        """Take a message; drop it if it can't be read or handled."""
        try:
            return bool(super()._brpop_read(**options))
        except (Empty, *self.connection_errors):
            raise
        except ResponseError as error:
            self._set_aside(error)
            raise Empty from error
        except Exception as error:
            log.warning("a message was dropped", reason=f"it can't be read: {type(error).__name__}")
            return True

    def _size(self, queue: str) -> int:
        return int(_with_repair(self, lambda: super(Channel, self)._size(queue)))

    def _put(self, queue: str, message: Any, **options: Any) -> None:  # noqa: ANN401  # kombu's own signature
        _with_repair(self, lambda: super(Channel, self)._put(queue, message, **options))

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str, queue: str) -> None:
        _with_repair(self, lambda: super(Channel, self)._queue_bind(exchange, routing_key, pattern, queue))

    def get_table(self, exchange: str) -> list[Any]:
        """Return the queues bound to an exchange."""
        return list(_with_repair(self, lambda: super(Channel, self).get_table(exchange)))

    def _set_aside(self, error: ResponseError) -> None:
        if WRONG_TYPE not in str(error):
            raise error
        with self.conn_or_acquire() as client:
            set_aside(client)


class Transport(kombu_redis.Transport):
    """Kombu's transport, with a check of each message before its delivery."""

    Channel = Channel

    def _deliver(self, message: Any, queue: str) -> None:  # noqa: ANN401  # kombu's own signature
        if reason := fault_of(message):
            log.warning("a message was dropped", queue=queue, reason=reason)
            return
        super()._deliver(message, queue)


def _with_repair(channel: Channel, call: Callable[[], Result]) -> Result:
    """Make a call that uses the queue's keys, and repeat it if a key had to be set aside."""
    try:
        return call()
    except ResponseError as error:
        channel._set_aside(error)  # defined in this module
        return call()
