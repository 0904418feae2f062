"""Fusion of two scores of a candidate: the ranker's and that of a second model.

The second model's scores get the ranker's weights (kind of file and so on) and its scale: over the candidates that have
both scores, its lowest becomes their lowest and its highest their highest. So a score keeps its meaning: a best hit of
0.2 still says that nothing fits well. A candidate without a second score keeps its first score. The second stage may
have run out of time for it, or skipped it because it ranks too low or the query names it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from codequarry.search_api.answers.hits import Blend
from codequarry.search_api.ranking.scoring import SCORE_DIGITS, Ranked, order
from codequarry.shared.model import Chunk

# Enough to tell a few hundred candidates apart, and short, because cursors carry the keys.
_KEY_BYTES = 4


@dataclass(frozen=True, slots=True)
class SecondScores:
    """A second model's ``scores`` of candidates, by ``key_of`` their chunks; ``weight`` is its share of a score."""

    weight: float
    scores: Mapping[str, float] = field(default_factory=dict)
    warning: str = ""  # which candidates were not scored, and why


def key_of(chunk: Chunk) -> str:
    """Return a short key of a chunk among the candidates of one search."""
    return blake2b(chunk.id.encode(), digest_size=_KEY_BYTES).hexdigest()


def chunks_to_rescore(ranked: Sequence[Ranked], count: int) -> list[Chunk]:
    """Return the chunks among the first ``count`` candidates that the second model scores.

    Candidates that the query names, by name, path or phrase, are left out: a semantic model can't tell names apart.
    """
    return [item.candidate.chunk for item in ranked[:count] if not item.is_named_by_query]


def blended(ranked: Sequence[Ranked], second: SecondScores) -> list[Ranked]:
    """Return all candidates ordered by score, blended if they have a second score."""
    both = [(item, second.scores[key]) for item in ranked if (key := key_of(item.candidate.chunk)) in second.scores]
    scores = mixed([item.score for item, _ in both], _weighed(both), second.weight)
    made = {
        item.id: replace(item, score=round(score, SCORE_DIGITS), blend=Blend(item.score, own, second.weight))
        for (item, own), score in zip(both, scores, strict=True)
    }
    return sorted((made.get(item.id, item) for item in ranked), key=order)


def _weighed(both: Sequence[tuple[Ranked, float]]) -> list[float]:
    """Apply the ranker's weights: a model that reads only text likes prose and tests as much as the code itself."""
    scores = [own for _, own in both]
    if len(set(scores)) < 2:
        return scores
    return [share * item.weight for (item, _), share in zip(both, shares(scores), strict=True)]


def mixed(firsts: Sequence[float], seconds: Sequence[float], weight: float) -> list[float]:
    """Return the weighted mean of two models' scores, on the first's scale; ``weight`` is the second's share."""
    if len(set(seconds)) < 2:
        return list(firsts)  # equal scores carry no information
    low, room = min(firsts), max(firsts) - min(firsts)
    scaled = (low + room * share for share in shares(seconds))
    return [(1 - weight) * first + weight * second for first, second in zip(firsts, scaled, strict=True)]


def shares(scores: Sequence[float]) -> list[float]:
    """Return the position of each score between the lowest (0) and the highest (1)."""
    low, room = min(scores, default=0.0), max(scores, default=0.0) - min(scores, default=0.0)
    return [(score - low) / room if room else 1.0 for score in scores]
