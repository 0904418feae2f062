"""A quick check of whether the queue answers.

Celery's client takes about six seconds for its four tries: too long for a request, or for an import that needs help.
"""

from typing import TYPE_CHECKING

from codequarry.shared.errors import QueueUnavailable
from codequarry.shared.queue.keys import set_aside
from codequarry.shared.queue.messages import CONNECT_SECONDS, tls_options
from codequarry.shared.settings.queue import QueueSettings

if TYPE_CHECKING:
    from redis import Redis


class QueueProbe:
    """Checks the queue over a separate connection; thread-safe."""

    def __init__(self, settings: QueueSettings) -> None:
        """Prepare to check the configured queue; no connection is opened yet."""
        self._settings = settings
        self._client: Redis | None = None

    def check(self) -> None:
        """Set keys of the wrong type aside; raise QueueUnavailable if there is no answer within CONNECT_SECONDS."""
        from redis.exceptions import RedisError

        try:
            set_aside(self._opened())
        except RedisError as error:
            raise QueueUnavailable(f"the queue does not answer: {error}") from error

    def _opened(self) -> "Redis":
        from redis import Redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        if self._client is None:
            url = self._settings.url.get_secret_value() if self._settings.url else ""
            seconds = {"socket_connect_timeout": CONNECT_SECONDS, "socket_timeout": CONNECT_SECONDS}
            once = Retry(NoBackoff(), 0)
            self._client = Redis.from_url(url, retry=once, **seconds, **tls_options(self._settings))
        return self._client
