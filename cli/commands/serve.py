"""`codequarry serve`: the HTTP service."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codequarry.cli.session.session import load

if TYPE_CHECKING:
    from codequarry.search_api.jobs.queue import Indexer
    from codequarry.search_api.search.backend import Backend


def serve(
    context: typer.Context,
    host: Annotated[str | None, typer.Option(metavar="HOST", help="Address to listen on [api.host].")] = None,
    port: Annotated[int | None, typer.Option(metavar="PORT", help="Port to listen on [api.port].")] = None,
    socket: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Unix socket to listen on instead; only you can open it [api.socket]."),
    ] = None,
    trust_loopback: Annotated[
        bool | None,
        typer.Option(
            "--trust-loopback", help="Answer any program on this machine while there are no keys [api.trust_loopback]."
        ),
    ] = None,
) -> None:
    """Serve the HTTP API.

    Also runs jobs and polls origins, unless [queue] url leaves that to workers. See docs/api.md and docs/webhooks.md.
    """
    flags = {"api.host": host, "api.port": port, "api.socket": socket, "api.trust_loopback": trust_loopback}
    settings = load(context, flags).settings
    from codequarry.search_api.http.server import serve as run

    run(settings, make_indexer=_make_indexer)


def _make_indexer(backend: "Backend") -> "Indexer":
    if backend.settings.queue.url:
        from codequarry.search_api.jobs.dispatch import QueueIndexer

        return QueueIndexer(backend)
    from codequarry.cli.session.embedded_worker import LocalIndexer

    indexer = LocalIndexer(backend)
    indexer.start()
    return indexer
