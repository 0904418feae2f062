"""Merges several tables into one, which keeps what their trainings agree on and drops the noise of each.

Tables from different seeds differ by a rotation and by chance. Side by side, as one wide table, they give the mean of
their cosines, an ensemble (Hansen and Salamon 1990) that finds more than each of them. The principal axes of the wide
table (Pearson 1901) keep nearly all of that in the width of one table. Frequent tokens weigh more in the axes.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from training.train import Matrix, Weights

# The exponent of a token's frequency: .15 to .35 are alike on CoSQA's development half, with .35 a little ahead.
_POWER = 0.35


def merge(several: Sequence[Weights], occurrences: NDArray[np.int64]) -> Weights:
    """Return one table as wide as each of ``several``; ``occurrences`` is how often each token is used (tokens)."""
    dimension = several[0].rows.shape[1]
    wide: Matrix = np.concatenate([table.rows for table in several], axis=1)
    counted = wide * (occurrences.astype(np.float32) ** _POWER)[:, None]
    _, axes = np.linalg.eigh(counted.T @ counted)
    rows: Matrix = np.ascontiguousarray(wide @ axes[:, ::-1][:, :dimension])
    return Weights(rows, np.mean([table.log_query for table in several], axis=0, dtype=np.float32))
