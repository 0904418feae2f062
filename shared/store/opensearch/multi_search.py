"""One recall: the searches of every part of a snapshot in one request, and the few that follow."""

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from codequarry.shared.model import Snapshot
from codequarry.shared.store.opensearch.answers import MAX_HITS, VECTOR, Answers, EngineHit, joined
from codequarry.shared.store.opensearch.clauses import EngineClause, any_value, search_clause
from codequarry.shared.store.opensearch.indices import Indices
from codequarry.shared.store.opensearch.paging import WHOLE_ANSWERS, every_hit
from codequarry.shared.store.opensearch.recall import HITS, EngineSearch, nearest, nearest_rows, recall_of, searches
from codequarry.shared.store.records import Recall, RecallQuery

# Rows with text and tokens take about 5 kB each.
CHUNKS_PER_PAGE = 500
# Texts of which copies are looked up at once. Repositories that share a text at the same path are forks, so few.
TEXTS_PER_REQUEST = 1_000
MAX_REPOSITORIES_OF_A_TEXT = 50

Name = TypeVar("Name", bound=Hashable)


def recall(indices: Indices, query: RecallQuery, parts: Sequence[EngineClause], ef_search: int) -> Recall:
    """Return the candidates of every channel among the rows of a snapshot's ``parts`` that match the filters."""
    asked = {
        (place, channel): search
        for place, live in enumerate(parts)
        for channel, search in searches(query, live, ef_search).items()
    }
    found = search_all(indices, asked)
    answers = []
    for place, live in enumerate(parts):
        part = Answers({channel: answer for (at, channel), answer in found.items() if at == place})
        answers.append(_with_enough_chunks(indices, query, live, part, ef_search))
    whole = joined(answers)
    more: list[EngineHit] = []
    if strided := whole.strided_chunks():
        more += _strides(indices, query, parts, strided)
    if _covers_several_repositories(query.snapshot):
        more += _copies(indices, query, parts, whole.vector_keys())
    return recall_of(query, whole, more)


def _with_enough_chunks(
    indices: Indices, query: RecallQuery, live: EngineClause, answers: Answers, ef_search: int
) -> Answers:
    """Return the answers about a part; one round trip is enough unless many of its rows belong to few chunks."""
    wanted = nearest_rows(query)
    while VECTOR in answers.by_channel and answers.may_lack_chunks(wanted, query.vector_limit):
        wanted = min(2 * wanted, MAX_HITS)
        more = search_all(indices, {VECTOR: nearest(query, live, wanted, ef_search)})
        answers = Answers({**answers.by_channel, **more})
    return answers


def search_all(indices: Indices, asked: Mapping[Name, EngineSearch]) -> dict[Name, dict[str, Any]]:
    """Send the searches in one request, and return the answers by name."""
    header = {"index": indices.chunks, "ignore_unavailable": True, "allow_no_indices": True}
    lines = [line for search in asked.values() for line in (header, search)]
    with indices.connection.translated():
        responses = indices.client.msearch(body=lines)["responses"]
    for response in responses:
        indices.connection.check_answer(response)
    return dict(zip(asked, responses, strict=True))


def _strides(
    indices: Indices, query: RecallQuery, parts: Sequence[EngineClause], chunk_ids: Collection[str]
) -> Iterator[EngineHit]:
    """Yield the live rows of strided chunks, because every channel scores a chunk by its best stride."""
    body = {"sort": ["id", "stride_info.stride_index", "timeline", "born"], "_source": HITS["_source"]}
    for live in parts:
        clause = search_clause(live, query.filters, any_value("id", chunk_ids))
        yield from every_hit(indices, indices.chunks, {**body, "query": clause}, page=CHUNKS_PER_PAGE)


def _covers_several_repositories(snapshot: Snapshot) -> bool:
    """Return whether a search of several versions may have left out a text because another repository has it too."""
    if not snapshot.siblings:
        return False
    one = set(snapshot.siblings[0])
    return any(not one.issuperset(layer.timelines) for layer in snapshot.layers)


def _copies(
    indices: Indices, query: RecallQuery, parts: Sequence[EngineClause], keys: Sequence[str]
) -> Iterator[EngineHit]:
    """Yield one live row for each text and each repository that has it: forks have the same texts."""
    one = {"top_hits": {"size": 1, "_source": HITS["_source"]}}
    repos = {"terms": {"field": "repo", "size": MAX_REPOSITORIES_OF_A_TEXT}, "aggs": {"one": one}}
    params = {**WHOLE_ANSWERS, "allow_partial_search_results": "false"}
    for start in range(0, len(keys), TEXTS_PER_REQUEST):
        some = keys[start : start + TEXTS_PER_REQUEST]
        texts = {"terms": {"field": "vector_key", "size": len(some)}, "aggs": {"repos": repos}}
        for live in parts:
            clause = search_clause(live, query.filters, any_value("vector_key", some))
            body = {"size": 0, "track_total_hits": False, "query": clause, "aggs": {"texts": texts}}
            with indices.connection.translated():
                answer = indices.client.search(index=indices.chunks, body=body, params=params)
            for text in answer.get("aggregations", {}).get("texts", {"buckets": ()})["buckets"]:
                for repo in text["repos"]["buckets"]:
                    yield from repo["one"]["hits"]["hits"]
