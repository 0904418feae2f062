"""`codequarry mcp`: the tools of a coding agent, over stdio."""

import os
from contextlib import closing
from typing import Annotated

import typer

from codequarry.cli.session.session import load, log_warnings
from codequarry.shared.errors import UsageError

KEY_VARIABLES = ("CODEQUARRY_MCP__KEY", "CODEQUARRY_MCP__KEY_FILE")


def mcp(
    context: typer.Context,
    key: Annotated[
        str | None, typer.Option(metavar="KEY", help="Show what this key may see: its id or its name [mcp.key].")
    ] = None,
) -> None:
    """Serve a coding agent over stdio.

    The Model Context Protocol with the tools search_code and read_file (docs/agents.md). It answers as the owner of the
    index, or with --key as a key of it. A key itself does not belong on a command line, which others can read:
    CODEQUARRY_MCP__KEY and CODEQUARRY_MCP__KEY_FILE take it.
    """
    # An empty variable counts as unset everywhere else; here that would open the whole index.
    for name in KEY_VARIABLES:
        if key is None and os.environ.get(name) == "":
            raise UsageError(f"{name} is empty: name a key, or unset it to answer as the owner of the index")
    settings = load(context, {"mcp.key": key}).settings
    from codequarry.search_api.mcp.server import create_server
    from codequarry.search_api.search.backend import Backend

    log_warnings()
    with closing(Backend(settings)) as backend:
        create_server(backend).run("stdio")
