"""`codequarry mcp`: the tools of a coding agent, over stdio."""

from contextlib import closing

import typer

from codequarry.cli.invocation import load, log_warnings


def mcp(context: typer.Context) -> None:
    """Serve a coding agent over stdio.

    The Model Context Protocol with the tools search_code and read_file (docs/agents.md).
    """
    settings = load(context).settings
    from codequarry.search_api.backend import Backend
    from codequarry.search_api.mcp import create_server

    log_warnings()
    with closing(Backend(settings)) as backend:
        create_server(backend).run("stdio")
