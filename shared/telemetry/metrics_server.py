"""Metrics on a separate port, which search clients need not reach: `GET /metrics` and `GET /healthz`."""

import socket
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

from codequarry.shared.errors import UsageError
from codequarry.shared.telemetry.metrics import CONTENT_TYPE, render

if TYPE_CHECKING:
    from prometheus_client.registry import Collector

# Requests are answered one after another, so a silent client must not block the others for long.
REQUEST_SECONDS = 5.0


class MetricsServer:
    """Serves metrics in its own thread until it is closed."""

    def __init__(self, host: str, port: int, *collectors: "Collector", shared: bool = False) -> None:
        """Listen, or raise UsageError. Processes that count together can share the port (``shared``)."""
        self._server = _Server(host, port, shared, collectors)
        self._thread = threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port, even if the system chose it (port 0)."""
        return int(self._server.server_address[1])

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(HTTPServer):
    def __init__(self, host: str, port: int, shared: bool, collectors: "tuple[Collector, ...]") -> None:
        self.collectors = collectors
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._shared = shared
        try:
            super().__init__((host, port), _Handler)
        except OSError as error:
            raise UsageError(f"metrics can't be served on {host} port {port}: {error.strerror}") from error

    def server_bind(self) -> None:
        """Bind as the library does, but without a DNS lookup of this machine's name."""
        if self._shared and hasattr(socket, "SO_REUSEPORT"):
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])


class _Handler(BaseHTTPRequestHandler):
    timeout = REQUEST_SECONDS
    server: _Server

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/metrics":
            self._answer(HTTPStatus.OK, CONTENT_TYPE, render(*self.server.collectors))
        elif path == "/healthz":
            self._answer(HTTPStatus.OK, "text/plain", b"ok\n")
        else:
            self._answer(HTTPStatus.NOT_FOUND, "text/plain", b"try /metrics or /healthz\n")

    def _answer(self, status: HTTPStatus, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Log nothing: a scrape every few seconds is not worth a line."""
