"""One table of several: what their trainings agree in is kept, the noise of each is not.

Trained from different seeds, tables differ by a rotation and by chance. Side by side, as one wide table, they give
the mean of their cosines, an ensemble (Hansen and Salamon 1990), which finds more than each of them. The principal
axes of the wide table (Pearson 1901) keep nearly all of that in the width of one; a token counts by how often it is
used, so that rare ones do not choose the axes.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from training.train import Matrix, Weights

# Of how often a token occurs: .15 to .35 are alike on CoSQA's development half, with .35 a little ahead (README.md).
_POWER = 0.35


def merge(several: Sequence[Weights], occurrences: NDArray[np.int64]) -> Weights:
    """Return one table as wide as one of ``several``; ``occurrences`` is how often each token is used (tokens)."""
    dimension = several[0].rows.shape[1]
    wide: Matrix = np.concatenate([one.rows for one in several], axis=1)
    counted = wide * (occurrences.astype(np.float32) ** _POWER)[:, None]
    _, axes = np.linalg.eigh(counted.T @ counted)
    rows: Matrix = np.ascontiguousarray(wide @ axes[:, ::-1][:, :dimension])
    return Weights(rows, np.mean([one.log_query for one in several], axis=0, dtype=np.float32))
