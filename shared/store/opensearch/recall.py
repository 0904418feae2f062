"""Builds a search's multi-search request, and turns the answers into candidates. Pure functions."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from codequarry.shared.arrays import Vector
from codequarry.shared.filters import RECALL_WEIGHTS
from codequarry.shared.model import TOKEN_FIELDS, Candidate, Tokens
from codequarry.shared.store.opensearch.answers import (
    FREQUENCIES,
    LENGTHS,
    MAX_HITS,
    PATH,
    SYMBOL,
    TERMS,
    VECTOR,
    Answers,
    EngineHit,
)
from codequarry.shared.store.opensearch.clauses import (
    FIRST_STRIDE,
    EngineClause,
    all_of,
    any_of,
    count_clauses,
    search_clause,
)
from codequarry.shared.store.opensearch.rows import ENGINE_FIELDS, LOOKUP_OF_RANK, chunk_of, similarities, tokens_of
from codequarry.shared.store.records import Recall, RecallQuery

EngineSearch = dict[str, Any]

# OpenSearch refuses more than 1,024 clauses in one query, including filter clauses; each word is a clause.
MAX_QUERY_CLAUSES = 1000
MAX_QUERY_TERMS = 500
# Rows to look for per text in a search of several versions. For 200 branches of 20 changed files out of 10,000, 1.3 is
# enough; another round trip would cost more than some more rows.
ROWS_A_TEXT = 2
HITS = {"_source": {"excludes": list(ENGINE_FIELDS)}, "track_total_hits": False}


def searches(query: RecallQuery, live: EngineClause, ef_search: int) -> dict[str, EngineSearch]:
    """Return the searches that ``query`` needs among the ``live`` rows of a part of its snapshot, by channel."""
    live_fit = search_clause(live, query.filters)
    live_first = search_clause(live, query.filters, FIRST_STRIDE)
    asked = {LENGTHS: _lengths(live), VECTOR: None, TERMS: None, SYMBOL: None, PATH: None, FREQUENCIES: None}
    if query.vector is not None and query.vector_limit:
        asked[VECTOR] = nearest(query, live, nearest_rows(query), ef_search)
    terms = query.terms[: min(MAX_QUERY_TERMS, max(1, MAX_QUERY_CLAUSES - count_clauses(live_fit)))]
    if terms:
        asked[FREQUENCIES] = _frequencies(live, terms)
        asked[TERMS] = _lexical(terms, query.term_limit, live_fit)
    if query.symbols:
        asked[SYMBOL] = _by_symbol(query.symbols, query.symbol_limit, live_first)
    if query.paths:
        asked[PATH] = _by_path(query.paths, query.path_limit, live_first)
    once = _each_text_once(query)
    return {
        channel: search | (once if channel in (TERMS, SYMBOL, PATH) else {})
        for channel, search in asked.items()
        if search is not None
    }


def _each_text_once(query: RecallQuery) -> EngineSearch:
    """Return the part of a search that keeps the best of the rows with one text, if versions share texts.

    The key of the vector is that of path and text. Rows of other repositories are looked up again (``copies``).
    """
    return {"collapse": {"field": "vector_key"}} if query.snapshot.siblings else {}


def nearest_rows(query: RecallQuery) -> int:
    """Return how many rows to look for first: if versions share texts, some of the nearest rows are copies."""
    return min((ROWS_A_TEXT if query.snapshot.siblings else 1) * query.vector_limit, MAX_HITS)


def nearest(query: RecallQuery, live: EngineClause, limit: int, ef_search: int) -> EngineSearch:
    """Return the k-NN search, which filters while it searches and so finds ``limit`` rows if that many match."""
    assert query.vector is not None
    knn = {
        "vector": query.vector.tolist(),
        "k": limit,
        "filter": search_clause(live, query.filters),
        "method_parameters": {"ef_search": max(ef_search, limit)},
    }
    once = _each_text_once(query)
    # If rows were left out as copies, only the total says whether more rows would have matched.
    return {**HITS, "size": limit, "query": {"knn": {"embedding": knn}}, **once, "track_total_hits": bool(once)}


def _lexical(terms: Sequence[str], limit: int, clause: EngineClause) -> EngineSearch:
    # This field has the tokens of all fields, repeated according to the field's weight, so BM25 uses weighted counts.
    words = {"match": {"lookup.words": {"query": " ".join(terms)}}}
    return {**HITS, "size": limit, "query": {"bool": {"must": [words], "filter": [clause]}}}


def _by_symbol(symbols: Sequence[str], limit: int, clause: EngineClause) -> EngineSearch:
    ranked: list[EngineClause] = [
        {"constant_score": {"filter": {"terms": {f"lookup.{name}": list(symbols)}}, "boost": rank}}
        for rank, name in LOOKUP_OF_RANK.items()
    ]
    query = {"bool": {"must": [{"dis_max": {"queries": ranked}}], "filter": [clause]}}
    return {**HITS, "size": limit, "query": query, "sort": ["_score", "path", "ordinal"]}


def _by_path(paths: Sequence[str], limit: int, clause: EngineClause) -> EngineSearch:
    query = all_of([clause, {"terms": {"lookup.path": list(paths)}}])
    return {**HITS, "size": limit, "query": query, "sort": ["path", "ordinal"]}


def _lengths(live: EngineClause) -> EngineSearch:
    """Return the search that does not depend on the query's words; OpenSearch caches it until the index changes."""
    averages = {name: {"avg": {"field": f"lengths.{name}"}} for name in TOKEN_FIELDS}
    return {"size": 0, "track_total_hits": True, "query": _live_chunks(live), "aggs": averages}


