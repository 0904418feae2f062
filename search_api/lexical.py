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

from codequarry.search_api.terms import TermGroup
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


@dataclass(frozen=True, slots=True)
class _WeightedTerm:
    """An index term of a group, as the counting loop needs it: with a space on either side, and doubled."""

    padded: str
    doubled: str
    plain: str
    weight: float


@dataclass(frozen=True, slots=True)
class _Group:
    weight: float
    terms: tuple[_WeightedTerm, ...]


@dataclass(frozen=True, slots=True)
class LexicalScorer:
    """A query's groups with their weights, ready to score any number of candidates."""

    groups: tuple[_Group, ...]
    lengths: tuple[float, ...]
    total: float

    def score(self, tokens: Tokens) -> float:
        """Return the lexical signal of one candidate."""
        return self.score_groups(tokens)[0]

    def score_groups(self, tokens: Tokens) -> tuple[float, tuple[float, ...]]:
        """Return the signal, and for each group how far it is saturated (0 to 1), in the order of the groups."""
        fields = (tokens.symbol, tokens.signature, tokens.path, tokens.doc, tokens.body)
        padded = tuple(f" {field} " for field in fields)
        everything = "".join(padded)
        factors = tuple(
            weight / (1 - b + b * (field.count(" ") + 1) / average)
            for field, average, weight, b in zip(
                fields, self.lengths, FIELD_WEIGHTS.values(), FIELD_B.values(), strict=True
            )
        )
        saturations = tuple(_saturation(group, everything, padded, factors) for group in self.groups)
        found = sum(group.weight * value for group, value in zip(self.groups, saturations, strict=True))
        return (min(found / self.total, 1.0) if self.total else 0.0), saturations


def _saturation(group: _Group, everything: str, padded: Sequence[str], factors: Sequence[float]) -> float:
    frequency = 0.0
    for term in group.terms:
        if term.padded in everything:
            for field, factor in zip(padded, factors, strict=True):
                frequency += term.weight * factor * _occurrences(field, term)
    return PRESENCE + (1 - PRESENCE) * frequency / (K1 + frequency) if frequency else 0.0


def _occurrences(field: str, term: _WeightedTerm) -> int:
    """Count a token in a padded field. Neighbouring equal tokens share a space, so these are counted one by one."""
    count = field.count(term.padded)
    return field.split().count(term.plain) if count and term.doubled in field else count


def lexical_scorer(groups: Sequence[TermGroup], statistics: Statistics) -> LexicalScorer:
    """Weigh the groups of a query by how rare they are; index terms that no live chunk has are left out."""
    weighed = tuple(_weigh(group, statistics) for group in groups)
    lengths = tuple(max(statistics.lengths.get(name, 1.0), 1.0) for name in TOKEN_FIELDS)
    total = sum(weight.weight for group, weight in zip(groups, weighed, strict=True) if not group.joined)
    return LexicalScorer(weighed, lengths, total)


def _weigh(group: TermGroup, statistics: Statistics) -> _Group:
    known = [(term, weight) for term, weight in group.forms if statistics.frequencies.get(term)]
    terms = tuple(_WeightedTerm(f" {term} ", f" {term} {term} ", term, weight) for term, weight in known)
    idf = min((statistics.idf(term) for term, weight in known), default=statistics.idf(group.word))
    return _Group(group.weight * idf, terms)
