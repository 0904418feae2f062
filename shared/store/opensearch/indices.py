"""The four indices of an edition and their aliases, created by the first write."""

from dataclasses import dataclass
from typing import Any

from opensearchpy import OpenSearch
from opensearchpy.exceptions import RequestError

from codequarry.shared.errors import ModelMismatch
from codequarry.shared.settings.config import OpenSearchSettings
from codequarry.shared.store.opensearch.connection import ClusterConnection
from codequarry.shared.store.opensearch.index_bodies import (
    CATALOG,
    CHUNKS,
    FILES,
    FIRST_EDITION,
    KINDS,
    VECTORS,
    alias_of,
    edition_alias_of,
    index_body,
    index_of,
)
from codequarry.shared.store.opensearch.mapping_version import upgrade

# Merging a large index takes minutes.
EXPUNGE_SECONDS = 3600


@dataclass(slots=True)
class Indices:
    """The names of an edition's indices, and whether they are known to exist."""

    connection: ClusterConnection
    dimension: int
    edition: int = FIRST_EDITION
    checked: bool = False

    @property
    def client(self) -> OpenSearch:
        """The client that sends the requests."""
        return self.connection.client

    @property
    def settings(self) -> OpenSearchSettings:
        """The settings for the cluster."""
        return self.connection.settings

    @property
    def chunks(self) -> str:
        """The alias of the chunk rows."""
        return edition_alias_of(CHUNKS, self.settings, self.edition)

    @property
    def catalog(self) -> str:
        """The alias of the documents."""
        return edition_alias_of(CATALOG, self.settings, self.edition)

    @property
    def files(self) -> str:
        """The alias of the file records."""
        return edition_alias_of(FILES, self.settings, self.edition)

    @property
    def vectors(self) -> str:
        """The alias of the embedding cache."""
        return edition_alias_of(VECTORS, self.settings, self.edition)

    def ensure(self) -> list[str]:
        """Create missing indices, upgrade old mappings, and return the names of the created indices.

        Raise ModelMismatch if the vectors have a different length, StoreUnavailable if a newer release wrote the index.
        """
        if self.checked:
            return []
        with self.connection.translated():
            made = [index_of(kind, self.settings, self.edition) for kind in KINDS if self._make(kind)]
            upgrade(self.connection, self.edition)
            self._check_dimension()
        self.checked = True
        return made

    def _make(self, kind: str) -> bool:
        if self.client.indices.exists_alias(name=edition_alias_of(kind, self.settings, self.edition)):
            return False
        body = index_body(kind, self.settings, self.dimension, self.edition)
        active = alias_of(kind, self.settings)
        if active in body["aliases"] and self.client.indices.exists_alias(name=active):
            # Another edition is active, and a process that is late must not point the alias to this edition too.
            del body["aliases"][active]
        try:
            self.client.indices.create(index=index_of(kind, self.settings, self.edition), body=body)
        except RequestError as exc:
            # Another process created it first.
            if exc.error != "resource_already_exists_exception":
                raise
            return False
        return True

    def _check_dimension(self) -> None:
        """Raise ModelMismatch if vectors have a different length, but recreate the index instead if it is empty."""
        for name, dimension in self.dimensions().items():
            if dimension == self.dimension:
                continue
            self.client.indices.refresh(index=name)
            if self.client.count(index=name)["count"]:
                raise ModelMismatch(
                    f"index {name} has vectors of {dimension} dimensions, but the model has {self.dimension}; set "
                    "embedding.model to the model that made the index, or set opensearch.index to another name and "
                    "index the repositories again"
                )
            self.client.indices.delete(index=name)
            self._make(CHUNKS)

    def expunge(self) -> None:
        """Rewrite all segments with deleted documents; by default OpenSearch tolerates up to 10% per segment."""
        names, there = f"{self.chunks},{self.files},{self.vectors}", {"ignore_unavailable": "true"}
        setting = "index.merge.policy.expunge_deletes_allowed"
        with self.connection.translated():
            self.client.indices.put_settings(index=names, body={setting: 0}, params=there)
            try:
                params = {**there, "only_expunge_deletes": "true", "request_timeout": EXPUNGE_SECONDS}
                self.client.indices.forcemerge(index=names, params=params)
                self.client.indices.flush(index=names, params=there)
            finally:
                self.client.indices.put_settings(index=names, body={setting: None}, params=there)

    def dimensions(self) -> dict[str, int]:
        """Return the length of the vectors in each chunk index."""
        answer: dict[str, Any] = self.client.indices.get_mapping(
            index=self.chunks, params={"ignore_unavailable": "true", "allow_no_indices": "true"}
        )
        properties = {name: body["mappings"].get("properties", {}) for name, body in answer.items()}
        return {name: fields["embedding"]["dimension"] for name, fields in properties.items() if "embedding" in fields}
