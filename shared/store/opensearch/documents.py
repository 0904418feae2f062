"""The documents of the catalog: real-time reads, and writes by compare-and-set."""

import uuid
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from opensearchpy.exceptions import ConflictError

from codequarry.shared.errors import Conflict
from codequarry.shared.store.document_cache import DocumentCache
from codequarry.shared.store.opensearch.clauses import EngineClause, any_of, any_value
from codequarry.shared.store.opensearch.indices import Indices
from codequarry.shared.store.opensearch.paging import every_hit
from codequarry.shared.store.opensearch.rows import document_id
from codequarry.shared.store.opensearch.sweeps import Sweeper
from codequarry.shared.store.records import Document

# An engine allows 1,024 clauses in a query.
CLAUSES_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class CatalogDocuments:
    """The catalog's documents."""

    indices: Indices
    sweeper: Sweeper
    remembered: DocumentCache = field(default_factory=DocumentCache)

    def read(self, key: str) -> Document | None:
        """Return the newest version; a get by id also sees writes that searches do not see yet."""
        index, known = self.remembered.take(key) or ("", None)
        if known is not None:
            found = self._get(key, source=False)
            # If the alias has moved, a different document may have the same version.
            if found and (found["_index"], _version(found)) == (index, known.version):
                return known
        found = self._get(key)
        return self.remembered.keep(_document(found), found["_index"]) if found else None

    def write(self, key: str, body: Mapping[str, Any], version: str | None) -> Document:
        """Write a document if it is still at ``version``; otherwise raise Conflict."""
        self.indices.ensure()
        writer = uuid.uuid4().hex
        params: dict[str, Any] = {"require_alias": "true"}
        if version is None:
            params["op_type"] = "create"
        else:
            params["if_seq_no"], params["if_primary_term"] = version.split(":")
        source = {"key": key, "writer": writer, "body": body}
        client, name = self.indices.client, self.indices.catalog

        def send() -> Any:  # noqa: ANN401 - the server's answer
            try:
                return client.index(index=name, id=document_id(key), body=source, params=params)
            except ConflictError as exc:
                found = self._get(key)
                # If an answer was lost, the client sends the write again, and it conflicts with the first attempt.
                if found is None or found["_source"]["writer"] != writer:
                    raise Conflict(f"document '{key}' changed since it was read") from exc
                return found

        document = Document(key, body, _version(self.indices.connection.patiently(send)))
        self.remembered.drop(key)
        return document

    def delete(self, key: str, version: str | None = None) -> None:
        """Delete a document if it exists; raise Conflict if it is no longer at a given ``version``."""
        client, name = self.indices.client, self.indices.catalog
        params: dict[str, Any] = {"ignore": 404}
        if version is not None:
            params["if_seq_no"], params["if_primary_term"] = version.split(":")

        def send() -> None:
            try:
                client.delete(index=name, id=document_id(key), params=params)
            except ConflictError as exc:
                # With a given version, a missing document is also reported as a conflict.
                if self._get(key, source=False) is not None:
                    raise Conflict(f"document '{key}' changed since it was read") from exc

        self.indices.connection.patiently(send)

    def delete_all(self, keys: Collection[str], prefixes: Collection[str]) -> None:
        """Delete the documents with any of ``keys``, and those whose keys begin with any of ``prefixes``."""
        clauses: list[EngineClause] = [{"prefix": {"key": prefix}} for prefix in prefixes]
        if keys:
            clauses.append(any_value("key", keys))
        for start in range(0, len(clauses), CLAUSES_AT_ONCE):
            self.sweeper.delete([self.indices.catalog], any_of(clauses[start : start + CLAUSES_AT_ONCE]))

    def list(self, prefix: str) -> Iterator[Document]:
        """Yield the documents whose key begins with ``prefix``, by key, including all writes that have returned."""
        self.sweeper.refresh(self.indices.catalog)
        query = {"prefix": {"key": prefix}} if prefix else {"match_all": {}}
        body = {"query": query, "sort": ["key"], "seq_no_primary_term": True}
        return (_document(hit) for hit in every_hit(self.indices, self.indices.catalog, body))

    def _get(self, key: str, *, source: bool = True) -> dict[str, Any] | None:
        client, name = self.indices.client, self.indices.catalog
        params = {"ignore": 404, **({} if source else {"_source": "false"})}
        answer: dict[str, Any] = self.indices.connection.patiently(
            lambda: client.get(index=name, id=document_id(key), params=params)
        )
        return answer if answer.get("found") else None


def _document(hit: Mapping[str, Any]) -> Document:
    return Document(hit["_source"]["key"], hit["_source"]["body"], _version(hit))


def _version(answer: Mapping[str, Any]) -> str:
    return f"{answer['_seq_no']}:{answer['_primary_term']}"
