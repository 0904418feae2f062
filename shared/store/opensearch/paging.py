"""Paged searches for all hits or buckets, and counts. They return a complete answer or raise an error."""

from collections.abc import Iterator, Sequence
from typing import Any

from codequarry.shared.store.opensearch.clauses import EngineClause
from codequarry.shared.store.opensearch.indices import Indices

# OpenSearch returns at most 10,000 hits per page.
PAGE_HITS = 5_000
# OpenSearch refuses aggregations of more than 65,536 buckets (search.max_buckets).
PAGE_BUCKETS = 5_000
# An index that does not exist yet counts as empty; a failed shard is an error.
WHOLE_ANSWERS = {
    "ignore_unavailable": "true",
    "allow_no_indices": "true",
}


def every_hit(
    indices: Indices, name: str, body: dict[str, Any], *, page: int = PAGE_HITS, routing: str | None = None
) -> Iterator[dict[str, Any]]:
    """Yield every hit of a search; its sort must have no ties."""
    params = {**WHOLE_ANSWERS, "allow_partial_search_results": "false", **({"routing": routing} if routing else {})}
    after: list[Any] | None = None
    while True:
        asked = {**body, "size": page, "track_total_hits": False, **({"search_after": after} if after else {})}
        with indices.connection.translated():
            hits: list[dict[str, Any]] = indices.client.search(index=name, body=asked, params=params)["hits"]["hits"]
        yield from hits
        if len(hits) < page:
            return
        after = hits[-1]["sort"]


def every_bucket(
    indices: Indices, name: str, query: EngineClause, fields: Sequence[str], *, page: int = PAGE_BUCKETS
) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield each combination of values of ``fields`` among a query's hits, with its number of hits."""
    params = {**WHOLE_ANSWERS, "allow_partial_search_results": "false"}
    sources = [{field: {"terms": {"field": field}}} for field in fields]
    after: dict[str, Any] | None = None
    while True:
        composite = {"sources": sources, "size": page, **({"after": after} if after else {})}
        body = {"size": 0, "track_total_hits": False, "query": query, "aggs": {"all": {"composite": composite}}}
        with indices.connection.translated():
            answer = indices.client.search(index=name, body=body, params=params)
        # The answer for an index that does not exist yet has no aggregations.
        found: dict[str, Any] = answer.get("aggregations", {}).get("all", {"buckets": []})
        for bucket in found["buckets"]:
            yield tuple(bucket["key"][field] for field in fields), int(bucket["doc_count"])
        after = found.get("after_key")
        if len(found["buckets"]) < page or after is None:
            return


def count_hits(indices: Indices, name: str, query: EngineClause) -> int:
    """Return the number of documents that match a query."""
    body = {"query": query, "size": 0, "track_total_hits": True}
    params = {**WHOLE_ANSWERS, "allow_partial_search_results": "false"}
    with indices.connection.translated():
        answer = indices.client.search(index=name, body=body, params=params)
    return int(answer["hits"]["total"]["value"])
