"""The lexical signal: BM25F over the candidates' own tokens, identical on every store (rule 14).

Robertson, Zaragoza, Taylor: "Simple BM25 extension to multiple weighted fields", CIKM 2004. A term's frequencies in all
fields are normalised by field length, weighted and summed before saturation, so that a word in name, signature and body
does not count three times. The first occurrence of a word is worth a fixed share (BM25+: Lv and Zhai, "Lower-bounding
term frequency normalization", CIKM 2011). The sum is divided by the sum for unlimited occurrences of every query word,
so the signal is the share (0 to 1) of the query's information that a chunk holds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from types import MappingProxyType

from codequarry.search_api.query.terms import TermGroup
from codequarry.shared.model import TOKEN_FIELDS, Tokens

# Weight of an occurrence in each field. The name of a symbol says best what the symbol is for, then its documentation;
# signature and body repeat its words. Too many files share a folder's name for it to say much.
FIELD_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {"symbol": 2.0, "signature": 1.0, "path": 0.5, "doc": 1.5, "body": 1.0}
)
# Discount for long fields (BM25's b). Chunks have similar sizes, and an implementation is longer than code that only
# names it: with the usual 0.75 for bodies, one-line getters ranked above implementations.
FIELD_B: Mapping[str, float] = MappingProxyType({"symbol": 0.3, "signature": 0.4, "path": 0.3, "doc": 0.2, "body": 0.2})
# Saturation: the third occurrence of a word adds little.
K1 = 1.2
# Share of a word's value for its first occurrence, whatever the field length. A chunk that has four words of a question
# in plain English once each is a better answer than a chunk that repeats two of them.
PRESENCE = 0.4
_WEIGHTS = tuple(FIELD_WEIGHTS[name] for name in TOKEN_FIELDS)
_BS = tuple(FIELD_B[name] for name in TOKEN_FIELDS)


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts for the searched snapshot: live chunks, chunks with each term, and average field lengths in tokens."""

    chunks: int
    frequencies: Mapping[str, int]
    lengths: Mapping[str, float]

    def idf(self, term: str) -> float:
        """Return the inverse document frequency of a term, never negative."""
        count = self.frequencies.get(term, 0)
        return log(1 + max(self.chunks - count + 0.5, 0.5) / (count + 0.5))


TermContribution = tuple[int, float]
"""The group that a term counts for, and its weight in the group."""


@dataclass(frozen=True, slots=True)
class LexicalScorer:
    """Scores candidates for one query over one snapshot.

    ``weights`` has a weight for each group, ``terms`` the groups that a token counts for. ``total`` is the sum for a
    chunk with unlimited occurrences of every word.
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
            # The hottest loop of a search: one pass over the words for all terms, without function calls.
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
    """Return a scorer that weights each group of a query by its rarity; terms that no live chunk has are left out."""
    terms: dict[str, list[TermContribution]] = {}
    weights = []
    for number, group in enumerate(groups):
        known = [(term, share) for term, share in group.forms if statistics.frequencies.get(term)]
        for term, share in known:
            terms.setdefault(term, []).append((number, share))
        # The most frequent form limits what the group says; a word that no chunk has counts as the rarest possible.
        idf = min((statistics.idf(term) for term, _ in known), default=statistics.idf(group.word))
        weights.append(group.weight * idf)
    return LexicalScorer(
        terms={term: tuple(shares) for term, shares in terms.items()},
        weights=tuple(weights),
        total=sum(weight for group, weight in zip(groups, weights, strict=True) if not group.joined),
        lengths=tuple(max(statistics.lengths.get(name, 1.0), 1.0) for name in TOKEN_FIELDS),
    )
