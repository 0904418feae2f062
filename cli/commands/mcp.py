"""`codequarry mcp`: the tools for coding agents, over stdio."""

import os
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from codequarry.cli.session.session import load, log_warnings
from codequarry.shared.errors import UsageError

if TYPE_CHECKING:
    from codequarry.search_api.jobs.queue import Indexer
    from codequarry.search_api.search.backend import Backend

KEY_VARIABLES = ("CODEQUARRY_MCP__KEY", "CODEQUARRY_MCP__KEY_FILE")


def mcp(
    context: typer.Context,
    key: Annotated[
        str | None, typer.Option(metavar="KEY", help="Limit answers to what this key (id or name) may see [mcp.key].")
    ] = None,
) -> None:
    """Serve a coding agent over stdio.

    Offers the tools search_code and read_file over the Model Context Protocol (docs/agents.md). Answers as the owner of
    the index, or with --key as that key. Do not put a key's secret on a command line, which other users can read: put
    it into CODEQUARRY_MCP__KEY or CODEQUARRY_MCP__KEY_FILE.
    """
    # An empty variable counts as unset everywhere else; here that would open the whole index.
    for name in KEY_VARIABLES:
        if key is None and os.environ.get(name) == "":
            raise UsageError(f"{name} is empty: set it to a key, or unset it to answer as the owner of the index")
    settings = load(context, {"mcp.key": key}).settings
    from codequarry.search_api.mcp.server import create_server
    from codequarry.search_api.search.backend import Backend

    log_warnings()
    with closing(Backend(settings)) as backend, closing(_indexer(backend)) as indexer:
        create_server(backend, indexer).run("stdio")


def _indexer(backend: "Backend") -> "Indexer":
    if backend.settings.queue.url:
        from codequarry.search_api.jobs.dispatch import QueueIndexer

        return QueueIndexer(backend)
    from codequarry.cli.session.embedded_worker import LocalIndexer

    return LocalIndexer(backend, only_own=True)
