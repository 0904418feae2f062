"""What every adapter does to texts before, and to vectors after, its model has seen them."""

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codequarry.shared.embedding.port import Matrix

# Enough to tell the few models apart that one index will ever meet.
_FINGERPRINT_CHARACTERS = 8
# An int8 holds this much on either side of zero.
_LEVELS = 127


def normalised(rows: ArrayLike) -> Matrix:
    """Return the rows as float32 of length 1; a row of zeros (an empty text) stays zeros."""
    matrix = np.ascontiguousarray(rows, dtype=np.float32)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    result: Matrix = np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0)
    return result


def rounded(rows: Matrix) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return the rows as int8, the largest number of each 127 from zero, and what one step is in each (rows)."""
    steps = (np.abs(rows).max(axis=1) / _LEVELS).astype(np.float32)
    steps[steps == 0] = 1.0
    return np.rint(rows / steps[:, None]).astype(np.int8), steps


def well_formed(text: str) -> str:
    """Replace lone surrogates, which a JSON body may hold and no tokenizer takes, by question marks."""
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode("utf-8")


def fingerprint(parts: Iterable[bytes | memoryview]) -> str:
    """Return a short hex hash of ``parts``, for the names of models."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()[:_FINGERPRINT_CHARACTERS]


def document_suffix(prefix: str, input_type: str = "") -> str:
    """Return what a model's name ends with when something is put before its documents: another prefix, other vectors.

    What is put before queries is left out: it does not change the vectors that an index holds.
    """
    return f"+{fingerprint([prefix.encode(), input_type.encode()])}" if prefix or input_type else ""
