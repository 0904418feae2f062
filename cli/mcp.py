"""`codequarry mcp`: the tools of a coding agent, over stdio."""

import typer

from codequarry.cli.invocation import load


def mcp(context: typer.Context) -> None:
    """Serve a coding agent over stdio.

    The Model Context Protocol with the tools search_code and read_file (docs/agents.md).
    """
    settings = load(context).settings
    from codequarry.search_api.engine import SearchEngine
    from codequarry.search_api.mcp import Index, create_server
    from codequarry.shared.embedding.factory import open_embedder
    from codequarry.shared.store.factory import open_store

    embedder = open_embedder(settings.embedding, settings.home / "models")
    index = Index(
        lambda: open_store(settings, embedder.dimension), lambda store: SearchEngine(store, embedder, settings)
    )
    try:
        create_server(index).run("stdio")
    finally:
        index.close()
        embedder.close()
