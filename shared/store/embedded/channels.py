"""The channels of a recall, computed on arrays: nearest vectors, best terms, names, paths. Pure numpy."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from codequarry.shared.arrays import Matrix, Vector
from codequarry.shared.store.embedded.columns import Bools, Columns, Ints
from codequarry.shared.store.embedded.live_rows import LiveRows
from codequarry.shared.store.embedded.postings import Posting

Rows = NDArray[np.intp]
Scores = NDArray[np.float32]

# Below this share of a block, gathering the wanted vectors is faster than scoring the block (measured at 50,000 x 256).
_GATHER_SHARE = 0.2
# A block is 2**10 neighbouring slots. An import writes neighbouring slots, so a search skips other branches' blocks.
_BLOCK_BITS = 10

# BM25's usual k1 and b.
_SATURATION = 1.2
_LENGTH_SHARE = 0.75


def nearest(columns: Columns, allowed: Bools, matrix: Matrix, query: Vector, limit: int) -> Rows:
    """Return the rows of the ``limit`` chunks nearest to ``query``, each by its best stride, best first."""
    rows = np.flatnonzero(allowed)
    scores = _similarities(columns.slot[rows], matrix, query)
    wanted = limit
    while True:
        best = rows[top(scores, wanted)]
        distinct = best[np.sort(np.unique(columns.chunk[best], return_index=True)[1])]
        if len(distinct) >= limit or wanted >= len(rows):
            return distinct[:limit]
        wanted *= 2


def _similarities(slots: Ints, matrix: Matrix, query: Vector) -> Scores:
    """Return the similarity of each slot to the query, computing whole blocks if many of their slots are wanted."""
    blocks = slots >> _BLOCK_BITS
    is_dense = np.bincount(blocks) > _GATHER_SHARE * (1 << _BLOCK_BITS)
    scores = np.empty(len(matrix), np.float32)
    edges = np.flatnonzero(np.diff(is_dense, prepend=False, append=False)) << _BLOCK_BITS
    for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        np.dot(matrix[start:end], query, out=scores[start : min(end, len(matrix))])
    sparse = slots[~is_dense[blocks]]
    scores[sparse] = matrix[sparse] @ query
    return scores[slots]


def top(scores: Scores, limit: int) -> Rows:
    """Return the positions of the ``limit`` highest scores, highest first; ties are in order of position."""
    if limit <= 0:
        return np.empty(0, np.intp)
    if limit < len(scores):
        # Include all scores equal to the lowest wanted score, so that ties are cut in order.
        floor = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        places = np.flatnonzero(scores >= floor)
    else:
        places = np.arange(len(scores))
    return places[np.argsort(-scores[places], kind="stable")][:limit]


def best_terms(
    view: LiveRows, allowed: Bools, postings: Sequence[Posting], frequencies: Sequence[int], limit: int
) -> Rows:
    """Return the ``limit`` rows with the highest BM25 scores over the fields' weighted counts, best first."""
    scores = np.zeros(len(allowed), np.float32)
    share = np.float32(_LENGTH_SHARE / view.weighted_average)
    for posting, frequency in zip(postings, frequencies, strict=True):
        if not frequency:
            continue
        rarity = np.log1p((view.live_chunks - frequency + 0.5) / (frequency + 0.5))
        weights = posting.weights.astype(np.float32)
        lengths = np.float32(1 - _LENGTH_SHARE) + share * view.weighted_lengths[posting.rows]
        scores[posting.rows] += np.float32(rarity) * weights / (weights + np.float32(_SATURATION) * lengths)
    scores *= allowed
    return top_positive(scores, limit)


def best_weights(allowed: Bools, postings: Sequence[Posting], limit: int) -> Rows:
    """Return the ``limit`` rows whose best keys have the highest weights; ties are in row order."""
    scores = np.zeros(len(allowed), np.float32)
    for posting in postings:
        np.maximum.at(scores, posting.rows, posting.weights.astype(np.float32))
    scores *= allowed
    return top_positive(scores, limit)


def top_positive(scores: Scores, limit: int) -> Rows:
    """Return the positions of the ``limit`` highest scores above zero."""
    places = np.flatnonzero(scores)
    return places[top(scores[places], limit)]


def strides_of(columns: Columns, allowed: Bools, rows: Rows) -> Rows:
    """Return ``rows`` and the other allowed strides of their chunks, in row order."""
    if not columns.strided[rows].any():
        return np.unique(rows)
    strided = np.flatnonzero(allowed & columns.strided)
    others = strided[np.isin(columns.chunk[strided], columns.chunk[rows])]
    return np.union1d(rows, others)
