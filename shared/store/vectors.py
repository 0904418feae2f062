"""Vector checks that both stores use."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from codequarry.shared.arrays import Vector
from codequarry.shared.errors import ModelMismatch, UsageError


def check_dimension(vectors: Iterable[Vector], dimension: int) -> None:
    """Raise ModelMismatch if a vector's length is not the index's, because it then comes from another model."""
    for vector in vectors:
        if vector.shape != (dimension,):
            raise ModelMismatch(
                f"the index has vectors of {dimension} numbers, but a vector has {vector.size}; "
                "set embedding.model to the model that the index was made with"
            )


def unusable(vector: Vector | None) -> str:
    """Return why a vector can't be searched, or "" if it can."""
    if vector is None:
        return "it has no vector"
    return "" if np.isfinite(vector).all() and vector.any() else "its vector is zero or not finite"


def check_query_vector(vector: Vector | None, dimension: int) -> None:
    """Raise ModelMismatch or UsageError if a query's vector can't be searched; None is accepted."""
    if vector is None:
        return
    check_dimension([vector], dimension)
    if why := unusable(vector):
        raise UsageError(f"the query can't be searched: {why}")


def usable_rows(vectors: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return which rows of a matrix can be searched, as ``unusable`` decides for a single vector."""
    finite: NDArray[np.bool_] = np.all(np.isfinite(vectors), axis=1)
    return np.logical_and(finite, np.any(vectors, axis=1))
