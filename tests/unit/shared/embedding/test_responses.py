import base64
import json
from collections.abc import Mapping

import numpy as np
import pytest

from codequarry.shared.embedding.responses import read_vectors
from codequarry.shared.errors import EmbeddingError


def answer(*vectors: object, indices: tuple[object, ...] | None = None) -> dict[str, object]:
    order = indices or tuple(range(len(vectors)))
    return {"data": [{"index": index, "embedding": vector} for index, vector in zip(order, vectors, strict=True)]}


def test_vectors_are_sorted_by_their_indices() -> None:
    rows = read_vectors(answer([3, 4], [1, 2], indices=(1, 0)), 2, 2)
    assert rows.tolist() == [[1, 2], [3, 4]]
    assert rows.dtype == np.float32


def test_base64_is_read_as_little_endian_floats() -> None:
    encoded = base64.b64encode(np.array([1.5, -2.0], "<f4").tobytes()).decode()
    assert read_vectors(answer(encoded, [1, 2]), 2, 2).tolist() == [[1.5, -2.0], [1, 2]]


def test_the_first_vector_decides_an_unknown_dimension() -> None:
    assert read_vectors(answer([1, 2, 3]), 1, None).shape == (1, 3)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([], "has no vectors"),
        ({}, "has no vectors"),
        ({"data": "text"}, "has no vectors"),
        ({"error": {"message": "model is loading"}}, "has no vectors: model is loading"),
        ({"error": "out of memory"}, "has no vectors: out of memory"),
        (answer([1, 2]), "has 1 vectors for 2 texts"),
        (answer([1, 2], [3, 4], [5, 6]), "has 3 vectors for 2 texts"),
        (answer([1, 2], [3, 4], indices=(0, 0)), r"has the indices \[0, 0\] for 2 texts"),
        (answer([1, 2], [3, 4], indices=(1, 2)), r"has the indices \[1, 2\] for 2 texts"),
        (answer([1, 2], [3, 4], indices=(0, None)), r"has the indices \[0\] for 2 texts"),
        ({"data": [1, 2]}, r"has the indices \[\] for 2 texts"),
        (answer([1, 2], [3, 4, 5]), "has 3 numbers for text 1, not 2"),
        (answer([1, 2, 3], [3, 4, 5]), "has 3 numbers for text 0, not 2"),
        (answer([1, 2], [3, float("nan")]), "has numbers for text 1 that are not finite"),
        (answer([float("inf"), 2], [3, 4]), "has numbers for text 0 that are not finite"),
        (answer([1, 2], [None, 1]), "for text 1"),
        (answer([1, 2], None), "has no numbers for text 1"),
        (answer([1, 2], []), "has no numbers for text 1"),
        (answer([1, 2], [[1, 2]]), "has no numbers for text 1"),
        (answer([1, 2], ["a", "b"]), "has no numbers for text 1"),
        (answer([1, 2], "not base64!"), "has no numbers for text 1"),
        ({"data": [{"index": 0, "embedding": [1, 2]}, {"index": 1}]}, "has no numbers for text 1"),
    ],
)
def test_an_incomplete_answer_is_an_error(body: Mapping[str, object], message: str) -> None:
    with pytest.raises(EmbeddingError, match=message):
        read_vectors(body, 2, 2)


def test_nan_in_json_is_an_error() -> None:
    with pytest.raises(EmbeddingError, match="not finite"):
        read_vectors(json.loads('{"data": [{"index": 0, "embedding": [NaN, 1]}]}'), 1, None)
