"""The recall stage: embeds the query and requests candidates from the store; the scoring that follows does no I/O."""

from collections.abc import Iterator

from codequarry.search_api.query.plan import QueryPlan
from codequarry.search_api.query.terms import MAX_TERMS, index_terms
from codequarry.shared.arrays import Vector
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.errors import EmbedderUnavailable, EmbeddingError
from codequarry.shared.identifiers import iter_tokens
from codequarry.shared.liveness.breaker import Breaker
from codequarry.shared.model import Snapshot
from codequarry.shared.store.records import RecallQuery
from codequarry.shared.telemetry.metrics import embedding_timed

# Candidates from each of the two wide channels. The pool grows with the page, because it also limits paging: a page can
# be filled even if half of the candidates repeat each other, and later pages have something to show.
MIN_WIDE_LIMIT = 100
WIDE_LIMIT_PER_HIT = 3
# Names and paths match exactly: if more chunks share a name, further candidates would not help to tell them apart.
NARROW_LIMIT = 50


def recall_query(plan: QueryPlan, snapshot: Snapshot, vector: Vector | None) -> RecallQuery:
    """Return the store's query, which is the same for every page of a search."""
    wide = max(MIN_WIDE_LIMIT, WIDE_LIMIT_PER_HIT * plan.request.top_k)
    narrow = max(NARROW_LIMIT, plan.request.top_k)
    return RecallQuery(
        snapshot=snapshot,
        filters=plan.selection.filters,
        vector=vector,
        terms=index_terms(plan.groups),
        symbols=plan.symbols,
        paths=plan.paths,
        vector_limit=wide,
        term_limit=wide,
        symbol_limit=narrow,
        path_limit=narrow,
    )


def near_query(plan: QueryPlan, snapshot: Snapshot) -> RecallQuery:
    """Return the follow-up query for an empty answer: the same words and similar spellings, without filters."""
    words = [name.last for name in plan.names] or plan.text.split()
    terms = [token for word in words for token in iter_tokens(word)]
    spellings = [near for token in dict.fromkeys(terms) for near in near_spellings(token)]
    return RecallQuery(
        snapshot=snapshot,
        terms=tuple(dict.fromkeys((*terms, *spellings)))[:MAX_TERMS],
        symbols=tuple(dict.fromkeys((*plan.symbols, *spellings)))[:MAX_TERMS],
        term_limit=MIN_WIDE_LIMIT,
        symbol_limit=MIN_WIDE_LIMIT,
    )


def near_spellings(word: str) -> Iterator[str]:
    """Yield ``word`` with each letter left out, swapped with the next, or doubled."""
    for index in range(len(word)):
        yield word[:index] + word[index + 1 :]
        yield word[:index] + word[index : index + 2][::-1] + word[index + 2 :]
        yield word[:index] + word[index] + word[index:]


def embed(embedder: Embedder, text: str, breaker: Breaker) -> Vector | None:
    """Return the vector of a query, or None (search by words only) if the model fails or failed a moment ago."""
    if not breaker.allows():
        return None
    try:
        with embedding_timed("query"):
            vector = embedder.embed_query(text)
    except EmbedderUnavailable:
        breaker.record_failure()
        return None
    except EmbeddingError:
        breaker.record_success()
        return None
    breaker.record_success()
    return vector
