"""An overview of the cluster: its version, and our indices with their sizes."""

from dataclasses import dataclass
from typing import Any

from codequarry.shared.store.opensearch.index_bodies import KINDS, alias_of
from codequarry.shared.store.opensearch.store import OpenSearchStore


@dataclass(frozen=True, slots=True)
class Cluster:
    """The name, version and distribution of the server."""

    name: str
    version: str
    distribution: str

    @property
    def numbers(self) -> tuple[int, ...]:
        """The version as numbers, for comparison."""
        return tuple(int(part) for part in self.version.split("-")[0].split(".") if part.isdigit())


@dataclass(frozen=True, slots=True)
class IndexFacts:
    """One of our indices; ``documents`` counts visible documents, and ``settings`` are flat and include defaults."""

    name: str
    alias: str
    documents: int
    bytes: int
    health: str
    settings: dict[str, Any]


def read_cluster(store: OpenSearchStore) -> Cluster:
    """Read the server's name and version."""
    with store.connection.translated():
        answer = store.connection.client.info()
    version = answer["version"]
    return Cluster(answer["cluster_name"], version["number"], version.get("distribution", "elasticsearch"))


def read_indices(store: OpenSearchStore) -> list[IndexFacts]:
    """Return our indices by name; the list is empty if nothing has been written yet."""
    found = [facts for kind in KINDS for facts in _behind(store, alias_of(kind, store.settings))]
    return sorted(found, key=lambda facts: facts.name)


def _behind(store: OpenSearchStore, alias: str) -> list[IndexFacts]:
    """Return the indices that an alias points to."""
    client = store.connection.client
    with store.connection.translated():
        if not client.indices.exists_alias(name=alias):
            return []
        # Only visible documents are counted, and some indices refresh only every 30 seconds.
        client.indices.refresh(index=alias)
        settings = client.indices.get_settings(
            index=alias, params={"include_defaults": "true", "flat_settings": "true"}
        )
        stats = client.indices.stats(index=alias, metric="docs,store")["indices"]
        health = client.cluster.health(index=alias, params={"level": "indices"})["indices"]
    return [
        IndexFacts(
            name,
            alias,
            stats[name]["primaries"]["docs"]["count"],
            stats[name]["total"]["store"]["size_in_bytes"],
            health[name]["status"],
            {**body.get("defaults", {}), **body["settings"]},
        )
        for name, body in settings.items()
    ]
