"""The channels of a recall, computed on arrays: nearest vectors, best terms, names, paths. Pure numpy."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from codequarry.shared.arrays import Matrix, Vector
from codequarry.shared.model import Snapshot
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


@dataclass(frozen=True, slots=True)
class Copies:
    """Which rows are copies: rows of one chunk, and in versions of one repository also rows of one text.

    ``owner`` has a number for each timeline, equal for versions of one repository; it is empty if there are none. The
    slot of a vector stands for a text and its path.
    """

    columns: Columns
    owner: Ints

    @classmethod
    def of(cls, columns: Columns, snapshot: Snapshot) -> "Copies":
        """Return what are copies in a snapshot."""
        if not snapshot.siblings:
            return cls(columns, np.empty(0, np.int32))
        owner = np.arange(int(columns.timeline.max(initial=0)) + 1, dtype=np.int32)
        for group in snapshot.siblings:
            known = np.array([timeline for timeline in group if timeline < len(owner)], np.int64)
            owner[known] = min(group)
        return cls(columns, owner)

    def without(self, rows: Rows) -> Rows:
        """Return ``rows`` (best first) without those that are copies of better rows."""
        rows = _firsts(rows, self.columns.chunk[rows])
        if not len(self.owner):
            return rows
        owners = self.owner[self.columns.timeline[rows]].astype(np.int64)
        return _firsts(rows, self.columns.slot[rows].astype(np.int64) * len(self.owner) + owners)


def _firsts(rows: Rows, keys: NDArray[np.int64]) -> Rows:
    """Return the first row of each key, in order."""
    return rows[np.sort(np.unique(keys, return_index=True)[1])]


def nearest(copies: Copies, allowed: Bools, matrix: Matrix, query: Vector, limit: int) -> Rows:
    """Return the rows of the ``limit`` chunks nearest to ``query``, each by its best stride, best first."""
    rows = np.flatnonzero(allowed)
    return _best(rows, _similarities(copies.columns.slot[rows], matrix, query), copies, limit)


def _best(rows: Rows, scores: Scores, copies: Copies, limit: int) -> Rows:
    """Return the ``limit`` rows with the highest scores that are not copies of each other, best first."""
    wanted = limit
    while True:
        distinct = copies.without(rows[top(scores, wanted)])
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
    view: LiveRows,
    allowed: Bools,
    postings: Sequence[Posting],
    frequencies: Sequence[int],
    copies: Copies,
    limit: int,
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
    return _best_positive(scores, copies, limit)


def best_weights(allowed: Bools, postings: Sequence[Posting], copies: Copies, limit: int) -> Rows:
    """Return the ``limit`` rows whose best keys have the highest weights; ties are in row order."""
    scores = np.zeros(len(allowed), np.float32)
    for posting in postings:
        np.maximum.at(scores, posting.rows, posting.weights.astype(np.float32))
    scores *= allowed
    return _best_positive(scores, copies, limit)


def _best_positive(scores: Scores, copies: Copies, limit: int) -> Rows:
    """Return the ``limit`` rows with the highest scores above zero that are not copies of each other."""
    rows = np.flatnonzero(scores)
    return _best(rows, scores[rows], copies, limit)


def strides_of(columns: Columns, allowed: Bools, rows: Rows) -> Rows:
    """Return ``rows`` and the other allowed strides of their chunks, in row order."""
    if not columns.strided[rows].any():
        return np.unique(rows)
    strided = np.flatnonzero(allowed & columns.strided)
    others = strided[np.isin(columns.chunk[strided], columns.chunk[rows])]
    return np.union1d(rows, others)
