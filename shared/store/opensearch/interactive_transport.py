"""Requests to the cluster that a client waits for: they end by a deadline, and a silent node is given up at once.

The library's own transport waits as long as a run may. Here each node has a transport of its own, so that a request
goes to a node of our choice, and what ``liveness/pulse.py`` knows of that node decides how long it is waited for. A
``InteractiveTransport`` takes the place of the library's transport in a client that is made for one deadline.
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

# A frozen node accepts connections all the same, until its queue of them is full.
CONNECT_SECONDS = 1.0
# A document or an alias is read in milliseconds, on a busy node in tenths of a second.
QUICK_SECONDS = 3.0
# A search on a busy node may take a while; nobody waits longer than this for one.
SLOW_SECONDS = 10.0
# Nodes that are tried in turn by a request that only reads, if there are several.
NODES_TRIED = 2
LOOKS = ("GET", "HEAD")
READING = ("/_search", "/_msearch", "/_mget", "/_count", "/_refresh")
# A node that has just refused to search still reads its shards, and its disk is busy with that: what it does not answer
# soon, it will not answer in time. For so long after the last refusal it has only so much time for each answer.
UNREADY_SECONDS = 5.0
UNREADY_ANSWER_SECONDS = 1.0
NOT_READY = 503
MakeClient = Callable[[str, int], OpenSearch]
"""Return a client of the one node at a URL with so many connections."""


class LateAnswer(ConnectionTimeout):
    """No answer came by the deadline."""


class NodeSilent(LateAnswer):
    """The node gave no sign of life; another one may be asked at once."""


class MonitoredNode:
    """One node: its own transport, and what is known of its life."""

    def __init__(self, url: str, make_client: MakeClient, connections: int, sign_seconds: float) -> None:
        self.transport = make_client(url, connections).transport
        self.pulse = pulse_of(url, partial(_gives_sign, partial(make_client, url, 1)), sign_seconds)

    def perform(self, send: Callable[[], Any], seconds: float) -> Any:  # noqa: ANN401 - the server's answer
        """Send a request and return its answer; LateAnswer after ``seconds``, NodeSilent without a sign of life."""
        try:
            answer = self.pulse.ask(send, seconds + CONNECT_SECONDS)
        except Silent:
            raise NodeSilent("TIMEOUT", "no sign of life", None) from None
        except TimeoutError:
            raise LateAnswer("TIMEOUT", "no answer in time", None) from None
        except NoConnection as error:
            raise self._explained(error) from error
        except TransportError:
            self.pulse.record_success()  # it has answered, if not well
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
    """The nodes of a cluster, for every client that is made for a deadline."""

    def __init__(self, urls: Sequence[str], make_client: MakeClient, connections: int) -> None:
        sign_seconds = SIGN_SECONDS / min(NODES_TRIED, len(urls))
        self._nodes = [MonitoredNode(url, make_client, connections, sign_seconds) for url in urls]
        self.serializer = self._nodes[0].transport.serializer
        self._turn = 0
        self._unready_until = float("-inf")

    def alive(self) -> Iterator[MonitoredNode]:
        """Yield the nodes that are not known to be silent, another one first each time."""
        self._turn += 1
        start = self._turn % len(self._nodes)
        return (node for node in self._nodes[start:] + self._nodes[:start] if node.pulse.allows())

    def note(self, status: object) -> None:
        """Take note of the status of an answer."""
        if status == NOT_READY:
            self._unready_until = monotonic() + UNREADY_SECONDS

    def limited(self, seconds: float) -> float:
        """Return how long an answer is waited for, ``seconds`` at most."""
        return min(seconds, UNREADY_ANSWER_SECONDS) if monotonic() < self._unready_until else seconds

    def close(self) -> None:
        """Close the connections."""
        for node in self._nodes:
            node.transport.close()


class InteractiveTransport:
    """Sends the requests of one client, which all end by a deadline."""

    def __init__(self, nodes: Nodes, deadline: Deadline) -> None:
        self._nodes, self._deadline = nodes, deadline
        # The client's methods write bodies of many lines with it.
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
        """Send a request to a node; if it is silent, one that only reads to another node too.

        ConnectionError if no node accepts it, LateAnswer if none answers in time.
        """
        failure = NoConnection("N/A", "the cluster did not answer a moment ago", None)
        may_repeat, silent = method in LOOKS or url.endswith(READING), 0
        for node in self._nodes.alive():
            left = self._deadline.left()
            if not left:
                raise LateAnswer("TIMEOUT", "the request has taken too long already", None)
            seconds = self._nodes.limited(min(left, timeout or (QUICK_SECONDS if method in LOOKS else SLOW_SECONDS)))
            limits: Any = Timeout(connect=CONNECT_SECONDS, read=seconds)
            # The library takes out of the parameters what is not for the server.
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
                failure = error  # nothing was sent, or the connection was cut: another node
            except TransportError as error:
                self._nodes.note(error.status_code)
                raise
        raise failure

    def _noted(self, answer: Any) -> Any:  # noqa: ANN401
        for part in answer.get("responses", ()) if isinstance(answer, Mapping) else ():
            self._nodes.note(part.get("status"))
        return answer

    def close(self) -> None:
        """Leave the connections open: they belong to all clients of the cluster."""


def _gives_sign(make_client: Callable[[], OpenSearch], seconds: float) -> bool:
    """Ask a node for the least that it can say, on a connection of its own."""
    with closing(make_client()) as client:
        try:
            client.transport.perform_request("HEAD", "/", timeout=seconds)
        except NoConnection:
            return False
        except TransportError:
            return True
    return True
