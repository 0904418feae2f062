"""`codequarry serve`: the HTTP service."""

from typing import Annotated

import typer

from codequarry.cli.invocation import load


def serve(
    context: typer.Context,
    host: Annotated[str | None, typer.Option(metavar="HOST", help="Address to listen on [api.host].")] = None,
    port: Annotated[int | None, typer.Option(metavar="PORT", help="Port to listen on [api.port].")] = None,
) -> None:
    """Serve the HTTP API.

    POST /search-code, GET /repos, /healthz, /readyz, /metrics and /openapi.json (docs/api.md).
    """
    settings = load(context, {"api.host": host, "api.port": port}).settings
    from codequarry.search_api.app import serve as run

    run(settings)
