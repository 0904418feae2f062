"""Requests for which somebody waits: none is kept by a cluster that is gone, nor for ever by one that is slow."""

from collections.abc import Callable, Mapping
from typing import Any

from opensearchpy import Transport
from opensearchpy.exceptions import ConnectionError as NoConnection
from opensearchpy.exceptions import ConnectionTimeout

from codequarry.shared.haste import is_hurried, seconds_left
from codequarry.shared.store.opensearch.calls import NodeConnection, NodeSilent
from codequarry.shared.store.opensearch.readiness import Readiness

# A document or an alias is read in milliseconds, on a busy node in tenths of a second.
QUICK_SECONDS = 3.0
# A search on a busy node may take a while; one that takes longer than this is no answer to anybody.
SLOW_SECONDS = 10.0
# Nodes that are tried in turn by a request that only reads, where there are several.
NODES_TRIED = 2
LOOKS = ("GET", "HEAD")
READING = ("/_search", "/_msearch", "/_mget", "/_count", "/_refresh")


class HastyTransport(Transport):
    """The client's transport, with limits where somebody waits."""

    def __init__(self, hosts: Any, **options: Any) -> None:  # noqa: ANN401 - the base class's signature
        """Prepare for requests to some nodes, which share what is known of their readiness."""
        self._readiness = Readiness()
        super().__init__(hosts, readiness=self._readiness, **options)

    def get_connection(self) -> Any:  # noqa: ANN401 - the base class's
        """Return the node whose turn it is; where somebody waits, none that is silent, and NoConnection if all are."""
        connection: NodeConnection = super().get_connection()
        if not is_hurried() or connection.pulse.lets_pass():
            return connection
        for other in self.seed_connections:
            if isinstance(other, NodeConnection) and other is not connection and other.pulse.lets_pass():
                return other
        raise NoConnection("N/A", "the cluster did not answer a moment ago", None)

    def perform_request(  # type: ignore[override]  # what it hands on has these names
        self,
        method: str,
        url: str,
        params: Any = None,  # noqa: ANN401 - the base class's signature
        body: Any = None,  # noqa: ANN401
        **options: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """Send a request; where somebody waits, not for long and not to a node that was silent a moment ago."""
        if not is_hurried():
            return super().perform_request(method, url, params, body, **options)
        left = seconds_left()
        if not left:
            raise ConnectionTimeout("TIMEOUT", "the request has taken too long already", None)
        options = {"timeout": min(left, QUICK_SECONDS if method in LOOKS else SLOW_SECONDS), **options}
        may_repeat = method in LOOKS or url.endswith(READING)
        tries = min(NODES_TRIED, len(self.hosts)) if may_repeat else 1
        return _tried(tries, lambda: self._send(method, url, params, body, options))

    def _send(self, method: str, url: str, params: Any, body: Any, options: dict[str, Any]) -> Any:  # noqa: ANN401
        # The library takes out of the parameters what is not for the server.
        answer = super().perform_request(method, url, dict(params) if params else params, body, **options)
        for part in answer.get("responses", ()) if isinstance(answer, Mapping) else ():
            self._readiness.note(part.get("status"))
        return answer


def _tried(tries: int, send: Callable[[], Any]) -> Any:  # noqa: ANN401 - the server's answer
    for _ in range(tries - 1):
        try:
            return send()
        except NodeSilent:
            continue  # another node
    return send()
