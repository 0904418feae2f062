"""Requests that a client is waiting for: they end by a deadline, and a silent node is abandoned at once.

The library's own transport waits as long as a run may. Here each node has a separate transport, so that we choose the
node for each request, and ``liveness/pulse.py`` decides how long to wait for that node. An ``InteractiveTransport``
replaces the library's transport in a client that is created for one deadline.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from time import monotonic
from typing import Any

from opensearchpy import OpenSearch
from opensearchpy.exceptions import ConnectionError as NoConnection
from opensearchpy.exceptions import ConnectionTimeout, TransportError
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError
from urllib3.util import Timeout

from codequarry.shared.liveness.deadline import Deadline
from codequarry.shared.liveness.pulse import SIGN_SECONDS, Silent, pulse_of

# A frozen node still accepts connections until its backlog is full.
CONNECT_SECONDS = 1.0
# Reading a document or an alias takes milliseconds, or tenths of a second on a busy node.
QUICK_SECONDS = 3.0
# A search on a busy node takes longer, but no request waits longer than this.
SLOW_SECONDS = 10.0
# How many nodes a read-only request tries in turn.
NODES_TRIED = 2
LOOKS = ("GET", "HEAD")
READING = ("/_search", "/_msearch", "/_mget", "/_count", "/_refresh")
# A node that has just refused a search is still loading its shards, and its disk is busy: if it does not answer soon,
# it will not answer in time. For UNREADY_SECONDS after a refusal, the wait per answer is UNREADY_ANSWER_SECONDS only.
UNREADY_SECONDS = 5.0
UNREADY_ANSWER_SECONDS = 1.0
NOT_READY = 503
MakeClient = Callable[[str, int], OpenSearch]
"""Returns a client for the node at a URL, with a given number of connections."""


class LateAnswer(ConnectionTimeout):
    """No answer came by the deadline."""


class NodeSilent(LateAnswer):
    """The node gave no sign of life; another node may be tried at once."""


class MonitoredNode:
    """A node's transport and pulse."""

    def __init__(self, url: str, make_client: MakeClient, connections: int, sign_seconds: float) -> None:
        self.transport = make_client(url, connections).transport
        self.pulse = pulse_of(url, partial(_gives_sign, partial(make_client, url, 1)), sign_seconds)

    def perform(self, send: Callable[[], Any], seconds: float) -> Any:  # noqa: ANN401 - the server's answer
        """Return a request's answer; raise LateAnswer after ``seconds``, NodeSilent if there is no sign of life."""
        try:
            answer = self.pulse.ask(send, seconds + CONNECT_SECONDS)
        except Silent:
            raise NodeSilent("TIMEOUT", "no sign of life", None) from None
        except TimeoutError:
            raise LateAnswer("TIMEOUT", "no answer in time", None) from None
        except NoConnection as error:
            raise self._explained(error) from error
        except TransportError:
            self.pulse.record_success()  # an error is an answer too
            raise
        self.pulse.record_success()
        return answer

    def _explained(self, error: NoConnection) -> NoConnection:
        if isinstance(error.info, NewConnectionError):
            self.pulse.record_failure()
            return error
        if isinstance(error.info, ConnectTimeoutError):
            self.pulse.record_failure()
            return NodeSilent("TIMEOUT", str(error.info), error.info)
        return LateAnswer(*error.args) if isinstance(error, ConnectionTimeout) else error


class Nodes:
    """The nodes of a cluster, shared by all clients with a deadline."""

    def __init__(self, urls: Sequence[str], make_client: MakeClient, connections: int) -> None:
        sign_seconds = SIGN_SECONDS / min(NODES_TRIED, len(urls))
        self._nodes = [MonitoredNode(url, make_client, connections, sign_seconds) for url in urls]
        self.serializer = self._nodes[0].transport.serializer
        self._turn = 0
        self._unready_until = float("-inf")

    def alive(self) -> Iterator[MonitoredNode]:
        """Yield the nodes that are not known to be silent, starting with a different node each time."""
        self._turn += 1
        start = self._turn % len(self._nodes)
        return (node for node in self._nodes[start:] + self._nodes[:start] if node.pulse.allows())

    def note(self, status: object) -> None:
        """Record the status of an answer."""
        if status == NOT_READY:
            self._unready_until = monotonic() + UNREADY_SECONDS

    def limited(self, seconds: float) -> float:
        """Return how long to wait for an answer, at most ``seconds``."""
        return min(seconds, UNREADY_ANSWER_SECONDS) if monotonic() < self._unready_until else seconds

    def close(self) -> None:
        """Close the connections."""
        for node in self._nodes:
            node.transport.close()


class InteractiveTransport:
    """Sends the requests of one client, all of which end by a deadline."""

    def __init__(self, nodes: Nodes, deadline: Deadline) -> None:
        self._nodes, self._deadline = nodes, deadline
        # The client's methods use the serializer for multi-line bodies.
        self.serializer = nodes.serializer

    def perform_request(
        self,
        method: str,
        url: str,
        params: Mapping[str, Any] | None = None,
        body: Any = None,  # noqa: ANN401 - the library's signature, here and below
        timeout: float | None = None,
        ignore: Collection[int] = (),
        headers: Mapping[str, str] | None = None,
    ) -> Any:  # noqa: ANN401
        """Send a request to a node; if that node is silent and the request only reads, try another node.

        Raise ConnectionError if no node accepts the request, LateAnswer if no answer comes in time.
        """
        failure = NoConnection("N/A", "the cluster did not answer a moment ago", None)
        may_repeat, silent = method in LOOKS or url.endswith(READING), 0
        for node in self._nodes.alive():
            left = self._deadline.left()
            if not left:
                raise LateAnswer("TIMEOUT", "the request has taken too long already", None)
            seconds = self._nodes.limited(min(left, timeout or (QUICK_SECONDS if method in LOOKS else SLOW_SECONDS)))
            limits: Any = Timeout(connect=CONNECT_SECONDS, read=seconds)
            # ``params`` is copied, because the library removes parameters that are not for the server.
            arguments = (method, url, dict(params or {}), body, limits, ignore, headers)
            try:
                return self._noted(node.perform(partial(node.transport.perform_request, *arguments), seconds))
            except NodeSilent as error:
                failure, silent = error, silent + 1
                if not may_repeat or silent == NODES_TRIED:
                    break
            except LateAnswer:
                raise
            except NoConnection as error:
                failure = error  # nothing was sent, or the connection broke: try another node
            except TransportError as error:
                self._nodes.note(error.status_code)
                raise
        raise failure

    def _noted(self, answer: Any) -> Any:  # noqa: ANN401
        for part in answer.get("responses", ()) if isinstance(answer, Mapping) else ():
            self._nodes.note(part.get("status"))
        return answer

    def close(self) -> None:
        """Leave the connections open, because all clients of the cluster share them."""


def _gives_sign(make_client: Callable[[], OpenSearch], seconds: float) -> bool:
    """Return whether a node answers a minimal request on a separate connection."""
    with closing(make_client()) as client:
        try:
            client.transport.perform_request("HEAD", "/", timeout=seconds)
        except NoConnection:
            return False
        except TransportError:
            return True
    return True
