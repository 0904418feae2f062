"""The scores of two stages made one: what the ranker says of a candidate, and what a second model says of it.

The second model's scores are weighed like the first ones, by kind of file and so on, and brought to their scale: over
the candidates that have both, its lowest becomes their lowest and its highest their highest. So a score keeps its
meaning (a best hit of 0.2 still says that nothing fits well), and whatever was not scored again, for lack of time, for
being further down or for having been asked for by its name, stays where its own score puts it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from codequarry.search_api.answers.hits import Blend
from codequarry.search_api.ranking.scoring import SCORE_DIGITS, Ranked, order
from codequarry.shared.model import Chunk

# Enough to tell a few hundred candidates apart: a cursor carries their keys.
_KEY_BYTES = 4


@dataclass(frozen=True, slots=True)
class SecondScores:
    """What a second model said of candidates, by ``key_of`` their chunks; ``weight`` is its share of a score.

    ``warning`` says what was not scored, and why; empty where all were.
    """

    weight: float
    scores: Mapping[str, float] = field(default_factory=dict)
    warning: str = ""


def key_of(chunk: Chunk) -> str:
    """Return by what a chunk is known among the candidates of one search."""
    return blake2b(chunk.id.encode(), digest_size=_KEY_BYTES).hexdigest()


def scored_twice(ranked: Sequence[Ranked], count: int) -> list[Chunk]:
    """Return those of the first ``count`` candidates that a second model is asked about.

    Not what was asked for by its name or path, or verbatim: a model of meaning can't tell names apart.
    """
    return [item.candidate.chunk for item in ranked[:count] if not item.is_asked_for]


def blended(ranked: Sequence[Ranked], second: SecondScores) -> list[Ranked]:
    """Return the candidates in the order of their blended scores, those that have only a first one among them."""
    both = [(item, second.scores[key]) for item in ranked if (key := key_of(item.candidate.chunk)) in second.scores]
    scores = mixed([item.score for item, _ in both], _weighed(both), second.weight)
    made = {
        item.id: replace(item, score=round(score, SCORE_DIGITS), blend=Blend(item.score, own, second.weight))
        for (item, own), score in zip(both, scores, strict=True)
    }
    return sorted((made.get(item.id, item) for item in ranked), key=order)


def _weighed(both: Sequence[tuple[Ranked, float]]) -> list[float]:
    """Weigh the model's scores: whatever reads only texts likes prose and tests as much as the code they are about."""
    scores = [own for _, own in both]
    if len(set(scores)) < 2:
        return scores
    return [share * item.weight for (item, _), share in zip(both, shares(scores), strict=True)]


def mixed(firsts: Sequence[float], seconds: Sequence[float], weight: float) -> list[float]:
    """Return the scores of two models mixed, on the scale of the first; ``weight`` is the share of the second."""
    if len(set(seconds)) < 2:
        return list(firsts)  # what says the same of all says nothing
    low, room = min(firsts), max(firsts) - min(firsts)
    scaled = (low + room * share for share in shares(seconds))
    return [(1 - weight) * first + weight * second for first, second in zip(firsts, scaled, strict=True)]


def shares(scores: Sequence[float]) -> list[float]:
    """Return where each score lies between the lowest, 0, and the highest, 1."""
    low, room = min(scores, default=0.0), max(scores, default=0.0) - min(scores, default=0.0)
    return [(score - low) / room if room else 1.0 for score in scores]
