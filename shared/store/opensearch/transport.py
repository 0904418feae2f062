"""Requests for which somebody waits: a cluster that is gone is noticed within two seconds, and then at once."""

from collections.abc import Callable
from functools import cache
from typing import Any

from opensearchpy import Transport
from opensearchpy.exceptions import ConnectionError as NoConnection
from opensearchpy.exceptions import ConnectionTimeout

from codequarry.shared.breaker import Breaker
from codequarry.shared.store.haste import is_hurried

# A read of a document or an alias takes milliseconds, also on a busy node. Every request begins with one, so this is
# how soon a node that hangs is noticed; with the rest of a request it stays below two seconds.
QUICK_SECONDS = 1.5
# A search on a busy node may take a while; one that takes longer than this is no answer to anybody.
SLOW_SECONDS = 10.0
# A cluster that was gone is left alone for so long; meanwhile whoever asks is told at once, and no thread waits.
LEFT_ALONE_SECONDS = 1.0
# Nodes that are tried in turn by a quick request where there are several.
NODES_TRIED = 2


@cache
def breaker_of(hosts: tuple[str, ...]) -> Breaker:
    """Return what a process remembers of one cluster, whichever of its clients has asked."""
    return Breaker(LEFT_ALONE_SECONDS, QUICK_SECONDS + LEFT_ALONE_SECONDS)


class HastyTransport(Transport):
    """The client's transport, with limits where somebody waits."""

    def __init__(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - the base class's signature
        super().__init__(*arguments, **options)
        self._breaker = breaker_of(tuple(repr(host) for host in self.hosts))

    def perform_request(  # type: ignore[override]  # what it hands on has these names
        self,
        method: str,
        url: str,
        params: Any = None,  # noqa: ANN401 - the base class's signature
        body: Any = None,  # noqa: ANN401
        **options: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """Send a request; where somebody waits, not for long and not to a cluster that was gone a moment ago."""
        if not is_hurried():
            return super().perform_request(method, url, params, body, **options)
        if not self._breaker.lets_pass():
            raise NoConnection("N/A", "the cluster did not answer a moment ago", None)
        is_quick = method == "GET"
        tries = min(NODES_TRIED, len(self.hosts)) if is_quick else 1
        options = {"timeout": QUICK_SECONDS / tries if is_quick else SLOW_SECONDS, **options}
        try:
            answer = self._tried(tries, lambda: self._send(method, url, params, body, options))
        except NoConnection as error:
            # A slow search may be only that.
            if is_quick or not isinstance(error, ConnectionTimeout):
                self._breaker.is_gone()
            raise
        except Exception:
            self._breaker.is_there()  # it has answered, if not well
            raise
        self._breaker.is_there()
        return answer

    def _send(self, method: str, url: str, params: Any, body: Any, options: dict[str, Any]) -> Any:  # noqa: ANN401
        # The library takes out of the parameters what is not for the server.
        return super().perform_request(method, url, dict(params) if params else params, body, **options)

    def _tried(self, tries: int, send: Callable[[], Any]) -> Any:  # noqa: ANN401 - the server's answer
        for _ in range(tries - 1):
            try:
                return send()
            except ConnectionTimeout:
                continue  # the next node in turn
        return send()
