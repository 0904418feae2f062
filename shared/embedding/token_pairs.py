"""The similarity of two texts, split into the contributions of their token pairs. Pure functions.

A token table's vector is a normalised sum over tokens. The cosine of two texts is therefore exactly the sum, over all
pairs of their tokens, of the inner products of the two tokens' terms.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from codequarry.shared.embedding.explanation import Pair, Parts, TokenExplanation, TokenShare
from codequarry.shared.embedding.token_table import TokenTable

Numbers = NDArray[np.float64]
TokenPlaces = NDArray[np.intp]

# Pairs computed at once, which limits their memory to 8 MB however long the texts are.
_PAIRS_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class _Side:
    """One text: the ids of its distinct tokens, how often each counts, and what each adds to the text's vector."""

    tokens: Sequence[str]
    ids: NDArray[np.int32]
    counts: NDArray[np.int64]
    vectors: Numbers

    @classmethod
    def of(cls, table: TokenTable, text: str) -> "_Side":
        ids, counts, weights = table.weighted(text)
        vectors = weights[:, None].astype(np.float64) * table.rows[ids]
        length = np.linalg.norm(vectors.sum(axis=0))
        return cls(table.vocabulary.tokens, ids, counts, vectors / length if length else vectors * 0)

    def token(self, place: int) -> tuple[str, int]:
        return self.tokens[self.ids[place]], int(self.counts[place])


class _Largest:
    """The largest of the numbers added block by block; ``count`` and ``total`` cover all numbers above zero."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.count, self.total = 0, 0.0
        self.values, self.places = np.empty(0), np.empty(0, np.intp)

    def add(self, values: Numbers, first_place: int) -> None:
        """Add a block of numbers whose first number has the place ``first_place``."""
        self.count += int(np.count_nonzero(values > 0))
        self.total += float(np.maximum(values, 0).sum())
        # Numbers that are no larger than the smallest kept number need no sorting.
        floor = self.values[-1] if 0 < len(self.values) == self._most else 0.0
        above = np.flatnonzero(values > floor) if self._most else np.empty(0, np.intp)
        values = np.concatenate([self.values, values[above]])
        places = np.concatenate([self.places, above + first_place])
        kept = _largest(values, self._most)
        self.values, self.places = values[kept], places[kept]


def explain_by_tokens(table: TokenTable, query: str, document: str, most: int) -> TokenExplanation:
    """Split the cosine of a query and a document by tokens, with the ``most`` largest contributions of each kind."""
    first, second = _Side.of(table.asking, query), _Side.of(table, document)
    related, opposed = _different(first, second, most)
    by_query = first.vectors @ second.vectors.sum(axis=0)
    by_document = second.vectors @ first.vectors.sum(axis=0)
    return TokenExplanation(
        similarity=float(by_query.sum()),
        shared=_shared(first, second, most),
        related=related,
        opposed=opposed,
        query=_shares(first, by_query, most),
        document=_shares(second, by_document, most),
    )


def _shares(side: _Side, contributions: Numbers, most: int) -> Parts[TokenShare]:
    """Return what each token of a text adds: the ``most`` tokens with the largest effect, in descending order."""
    places = np.sort(_largest(np.abs(contributions), most))
    places = places[np.argsort(-contributions[places], kind="stable")]
    top = [TokenShare(*side.token(place), float(contributions[place])) for place in places.tolist()]
    return Parts(len(contributions), float(contributions.sum()), top)


def _shared(first: _Side, second: _Side, most: int) -> Parts[Pair]:
    here, there = _common(first, second)
    contributions = np.einsum("ij,ij->i", first.vectors[here], second.vectors[there])
    top = [
        _pair(first, second, int(here[place]), int(there[place]), float(contributions[place]))
        for place in _largest(contributions, most).tolist()
    ]
    return Parts(len(here), float(contributions.sum()), top)


def _different(first: _Side, second: _Side, most: int) -> tuple[Parts[Pair], Parts[Pair]]:
    """Return the pairs of two different tokens: those that add to the similarity, and those that lower it."""
    here, there = _common(first, second)
    width = len(second.ids)
    height = max(1, _PAIRS_AT_ONCE // max(1, width))
    above, below = _Largest(most), _Largest(most)
    for start in range(0, len(first.ids), height):
        products = first.vectors[start : start + height] @ second.vectors.T
        same = (here >= start) & (here < start + height)
        products[here[same] - start, there[same]] = 0
        above.add(products.ravel(), start * width)
        below.add(-products.ravel(), start * width)

    def parts(found: _Largest, sign: int) -> Parts[Pair]:
        places = zip(*np.divmod(found.places, max(1, width)), strict=True)
        pairs = zip(places, (sign * found.values).tolist(), strict=True)
        top = [_pair(first, second, int(row), int(column), value) for (row, column), value in pairs]
        return Parts(found.count, sign * found.total, top)

    return parts(above, 1), parts(below, -1)


def _common(first: _Side, second: _Side) -> tuple[TokenPlaces, TokenPlaces]:
    _, here, there = np.intersect1d(first.ids, second.ids, assume_unique=True, return_indices=True)
    return here, there


def _pair(first: _Side, second: _Side, here: int, there: int, contribution: float) -> Pair:
    (query, query_count), (document, document_count) = first.token(here), second.token(there)
    return Pair(query, document, query_count, document_count, contribution)


def _largest(values: Numbers, most: int) -> TokenPlaces:
    places = np.argpartition(-values, most)[:most] if most < len(values) else np.arange(len(values))
    return places[np.argsort(-values[places], kind="stable")]
