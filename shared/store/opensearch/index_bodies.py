"""The bodies of the four indices: JSON files in the ``opensearch`` part, completed with the settings."""

import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

from codequarry.shared.settings.config import OpenSearchSettings

IndexBody = Mapping[str, Any]

# The kinds of index. Each has an alias, so that another edition can take the active edition's place.
CHUNKS, CATALOG, FILES, VECTORS = KINDS = ("chunks", "catalog", "files", "vectors")
FIRST_EDITION = 1


def alias_of(kind: str, settings: OpenSearchSettings) -> str:
    """Return the alias of the active index of a kind; the other aliases are derived from the chunk index's alias."""
    return settings.index if kind == CHUNKS else f"{settings.index}-{kind}"


def index_of(kind: str, settings: OpenSearchSettings, edition: int = FIRST_EDITION) -> str:
    """Return the name of the index itself, not of an alias."""
    return f"{alias_of(kind, settings)}-{edition:06d}"


def edition_alias_of(kind: str, settings: OpenSearchSettings, edition: int = FIRST_EDITION) -> str:
    """Return an edition's own alias; writes through an alias can't create an index with guessed fields."""
    return f"{alias_of(kind, settings)}-edition-{edition}"


def index_body(kind: str, settings: OpenSearchSettings, dimension: int, edition: int = FIRST_EDITION) -> dict[str, Any]:
    """Return the body for an index with vectors of ``dimension``; the first edition is active from the start."""
    text = (resources.files("codequarry.opensearch") / f"{kind}.json").read_text("utf-8")
    body: dict[str, Any] = json.loads(text)
    active: dict[str, Any] = {alias_of(kind, settings): {}} if edition == FIRST_EDITION else {}
    body["aliases"] = active | {edition_alias_of(kind, settings, edition): {}}
    body["settings"]["index"] |= {"number_of_shards": settings.shards, "number_of_replicas": settings.replicas}
    if kind == CHUNKS:
        embedding = body["mappings"]["properties"]["embedding"]
        embedding["dimension"] = dimension
        embedding["method"]["engine"] = settings.engine
        embedding["method"]["parameters"] = {"m": settings.m, "ef_construction": settings.ef_construction}
    return body


def index_bodies(settings: OpenSearchSettings, dimension: int) -> dict[str, dict[str, Any]]:
    """Return the bodies of the first edition's indices, by index name."""
    return {index_of(kind, settings): index_body(kind, settings, dimension) for kind in KINDS}
