"""`codequarry opensearch`: a node on this machine, and the index in the cluster that the settings name."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codequarry.cli.session.session import Json, examples, load
from codequarry.cli.terminal.console import count, note, safe_line, size, write, write_json, write_table

if TYPE_CHECKING:
    from codequarry.opensearch.node import Node, NodePlan
    from codequarry.shared.settings.config import SettingsModel
    from codequarry.shared.store.opensearch.store import OpenSearchStore

# The fields of an index in `status --json`.
INDEX_FIELDS = ("name", "alias", "documents", "bytes", "health")

app = typer.Typer(
    help="Run OpenSearch on this machine, and create or inspect the index in a cluster.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Folder = Annotated[
    Path | None,
    typer.Option(help="Folder of the node; opensearch in the data folder by default.", show_default=False),
]


@app.command(epilog=examples("opensearch start", "opensearch start --heap 4g --port 9201"))
def start(
    context: typer.Context,
    folder: Folder = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="9200 if it is free, otherwise any; 0 means any.", show_default=False),
    ] = None,
    heap: Annotated[str, typer.Option(help="The server's heap size, for example 512m or 2g.")] = "1g",
    repository: Annotated[str | None, typer.Option(metavar="URL", help="Maven mirror.", show_default=False)] = None,
    as_json: Json = False,
) -> None:
    """Start a node on this machine, without Docker.

    The first start downloads about 90 MB. The node listens on 127.0.0.1 only and runs until it is stopped.
    """
    from codequarry.opensearch.node import NodePlan
    from codequarry.opensearch.node import start as start_node

    settings = load(context).settings
    node = start_node(NodePlan(_folder(settings, folder), heap=heap, port=port, repository=repository), note)
    if as_json:
        write_json(_described(node))
        return
    write(f"OpenSearch {node.version} answers at {node.url} (log: {safe_line(node.log)})")
    if settings.store != "opensearch" or node.url not in settings.opensearch.urls:
        note(f"to use it: export CODEQUARRY_STORE=opensearch CODEQUARRY_OPENSEARCH__URLS={node.url}")


@app.command(epilog=examples("opensearch stop"))
def stop(context: typer.Context, folder: Folder = None, as_json: Json = False) -> None:
    """Stop the node on this machine; its data stays."""
    from codequarry.opensearch.node import stop as stop_node

    node = stop_node(_plan(load(context).settings, folder))
    if as_json:
        write_json({"stopped": node is not None, "node": _described(node) if node else None})
    else:
        note(f"stopped the node at {node.url}" if node else "no node was running")


@app.command(epilog=examples("opensearch status", "opensearch status --json"))
def status(context: typer.Context, folder: Folder = None, as_json: Json = False) -> None:
    """Show the node on this machine, the cluster that the settings name, and its indices."""
    from codequarry.opensearch.node import find
    from codequarry.shared.store.opensearch.connection import shown_urls
    from codequarry.shared.store.opensearch.overview import read_cluster, read_indices

    settings = load(context).settings
    node = find(_plan(settings, folder))
    if not as_json:
        running = f"{node.url}, process {node.pid}, in {safe_line(node.folder)}" if node else "none started here"
        write(f"node     {running}")
    with _store(settings, dimension=1) as store:
        cluster, indices = read_cluster(store), read_indices(store)
    urls = shown_urls(settings.opensearch)
    if as_json:
        write_json(
            {
                "node": _described(node) if node else None,
                "cluster": {"urls": urls.split(", "), "name": cluster.name, "version": cluster.version},
                "indices": [{name: getattr(index, name) for name in INDEX_FIELDS} for index in indices],
            }
        )
        return
    write(f"cluster  {cluster.distribution} {cluster.version} at {urls}")
    if not indices:
        note(f"no index '{settings.opensearch.index}' yet; codequarry opensearch init or the first import creates it")
    rows = [(index.name, count(index.documents, "document"), size(index.bytes), index.health) for index in indices]
    write_table(rows, right=(1, 2))


@app.command(epilog=examples("opensearch init --print", "opensearch init"))
def init(
    context: typer.Context,
    only_print: Annotated[bool, typer.Option("--print", help="Only print the index bodies as JSON.")] = False,
    as_json: Json = False,
) -> None:
    """Create the index that the settings describe, or print what would be created. The first import creates it too."""
    from codequarry.shared.embedding.factory import open_embedder
    from codequarry.shared.store.opensearch.index_bodies import index_bodies

    settings = load(context).settings
    embedder = open_embedder(settings.embedding, settings.home / "models")
    dimension = embedder.dimension
    embedder.close()
    if only_print:
        bodies = index_bodies(settings.opensearch, dimension)
        write(json.dumps(bodies, indent=2))
        return
    with _store(settings, dimension) as store:
        made = store.indices.ensure()
    if as_json:
        write_json({"made": made})
    else:
        note(f"created {', '.join(made)}" if made else f"'{settings.opensearch.index}' already exists")


def _folder(settings: "SettingsModel", folder: Path | None) -> Path:
    return folder or settings.home / "opensearch"


def _plan(settings: "SettingsModel", folder: Path | None) -> "NodePlan":
    from codequarry.opensearch.node import NodePlan

    return NodePlan(_folder(settings, folder))


def _described(node: "Node") -> dict[str, object]:
    return {"url": node.url, "version": node.version, "pid": node.pid, "folder": node.folder, "log": node.log}


@contextmanager
def _store(settings: "SettingsModel", dimension: int) -> "Iterator[OpenSearchStore]":
    """Open the active edition, to which the aliases point."""
    from codequarry.shared.store.opensearch.editions import OpenSearchEditions
    from codequarry.shared.store.opensearch.store import OpenSearchStore

    with closing(OpenSearchEditions(settings.opensearch)) as editions:
        store = OpenSearchStore(settings.opensearch, dimension, editions.active())
    try:
        yield store
    finally:
        store.close()
