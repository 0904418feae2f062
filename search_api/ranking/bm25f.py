"""BM25F over the candidates' own tokens: the lexical signal, the same on every store (rule 14).

Robertson, Zaragoza, Taylor: "Simple BM25 extension to multiple weighted fields", CIKM 2004. A term's frequencies in
all fields are first normalised by field length, weighted and summed, and only then saturated; so a word that stands in
name, signature and body is not counted three times over. That a word occurs at all is worth a fixed share (BM25+: Lv
and Zhai, "Lower-bounding term frequency normalization", CIKM 2011). The sum is divided by what a chunk would get that
had every word of the query without end: the signal is the share (0 to 1) of the query's information that a chunk holds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from types import MappingProxyType

from codequarry.search_api.query.terms import TermGroup
from codequarry.shared.model import TOKEN_FIELDS, Tokens

# How much an occurrence counts in each field. The name of a symbol says best what it is for, then its documentation;
# its words stand in signature and body once more. A folder's name is shared by too many files to say much.
FIELD_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {"symbol": 2.0, "signature": 1.0, "path": 0.5, "doc": 1.5, "body": 1.0}
)
# How much a long field is discounted. Chunks are cut to similar sizes, and what does a thing is longer than what only
# names it: with the usual 0.75 for bodies, one-line getters came before implementations.
FIELD_B: Mapping[str, float] = MappingProxyType({"symbol": 0.3, "signature": 0.4, "path": 0.3, "doc": 0.2, "body": 0.2})
# Saturation: the third occurrence of a word adds little.
K1 = 1.2
# The share of a word's worth that its first occurrence brings, whatever the length of the field. Of a question in plain
# English, a chunk that has four words once answers more than one that has two of them often.
PRESENCE = 0.4
_WEIGHTS = tuple(FIELD_WEIGHTS[name] for name in TOKEN_FIELDS)
_BS = tuple(FIELD_B[name] for name in TOKEN_FIELDS)


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts of the snapshot searched: live chunks, chunks with each term, and average field lengths in tokens."""

    chunks: int
    frequencies: Mapping[str, int]
    lengths: Mapping[str, float]

    def idf(self, term: str) -> float:
        """Return the inverse document frequency of a term, never negative."""
        count = self.frequencies.get(term, 0)
        return log(1 + max(self.chunks - count + 0.5, 0.5) / (count + 0.5))


TermContribution = tuple[int, float]
"""The group that a term counts for, and how much it counts there."""


@dataclass(frozen=True, slots=True)
class LexicalScorer:
    """A query weighed by the snapshot's counts, ready to score any number of candidates.

    ``weights`` has one number for each group; ``terms`` says for what a token counts; ``total`` is what a chunk gets
    that has every word without end.
    """

    terms: Mapping[str, tuple[TermContribution, ...]]
    weights: tuple[float, ...]
    total: float
    lengths: tuple[float, ...]

    def score(self, tokens: Tokens) -> float:
        """Return the lexical signal of one candidate."""
        if not self.total:
            return 0.0
        frequencies = [0.0] * len(self.weights)
        fields = (tokens.symbol, tokens.signature, tokens.path, tokens.doc, tokens.body)
        for field, average, weight, b in zip(fields, self.lengths, _WEIGHTS, _BS, strict=True):
            words = field.split()
            # One pass over the words for all terms of the query; the engine room of a search, hence no function calls.
            for word in filter(self.terms.__contains__, words):
                factor = weight / (1 - b + b * len(words) / average)
                for group, share in self.terms[word]:
                    frequencies[group] += share * factor
        found = sum(
            weight * (PRESENCE + (1 - PRESENCE) * frequency / (K1 + frequency))
            for weight, frequency in zip(self.weights, frequencies, strict=True)
            if frequency
        )
        return min(found / self.total, 1.0)


def lexical_scorer(groups: Sequence[TermGroup], statistics: Statistics) -> LexicalScorer:
    """Weigh the groups of a query by how rare they are; index terms that no live chunk has are left out."""
    terms: dict[str, list[TermContribution]] = {}
    weights = []
    for number, group in enumerate(groups):
        known = [(term, share) for term, share in group.forms if statistics.frequencies.get(term)]
        for term, share in known:
            terms.setdefault(term, []).append((number, share))
        # The most frequent form says how little the group tells; a word that nothing has counts as rare as can be.
        idf = min((statistics.idf(term) for term, _ in known), default=statistics.idf(group.word))
        weights.append(group.weight * idf)
    return LexicalScorer(
        terms={term: tuple(shares) for term, shares in terms.items()},
        weights=tuple(weights),
        total=sum(weight for group, weight in zip(groups, weights, strict=True) if not group.joined),
        lengths=tuple(max(statistics.lengths.get(name, 1.0), 1.0) for name in TOKEN_FIELDS),
    )
