"""What every store asks of a vector before it keeps it."""

import numpy as np

from codequarry.shared.store.port import Vector


def vector_fault(vector: Vector | None, dimension: int) -> str:
    """Say what is wrong with a vector, in a few words; an empty text if nothing is."""
    if vector is None:
        return "it has no vector"
    if vector.shape != (dimension,):
        return f"its vector has the shape {vector.shape}, the index {dimension} numbers"
    if not np.isfinite(vector).all() or not vector.any():
        return "its vector is zero or not finite"
    return ""
