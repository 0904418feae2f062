"""Reads the vectors from an embeddings server's answer, which must be complete and finite."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import NoReturn

import numpy as np

from codequarry.shared.arrays import Matrix, Vector
from codequarry.shared.errors import EmbeddingError


def read_vectors(body: object, count: int, dimension: int | None) -> Matrix:
    """Return the ``count`` vectors of an answer, each in the row that its index specifies.

    Raise EmbeddingError if a vector is missing or invalid. If ``dimension`` is None, the first vector sets the length.
    """
    data = body.get("data") if isinstance(body, Mapping) else None
    if not isinstance(data, Sequence) or isinstance(data, str):
        _wrong(f"has no vectors{_error_text(body)}")
    if len(data) != count:
        _wrong(f"has {len(data)} vectors for {count} texts")
    items = [item if isinstance(item, Mapping) else {} for item in data]
    order = [index for item in items if isinstance(index := item.get("index"), int)]
    if sorted(order) != list(range(count)):
        _wrong(f"has the indices {_shown(order)} for {count} texts")
    vectors = [_vector(item.get("embedding"), index) for item, index in zip(items, order, strict=True)]
    expected = dimension or len(vectors[0])
    for index, vector in zip(order, vectors, strict=True):
        if len(vector) != expected:
            _wrong(f"has {len(vector)} numbers for text {index}, not {expected}; see [embedding] model and dimensions")
    rows = np.empty((count, expected), dtype=np.float32)
    rows[order] = vectors
    return rows


def _vector(value: object, index: int) -> Vector:
    """Return one vector, given as numbers or as base64 of little-endian float32."""
    try:
        if isinstance(value, str):
            vector = np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4")
        else:
            vector = np.asarray(value, dtype=np.float32)
    except (TypeError, ValueError, binascii.Error):
        _wrong(f"has no numbers for text {index}")
    if vector.ndim != 1 or not vector.size:
        _wrong(f"has no numbers for text {index}")
    if not np.isfinite(vector).all():
        _wrong(f"has numbers for text {index} that are not finite")
    return vector.astype(np.float32)


def _error_text(body: object) -> str:
    """Return the message of a body that is an error despite its status 200."""
    error = body.get("error") if isinstance(body, Mapping) else None
    message = error.get("message") if isinstance(error, Mapping) else error
    return f": {str(message)[:200]}" if message else ""


def _shown(order: Sequence[object]) -> str:
    most = 8
    return f"[{', '.join(str(index) for index in order[:most])}{', …' if len(order) > most else ''}]"


def _wrong(what: str) -> NoReturn:
    raise EmbeddingError(f"the answer {what}")
