"""Reads for checking and copying an index: the newest number, rows per file version, a timeline's history."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from heapq import merge

from codequarry.shared.store.opensearch.clauses import FIRST_STRIDE, EngineClause, all_of, any_of, any_value
from codequarry.shared.store.opensearch.indices import Indices
from codequarry.shared.store.opensearch.paging import WHOLE_ANSWERS, every_bucket, every_hit
from codequarry.shared.store.opensearch.rows import record_of, row_of
from codequarry.shared.store.records import StoredFile, StoredRow
from codequarry.shared.versions.snapshots import OPEN

# Rows with text, tokens and vector take about 5 kB each.
ROWS_PER_PAGE = 500
# Keeps the rows of a file together; no two rows agree in all these fields.
ROW_ORDER = ["born", "path", "ordinal", "id", "stride_info.stride_index"]
FILE_ORDER = ["born", "path"]
LIFE_ORDER = ["timeline", "born", "path", "ordinal", "start_char", "id"]
ENGINE_ONLY = ["embedding", "vector", "lookup", "lengths"]

Ordered = tuple[int, int, StoredRow | StoredFile]


def newest_number(indices: Indices) -> int:
    """Return the highest ``born`` or ``died`` of any visible row or record."""
    dead: EngineClause = {"range": {"died": {"lt": OPEN}}}
    body = {
        "size": 0,
        "aggs": {
            "born": {"max": {"field": "born"}},
            "dead": {"filter": dead, "aggs": {"died": {"max": {"field": "died"}}}},
        },
    }
    params = {**WHOLE_ANSWERS, "allow_partial_search_results": "false"}
    with indices.connection.translated():
        answer = indices.client.search(index=f"{indices.chunks},{indices.files}", body=body, params=params)
    found = answer.get("aggregations")
    if not found:
        return 0
    return max(int(value or 0) for value in (found["born"]["value"], found["dead"]["died"]["value"]))


def row_counts(indices: Indices, parts: Sequence[EngineClause]) -> dict[tuple[str, str], int]:
    """Return the number of live rows for each (path, blob); ``parts`` are the clauses for the live rows."""
    counts: Counter[tuple[str, str]] = Counter()
    for live in parts:
        for (path, blob), count in every_bucket(indices, indices.chunks, live, ["path", "blob"]):
            counts[path, blob] += count
    return dict(counts)


def symbol_lives(indices: Indices, timelines: Collection[int], symbol: str) -> Iterator[StoredRow]:
    """Yield the rows of ``timelines`` that declare ``symbol``, dead or alive, each by its first stride."""
    declares = any_of([{"term": {"symbol_name": symbol}}, {"term": {"defines": symbol}}])
    query = all_of([any_value("timeline", sorted(timelines)), declares, FIRST_STRIDE])
    body = {"query": query, "sort": LIFE_ORDER, "_source": {"excludes": ENGINE_ONLY}}
    for hit in every_hit(indices, indices.chunks, body, page=ROWS_PER_PAGE):
        yield StoredRow(row_of(hit["_source"]), hit["_source"]["died"])


def history(indices: Indices, timeline: int, after: int) -> Iterator[StoredRow | StoredFile]:
    """Yield the rows and records of a timeline by ``born``, each transaction's rows before its records."""
    born: EngineClause = {"range": {"born": {"gt": after}}}
    died: EngineClause = {"range": {"died": {"gt": after, "lt": OPEN}}}
    both = merge(
        _rows(indices, all_of([{"term": {"timeline": timeline}}, born])),
        _files(indices, all_of([{"term": {"timeline": timeline}}, any_of([born, died])])),
        key=lambda ordered: ordered[:2],
    )
    return (stored for _, _, stored in both)


def _rows(indices: Indices, query: EngineClause) -> Iterator[Ordered]:
    body = {
        "query": query,
        "sort": ROW_ORDER,
        "_source": {"excludes": ENGINE_ONLY},
    }
    for hit in every_hit(indices, indices.chunks, body, page=ROWS_PER_PAGE):
        yield hit["_source"]["born"], 0, StoredRow(row_of(hit["_source"]), hit["_source"]["died"])


def _files(indices: Indices, query: EngineClause) -> Iterator[Ordered]:
    body = {"query": query, "sort": FILE_ORDER}
    for hit in every_hit(indices, indices.files, body):
        yield hit["_source"]["born"], 1, StoredFile(record_of(hit["_source"]), hit["_source"]["died"])
