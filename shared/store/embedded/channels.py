"""The channels of a recall over arrays: nearest vectors, best terms, names, paths. Pure numpy."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from codequarry.shared.store.embedded.columns import Bools, Columns
from codequarry.shared.store.embedded.live import View
from codequarry.shared.store.embedded.postings import Posting
from codequarry.shared.store.embedded.vectors import Matrix
from codequarry.shared.store.port import Vector

Rows = NDArray[np.intp]
Scores = NDArray[np.float32]

# Below this share of the slots it is faster to pick out the vectors of the rows that fit than to score all of them:
# measured at 50,000 x 256, a fifth costs as much as the whole.
_GATHER_SHARE = 0.2

# BM25 as usual: how soon more of the same term stops counting, and how much long chunks are held against.
_SATURATION = 1.2
_LENGTH_SHARE = 0.75


def nearest(columns: Columns, allowed: Bools, matrix: Matrix, query: Vector, limit: int) -> Rows:
    """Return the rows of the ``limit`` chunks nearest to ``query``, the best stride of each, best first."""
    rows = np.flatnonzero(allowed)
    if len(rows) < _GATHER_SHARE * len(matrix):
        scores = matrix[columns.slot[rows]] @ query
    else:
        scores = (matrix @ query)[columns.slot[rows]]
    wanted = limit
    while True:
        best = rows[top(scores, wanted)]
        distinct = best[np.sort(np.unique(columns.chunk[best], return_index=True)[1])]
        if len(distinct) >= limit or wanted >= len(rows):
            return distinct[:limit]
        wanted *= 2


def top(scores: Scores, limit: int) -> Rows:
    """Return the places of the ``limit`` highest scores, highest first, the earlier one first where equal."""
    if limit <= 0:
        return np.empty(0, np.intp)
    if limit < len(scores):
        # Everything as good as the last one that counts, so that equals are not cut in any order.
        floor = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        places = np.flatnonzero(scores >= floor)
    else:
        places = np.arange(len(scores))
    return places[np.argsort(-scores[places], kind="stable")][:limit]


def best_terms(view: View, allowed: Bools, postings: Sequence[Posting], frequencies: Sequence[int], limit: int) -> Rows:
    """Return the ``limit`` rows of the highest BM25 over the fields' weighted counts, best first."""
    scores = np.zeros(len(allowed), np.float32)
    for posting, frequency in zip(postings, frequencies, strict=True):
        if not frequency:
            continue
        rarity = np.log1p((view.live_chunks - frequency + 0.5) / (frequency + 0.5))
        weights = posting.weights.astype(np.float32)
        lengths = (1 - _LENGTH_SHARE) + _LENGTH_SHARE * view.weighted_lengths[posting.rows]
        scores[posting.rows] += np.float32(rarity) * weights / (weights + np.float32(_SATURATION) * lengths)
    scores *= allowed
    return top_positive(scores, limit)


def best_weights(allowed: Bools, postings: Sequence[Posting], limit: int) -> Rows:
    """Return the ``limit`` rows whose best key fits best, in order of rows where equal."""
    scores = np.zeros(len(allowed), np.float32)
    for posting in postings:
        np.maximum.at(scores, posting.rows, posting.weights.astype(np.float32))
    scores *= allowed
    return top_positive(scores, limit)


def top_positive(scores: Scores, limit: int) -> Rows:
    """Return the places of the ``limit`` highest scores above zero."""
    places = np.flatnonzero(scores)
    return places[top(scores[places], limit)]


def strides_of(columns: Columns, allowed: Bools, rows: Rows) -> Rows:
    """Return ``rows`` and the other allowed strides of their chunks, by row number."""
    if not columns.strided[rows].any():
        return np.unique(rows)
    strided = np.flatnonzero(allowed & columns.strided)
    others = strided[np.isin(columns.chunk[strided], columns.chunk[rows])]
    return np.union1d(rows, others)
