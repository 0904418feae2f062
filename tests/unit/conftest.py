"""Small HTTP servers for the tests of the OpenSearch store."""

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trustme

Answer = tuple[int, dict[str, str], bytes]
Reply = Callable[..., Answer]
Serve = Callable[..., str]


@contextmanager
def running(reply: Reply, tls: ssl.SSLContext | None, with_headers: bool) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            known = ({name.lower(): value for name, value in self.headers.items()},) if with_headers else ()
            status, headers, content = reply(self.command, self.path, body, *known)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = answer

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
            server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a refused handshake is expected
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Yield a function that serves what `reply(method, path, body[, headers])` returns, and returns the URL."""
    with ExitStack() as stack:
        yield lambda reply, tls=None, with_headers=False: stack.enter_context(running(reply, tls, with_headers))


@pytest.fixture
def tls(tmp_path: Path) -> tuple[ssl.SSLContext, Path]:
    """Return the TLS context of a server, and the file of the CA that signed its certificate."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    return context, tmp_path / "ca.pem"
