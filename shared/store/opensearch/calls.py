"""Calls of one node for which somebody waits: a slow node is waited for, and a silent one given up soon."""

import socket
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from typing import Any

from opensearchpy import Urllib3HttpConnection
from opensearchpy.exceptions import ConnectionError as NoConnection
from opensearchpy.exceptions import ConnectionTimeout, TransportError
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError
from urllib3.util import Timeout

from codequarry.shared.haste import is_hurried
from codequarry.shared.pulse import SIGN_SECONDS, pulse_of
from codequarry.shared.store.opensearch.readiness import Readiness

# A node that is frozen takes connections all the same, until its queue of them is full.
CONNECT_SECONDS = 1.0


class NodeSilent(ConnectionTimeout):
    """The node gave no sign of life; another one may be asked at once."""


class _Call:
    """One call of a node, which can be ended from another thread."""

    def __init__(self) -> None:
        self.is_given_up = False
        self._connection: HTTPConnection | None = None

    def begins_on(self, connection: HTTPConnection) -> None:
        """Note for which connection the call waits."""
        self._connection = connection

    def give_up(self) -> None:
        """End the call as if the node had hung up."""
        self.is_given_up = True
        if self._connection is not None and self._connection.sock is not None:
            with suppress(OSError):  # it is closed already
                # Without the farewell of TLS: nobody would listen to it.
                socket.socket.shutdown(self._connection.sock, socket.SHUT_RDWR)


_call: ContextVar[_Call | None] = ContextVar("call", default=None)


class _Endable(HTTPConnection):
    """A connection that tells the call for which it is used."""

    def request(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - the base class's signature
        """Send a request; OSError where its call was given up while a connection was made for it."""
        call = _call.get()
        if call is not None:
            call.begins_on(self)
        super().request(*arguments, **options)
        if call is not None and call.is_given_up:
            raise ConnectionResetError("the call was given up")


class _EndableTls(_Endable, HTTPSConnection):
    """The same over TLS."""


class NodeConnection(Urllib3HttpConnection):
    """The connections to one node."""

    def __init__(
        self,
        *arguments: Any,  # noqa: ANN401 - the base class's signature
        readiness: Readiness,
        sign_seconds: float = SIGN_SECONDS,
        **options: Any,  # noqa: ANN401
    ) -> None:
        """Prepare for calls of a node, which is given up after so long without a sign of life."""
        self._readiness = readiness
        super().__init__(*arguments, **options)
        connect = partial(Urllib3HttpConnection, *arguments, **options)
        self.pulse = pulse_of(self.host, partial(_gives_sign, connect), sign_seconds)

    def _create_urllib3_pool(self) -> None:
        super()._create_urllib3_pool()
        self.pool.ConnectionCls = _EndableTls if self.use_ssl else _Endable

    def perform_request(
        self,
        method: str,
        url: str,
        params: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        timeout: float | None = None,
        ignore: Collection[int] = (),
        headers: Mapping[str, str] | None = None,
    ) -> Any:  # noqa: ANN401 - the base class's
        """Send a request; where somebody waits, NodeSilent as soon as the node gives no sign of life."""
        if not is_hurried():
            return super().perform_request(method, url, params, body, timeout, ignore, headers)
        limits: Any = Timeout(connect=CONNECT_SECONDS, read=self._readiness.limited(timeout))
        call = _Call()
        token = _call.set(call)
        try:
            with self.pulse.watched(call.give_up):
                answer = super().perform_request(method, url, params, body, limits, ignore, headers)
        except NoConnection as error:
            raise self._understood(error, call) from error
        except TransportError as error:
            self.pulse.is_there()  # it has answered, if not well
            self._readiness.note(error.status_code)
            raise
        finally:
            _call.reset(token)
        self.pulse.is_there()
        return answer

    def _understood(self, error: NoConnection, call: _Call) -> NoConnection:
        is_refused = isinstance(error.info, NewConnectionError)
        if is_refused or isinstance(error.info, ConnectTimeoutError):
            self.pulse.is_gone()
            return error if is_refused else NodeSilent("TIMEOUT", str(error.info), error.info)
        return NodeSilent("TIMEOUT", "no sign of life", error.info) if call.is_given_up else error


def _gives_sign(connect: Callable[[], Urllib3HttpConnection], seconds: float) -> bool:
    """Ask a node for the least that it can say, on a connection of its own."""
    connection = connect()
    try:
        connection.perform_request("HEAD", "/", timeout=seconds)
    except NoConnection:
        return False
    except TransportError:
        return True
    finally:
        connection.close()
    return True