def _frequencies(live: EngineClause, terms: Sequence[str]) -> EngineSearch:
    filters: dict[str, EngineClause] = {
        str(position): {"term": {"lookup.words": term}} for position, term in enumerate(terms)
    }
    return {
        "size": 0,
        "track_total_hits": False,
        "query": all_of([_live_chunks(live), any_of(list(filters.values()))]),
        "aggs": {"terms": {"filters": {"filters": filters}}},
    }


def _live_chunks(live: EngineClause) -> EngineClause:
    return all_of([live, FIRST_STRIDE])


def recall_of(query: RecallQuery, answers: Answers, more: Iterable[EngineHit]) -> Recall:
    """Return the result of a search; ``more`` are further rows: strides of the chunks found, copies of their texts."""
    rows = answers.rows() | {hit["_id"]: hit["_source"] for hit in more}
    candidates = {candidate.chunk.id: candidate for candidate in _candidates(list(rows.values()), query.vector)}
    lengths = answers.by_channel[LENGTHS]
    found = lengths.get("aggregations", {})
    averages = {name: float(found.get(name, {}).get("value") or 0) for name in TOKEN_FIELDS}
    counts = LiveCounts(_read_frequencies(query, answers), int(lengths["hits"]["total"]["value"]), averages)
    lexical = [candidates[chunk_id] for chunk_id in answers.chunk_ids(TERMS)]
    best = best_first(lexical, counts)[: query.term_limit]
    return Recall(
        candidates=candidates,
        by_vector=answers.chunk_ids(VECTOR)[: query.vector_limit],
        by_terms=tuple(candidate.chunk.id for candidate in best),
        by_symbol=answers.chunk_ids(SYMBOL)[: query.symbol_limit],
        by_path=answers.chunk_ids(PATH)[: query.path_limit],
        document_frequencies=counts.frequencies,
        live_chunks=counts.chunks,
        average_lengths=averages,
    )


def _read_frequencies(query: RecallQuery, answers: Answers) -> dict[str, int]:
    # The answer for an index that does not exist yet has no aggregations.
    found = answers.by_channel.get(FREQUENCIES, {}).get("aggregations", {})
    buckets = found["terms"]["buckets"] if found else {}
    counts = {term: buckets.get(str(position)) for position, term in enumerate(query.terms[:MAX_QUERY_TERMS])}
    return {term: int(bucket["doc_count"]) if bucket else 0 for term, bucket in counts.items()}


def _candidates(sources: Sequence[EngineHit], vector: Vector | None) -> Iterator[Candidate]:
    """Yield a candidate per chunk: its best stride, or its first if there is no vector, with the chunk's tokens."""
    scores: list[float | None] = [None] * len(sources)
    if vector is not None:
        scores = list(similarities([source["vector"] for source in sources], vector))
    chunks: dict[str, list[int]] = {}
    for position, source in enumerate(sources):
        chunks.setdefault(source["id"], []).append(position)
    for positions in chunks.values():
        first = min(positions, key=lambda position: _stride(sources[position]))
        best = max(positions, key=lambda position: (scores[position] or 0, -_stride(sources[position])))
        chunk = chunk_of(sources[best])
        yield Candidate(chunk, tokens_of(sources[first]), scores[best], chunk.stride_info is not None)


def _stride(source: EngineHit) -> int:
    return int((source.get("stride_info") or {}).get("stride_index", 0))


# Lucene's BM25 parameters: k1 (how soon repeated terms stop counting) and b (how much length counts against a chunk).
SATURATION = 1.2
LENGTH_SHARE = 0.75


@dataclass(frozen=True, slots=True)
class LiveCounts:
    """Document frequencies of terms, the number of live chunks, and their average tokens per field."""

    frequencies: Mapping[str, int]
    chunks: int
    averages: Mapping[str, float]

    def rarity(self, term: str) -> float:
        """Return the inverse document frequency of a term."""
        frequency = self.frequencies[term]
        return math.log1p((self.chunks - frequency + 0.5) / (frequency + 0.5))


def best_first(candidates: Sequence[Candidate], counts: LiveCounts) -> list[Candidate]:
    """Sort candidates by BM25 over the weighted counts of all fields, best first; ties keep the engine's order."""
    rarities = {term: counts.rarity(term) for term, frequency in counts.frequencies.items() if frequency}
    average = sum(RECALL_WEIGHTS[name] * counts.averages[name] for name in TOKEN_FIELDS) or 1.0
    return sorted(candidates, key=lambda candidate: -_score(candidate.tokens, rarities, average))


def _score(tokens: Tokens, rarities: Mapping[str, float], average: float) -> float:
    fields: list[tuple[int, list[str]]] = [
        (RECALL_WEIGHTS[name], getattr(tokens, name).split()) for name in TOKEN_FIELDS
    ]
    length = sum(weight * len(words) for weight, words in fields)
    penalty = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length / average)
    score = 0.0
    for term, rarity in rarities.items():
        count = sum(weight * words.count(term) for weight, words in fields)
        score += rarity * count / (count + penalty)
    return score
