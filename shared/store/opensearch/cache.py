"""The embedding cache: vectors keyed by a hash of the model and the embedded text, and read by id."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from codequarry.shared.arrays import Vector
from codequarry.shared.store.opensearch.bulk import BulkItem, create_all
from codequarry.shared.store.opensearch.clauses import NOTHING, EngineClause, all_of, any_value
from codequarry.shared.store.opensearch.indices import Indices
from codequarry.shared.store.opensearch.paging import every_bucket, every_hit
from codequarry.shared.store.opensearch.rows import decode_vector, document_id, encode_vector
from codequarry.shared.store.opensearch.sweeps import Sweeper

KEYS_PER_REQUEST = 1_000
# Keys known to be written, so that vectors that the run has cached are not sent again with its rows. Takes about 10 MB.
REMEMBERED_KEYS = 100_000


@dataclass(slots=True)
class OpenSearchVectorCache:
    """The vectors of one index."""

    indices: Indices
    sweeper: Sweeper
    written: dict[str, None] = field(default_factory=dict)

    def read(self, keys: Iterable[str]) -> dict[str, Vector]:
        """Return the cached vectors among ``keys``."""
        found: dict[str, Vector] = {}
        for part in _parts(dict.fromkeys(keys)):
            with self.indices.connection.translated():
                answer = self.indices.client.mget(
                    index=self.indices.vectors,
                    body={"ids": [document_id(key) for key in part]},
                    params={"ignore": 404},
                )
            documents = answer.get("docs", [])
            found |= {
                key: decode_vector(document["_source"]["vector"])
                for key, document in zip(part, documents, strict=False)
                if document.get("found")
            }
        return found

    def write(self, vectors: Mapping[str, Vector]) -> dict[str, str]:
        """Store vectors without replacing any, and return the refused keys, each with the reason."""
        new = [key for key in vectors if key not in self.written]
        if not new:
            return {}
        items = [
            BulkItem(self.indices.vectors, key, {"key": key, "vector": encode_vector(vectors[key])}) for key in new
        ]
        rejected = create_all(self.indices.connection, items)
        self.written |= dict.fromkeys(key for key in new if key not in rejected)
        for key in list(islice(self.written, max(0, len(self.written) - REMEMBERED_KEYS))):
            del self.written[key]
        return rejected

    def drop_unused(self) -> None:
        """Delete the vectors that no chunk row uses; any row deletions must have been refreshed."""
        self.sweeper.refresh(self.indices.vectors)
        body = {"query": {"match_all": {}}, "sort": ["key"], "_source": ["key"]}
        hits = every_hit(self.indices, self.indices.vectors, body, page=KEYS_PER_REQUEST)
        unused: dict[str, None] = {}
        for part in _parts({hit["_source"]["key"]: None for hit in hits}):
            used = self._used(part)
            unused |= dict.fromkeys(key for key in part if key not in used)
        for part in _parts(unused):
            self.sweeper.delete([self.indices.vectors], {"terms": {"key": part}})
        self.written.clear()

    def drop_of(self, doomed: EngineClause) -> None:
        """Delete the vectors used only by rows that match ``doomed``, before those rows are deleted.

        In this order, the rows are still found after a crash between the two. Rows created since have their own copies.
        """
        self.sweeper.refresh(self.indices.chunks)
        keys = (key for (key,), _ in every_bucket(self.indices, self.indices.chunks, doomed, ["vector_key"]))
        for part in _parts(keys):
            used = self._used(part, doomed)
            unused = [key for key in part if key not in used]
            if unused:
                self.sweeper.delete([self.indices.vectors], any_value("key", unused))
            for key in unused:
                self.written.pop(key, None)

    def _used(self, keys: Sequence[str], doomed: EngineClause = NOTHING) -> set[str]:
        """Return the ``keys`` that rows use, ignoring rows that match ``doomed``."""
        body = {
            "size": 0,
            "query": all_of([any_value("vector_key", keys)], [doomed]),
            "aggs": {"used": {"terms": {"field": "vector_key", "include": keys, "size": len(keys)}}},
        }
        params = {"ignore_unavailable": "true", "allow_partial_search_results": "false"}
        with self.indices.connection.translated():
            answer = self.indices.client.search(index=self.indices.chunks, body=body, params=params)
        # The answer for an index that does not exist yet has no aggregations.
        found = answer.get("aggregations", {}).get("used", {"buckets": ()})
        return {bucket["key"] for bucket in found["buckets"]}


def _parts(keys: Iterable[str]) -> Iterator[Sequence[str]]:
    rest = iter(keys)
    while part := list(islice(rest, KEYS_PER_REQUEST)):
        yield part
