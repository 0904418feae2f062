"""The bodies of the four indices: the JSON files beside this one, with what the settings say put in."""

import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

from codequarry.shared.config import OpenSearchSettings

Body = Mapping[str, Any]

# Keys of the index names: an index is an alias over versions of it, so that another version can take its place.
CHUNKS, CATALOG, FILES, VECTORS = KINDS = ("chunks", "catalog", "files", "vectors")
FIRST_VERSION = 1


def alias_of(kind: str, settings: OpenSearchSettings) -> str:
    """Return the name that readers and writers use; the other three indices are named after that of the chunks."""
    return settings.index if kind == CHUNKS else f"{settings.index}-{kind}"


def first_index_of(kind: str, settings: OpenSearchSettings) -> str:
    """Return the name of the index that the alias points to at first."""
    return f"{alias_of(kind, settings)}-{FIRST_VERSION:06d}"


def index_body(kind: str, settings: OpenSearchSettings, dimension: int) -> dict[str, Any]:
    """Return what creates one index, its alias included; ``dimension`` is the length of a vector."""
    text = (resources.files("codequarry.opensearch") / f"{kind}.json").read_text("utf-8")
    body: dict[str, Any] = json.loads(text)
    body["aliases"] = {alias_of(kind, settings): {}}
    body["settings"]["index"] |= {"number_of_shards": settings.shards, "number_of_replicas": settings.replicas}
    if kind == CHUNKS:
        embedding = body["mappings"]["properties"]["embedding"]
        embedding["dimension"] = dimension
        embedding["method"]["engine"] = settings.engine
        embedding["method"]["parameters"] = {"m": settings.m, "ef_construction": settings.ef_construction}
    return body


def index_bodies(settings: OpenSearchSettings, dimension: int) -> dict[str, dict[str, Any]]:
    """Return the body of each index by the name it gets."""
    return {first_index_of(kind, settings): index_body(kind, settings, dimension) for kind in KINDS}
