"""The order of lexical candidates by what is live: the engine also counts dead rows and other branches (rule 14)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codequarry.shared.model import TOKEN_FIELDS, Candidate, Tokens
from codequarry.shared.store.filters import RECALL_WEIGHTS

# BM25 as Lucene has it: how soon more of the same term stops counting, and how much long chunks are held against.
SATURATION = 1.2
LENGTH_SHARE = 0.75


@dataclass(frozen=True, slots=True)
class LiveCounts:
    """Live chunks with each term, live chunks, and their average tokens a field."""

    frequencies: Mapping[str, int]
    chunks: int
    averages: Mapping[str, float]

    def rarity(self, term: str) -> float:
        """Return the inverse document frequency of a term."""
        frequency = self.frequencies[term]
        return math.log1p((self.chunks - frequency + 0.5) / (frequency + 0.5))


def best_first(candidates: Sequence[Candidate], counts: LiveCounts) -> list[Candidate]:
    """Return candidates by their BM25 over the fields' weighted counts, the engine's order where equal."""
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
