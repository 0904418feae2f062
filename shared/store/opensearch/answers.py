"""The engine's answers to the searches of one recall. Pure functions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from codequarry.shared.model import TOKEN_FIELDS

EngineHit = Mapping[str, Any]
ChannelAnswer = Mapping[str, Any]

VECTOR, TERMS, SYMBOL, PATH, LENGTHS, FREQUENCIES = "vector", "terms", "symbol", "path", "lengths", "frequencies"
# OpenSearch returns at most this many hits for one search.
MAX_HITS = 10_000


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
        total = self.by_channel[VECTOR]["hits"].get("total")
        found = int(total["value"]) if total else len(self.hits(VECTOR))
        return len(self.chunk_ids(VECTOR)) < chunks and rows <= found and rows < MAX_HITS

    def vector_keys(self) -> list[str]:
        """Return the keys of the texts of which only the best row was returned."""
        channels = (VECTOR, TERMS, SYMBOL, PATH)
        found = (
            hit["fields"]["vector_key"][0] for channel in channels for hit in self.hits(channel) if "fields" in hit
        )
        return list(dict.fromkeys(found))

    def strided_chunks(self) -> list[str]:
        """Return the ids of those chunks found that have several strides."""
        sources = self.rows().values()
        return sorted(
            {source["id"] for source in sources if (source.get("stride_info") or {}).get("total_strides", 1) > 1}
        )

    def chunk_ids(self, channel: str) -> tuple[str, ...]:
        """Return the ids of a channel's chunks, best first, without duplicates."""
        return tuple(dict.fromkeys(hit["_source"]["id"] for hit in self.hits(channel)))


def joined(parts: Sequence[Answers]) -> Answers:
    """Return the answers about the parts of a snapshot as answers about the whole; no row is in two parts."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0].by_channel
    whole = {name: _JOIN.get(name, _joined_hits)([part.by_channel[name] for part in parts]) for name in first}
    return Answers(whole)


def _joined_hits(answers: Sequence[ChannelAnswer]) -> ChannelAnswer:
    hits = [hit for answer in answers for hit in answer["hits"]["hits"]]
    return {"hits": {"hits": sorted(hits, key=_rank_of_hit)}}


def _rank_of_hit(hit: EngineHit) -> tuple[Any, ...]:
    """Return the sort values of a hit; the only one that falls is the score."""
    values = hit.get("sort") or [hit["_score"]]
    return tuple(-value if isinstance(value, float) else value for value in values)


def _joined_lengths(answers: Sequence[ChannelAnswer]) -> ChannelAnswer:
    totals = [int(answer["hits"]["total"]["value"]) for answer in answers]
    averages = {}
    for name in TOKEN_FIELDS:
        values = [(answer.get("aggregations", {}).get(name, {}).get("value") or 0) for answer in answers]
        weighted = sum(value * total for value, total in zip(values, totals, strict=True))
        averages[name] = {"value": weighted / max(1, sum(totals))}
    return {"hits": {"total": {"value": sum(totals)}, "hits": []}, "aggregations": averages}


def _joined_frequencies(answers: Sequence[ChannelAnswer]) -> ChannelAnswer:
    counts: dict[str, int] = {}
    for answer in answers:
        found = answer.get("aggregations", {})
        for name, bucket in (found["terms"]["buckets"] if found else {}).items():
            counts[name] = counts.get(name, 0) + int(bucket["doc_count"])
    buckets = {name: {"doc_count": count} for name, count in counts.items()}
    return {"aggregations": {"terms": {"buckets": buckets}}}


_JOIN: Mapping[str, Callable[[Sequence[ChannelAnswer]], ChannelAnswer]] = {
    LENGTHS: _joined_lengths,
    FREQUENCIES: _joined_frequencies,
}
