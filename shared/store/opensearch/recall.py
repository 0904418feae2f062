"""Builds a search's multi-search request, and turns the answers into candidates. Pure functions."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from codequarry.shared.arrays import Vector
from codequarry.shared.filters import RECALL_WEIGHTS
from codequarry.shared.model import TOKEN_FIELDS, Candidate, Tokens
from codequarry.shared.store.opensearch.clauses import (
    FIRST_STRIDE,
    EngineClause,
    all_of,
    any_of,
    count_clauses,
    search_clause,
    snapshot_clause,
)
from codequarry.shared.store.opensearch.rows import ENGINE_FIELDS, LOOKUP_OF_RANK, chunk_of, similarities, tokens_of
from codequarry.shared.store.records import Recall, RecallQuery

EngineSearch = dict[str, Any]
EngineHit = Mapping[str, Any]

# OpenSearch refuses more than 1,024 clauses in one query, including filter clauses; each word is a clause.
MAX_QUERY_CLAUSES = 1000
MAX_QUERY_TERMS = 500
VECTOR, TERMS, SYMBOL, PATH, LENGTHS, FREQUENCIES = "vector", "terms", "symbol", "path", "lengths", "frequencies"
# OpenSearch returns at most this many hits for one search.
MAX_HITS = 10_000
HITS = {"_source": {"excludes": list(ENGINE_FIELDS)}, "track_total_hits": False}


def searches(query: RecallQuery, ef_search: int) -> dict[str, EngineSearch]:
    """Return the searches that ``query`` needs, by channel."""
    live_fit = search_clause(query.snapshot, query.filters)
    live_first = search_clause(query.snapshot, query.filters, FIRST_STRIDE)
    asked = {LENGTHS: _lengths(query), VECTOR: None, TERMS: None, SYMBOL: None, PATH: None, FREQUENCIES: None}
    if query.vector is not None and query.vector_limit:
        asked[VECTOR] = nearest(query, query.vector_limit, ef_search)
    terms = query.terms[: min(MAX_QUERY_TERMS, max(1, MAX_QUERY_CLAUSES - count_clauses(live_fit)))]
    if terms:
        asked[FREQUENCIES] = _frequencies(query, terms)
        asked[TERMS] = _lexical(terms, query.term_limit, live_fit)
    if query.symbols:
        asked[SYMBOL] = _by_symbol(query.symbols, query.symbol_limit, live_first)
    if query.paths:
        asked[PATH] = _by_path(query.paths, query.path_limit, live_first)
    return {channel: search for channel, search in asked.items() if search is not None}


def nearest(query: RecallQuery, limit: int, ef_search: int) -> EngineSearch:
    """Return the k-NN search, which filters while it searches and so returns ``limit`` rows if that many match."""
    assert query.vector is not None
    knn = {
        "vector": query.vector.tolist(),
        "k": limit,
        "filter": search_clause(query.snapshot, query.filters),
        "method_parameters": {"ef_search": max(ef_search, limit)},
    }
    return {**HITS, "size": limit, "query": {"knn": {"embedding": knn}}}


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


def _lengths(query: RecallQuery) -> EngineSearch:
    """Return the search that does not depend on the query's words; OpenSearch caches it until the index changes."""
    averages = {name: {"avg": {"field": f"lengths.{name}"}} for name in TOKEN_FIELDS}
    return {"size": 0, "track_total_hits": True, "query": _live_chunks(query), "aggs": averages}


def _frequencies(query: RecallQuery, terms: Sequence[str]) -> EngineSearch:
    filters: dict[str, EngineClause] = {
        str(position): {"term": {"lookup.words": term}} for position, term in enumerate(terms)
    }
    return {
        "size": 0,
        "track_total_hits": False,
        "query": all_of([_live_chunks(query), any_of(list(filters.values()))]),
        "aggs": {"terms": {"filters": {"filters": filters}}},
    }


def _live_chunks(query: RecallQuery) -> EngineClause:
    return all_of([snapshot_clause(query.snapshot), FIRST_STRIDE])


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of ``searches``, by channel."""

    by_channel: Mapping[str, Mapping[str, Any]]

    def hits(self, channel: str) -> Sequence[EngineHit]:
        """Return a channel's hits, best first."""
        hits: Sequence[EngineHit] = self.by_channel[channel]["hits"]["hits"] if channel in self.by_channel else ()
        return hits

    def rows(self) -> dict[str, EngineHit]:
        """Return every row that was found, by id."""
        channels = (VECTOR, TERMS, SYMBOL, PATH)
        return {hit["_id"]: hit["_source"] for channel in channels for hit in self.hits(channel)}

    def may_lack_chunks(self, rows: int, chunks: int) -> bool:
        """Return whether the ``rows`` nearest rows belong to fewer than ``chunks`` chunks, although more may exist."""
        found = len(self.hits(VECTOR))
        return len(self.chunk_ids(VECTOR)) < chunks and rows <= found < MAX_HITS

    def strided_chunks(self) -> list[str]:
        """Return the ids of those chunks found that have several strides."""
        sources = self.rows().values()
        return sorted(
            {source["id"] for source in sources if (source.get("stride_info") or {}).get("total_strides", 1) > 1}
        )

    def chunk_ids(self, channel: str) -> tuple[str, ...]:
        """Return the ids of a channel's chunks, best first, without duplicates."""
        return tuple(dict.fromkeys(hit["_source"]["id"] for hit in self.hits(channel)))


def recall_of(query: RecallQuery, answers: Answers, strides: Iterable[EngineHit]) -> Recall:
    """Return the result of a search; ``strides`` are all rows of the strided chunks that were found."""
    rows = answers.rows() | {hit["_id"]: hit["_source"] for hit in strides}
    candidates = {candidate.chunk.id: candidate for candidate in _candidates(list(rows.values()), query.vector)}
    lengths = answers.by_channel[LENGTHS]
    found = lengths.get("aggregations", {})
    averages = {name: float(found.get(name, {}).get("value") or 0) for name in TOKEN_FIELDS}
    counts = LiveCounts(_read_frequencies(query, answers), int(lengths["hits"]["total"]["value"]), averages)
    lexical = [candidates[chunk_id] for chunk_id in answers.chunk_ids(TERMS)]
    return Recall(
        candidates=candidates,
        by_vector=answers.chunk_ids(VECTOR)[: query.vector_limit],
        by_terms=tuple(candidate.chunk.id for candidate in best_first(lexical, counts)),
        by_symbol=answers.chunk_ids(SYMBOL),
        by_path=answers.chunk_ids(PATH),
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
