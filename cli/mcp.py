"""`codequarry mcp`: the tools of a coding agent, over stdio."""

from contextlib import closing

import typer

from codequarry.cli.invocation import load


def mcp(context: typer.Context) -> None:
    """Serve a coding agent over stdio.

    The Model Context Protocol with the tools search_code and read_file (docs/agents.md).
    """
    settings = load(context).settings
    from codequarry.search_api.backend import Backend
    from codequarry.search_api.mcp import create_server
    from codequarry.shared.telemetry.logs import configure_logs

    configure_logs("warning", as_json=False)  # to stderr: stdout belongs to the protocol
    with closing(Backend(settings)) as backend:
        create_server(backend).run("stdio")
