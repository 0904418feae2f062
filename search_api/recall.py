"""The one stage that does input and output: embed the query and ask the store for candidates."""

from codequarry.search_api.plan import Plan
from codequarry.search_api.terms import index_terms
from codequarry.shared.embedding.port import Embedder, Vector
from codequarry.shared.errors import EmbeddingError
from codequarry.shared.model import Snapshot
from codequarry.shared.store.port import RecallQuery

# Candidates of each of the two wide channels. The pool is the depth of paging too, so it grows with the page: then a
# page can be filled even where half of the candidates repeat each other, and later pages have something to show.
MIN_WIDE_LIMIT = 100
WIDE_LIMIT_PER_HIT = 3
# A name or a file is meant exactly: more than this many of one name are not told apart by asking for more.
NARROW_LIMIT = 50


def recall_query(plan: Plan, snapshot: Snapshot, vector: Vector | None) -> RecallQuery:
    """Return what the store is asked for; every page of a search asks for the same."""
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


def embed(embedder: Embedder, text: str) -> Vector | None:
    """Return the vector of a query, or None where the model fails: then the search goes on lexically."""
    try:
        return embedder.embed_query(text)
    except EmbeddingError:
        return None
