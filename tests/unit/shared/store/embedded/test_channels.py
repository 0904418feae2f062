"""Selecting the best rows from arrays."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codequarry.shared.store.embedded import channels
from codequarry.shared.store.embedded.channels import top


@settings(deadline=None)
@given(st.lists(st.integers(-3, 3), max_size=40), st.integers(0, 50))
def test_top_is_the_head_of_a_stable_sort(scores, limit):
    values = np.array(scores, np.float32)
    expected = sorted(range(len(scores)), key=lambda place: (-scores[place], place))[:limit]
    assert top(values, limit).tolist() == expected


@pytest.mark.parametrize("limit", [0, 1, 5])
def test_an_empty_array_has_no_top(limit):
    assert top(np.empty(0, np.float32), limit).tolist() == []


@settings(deadline=None)
@given(st.data())
def test_similarities_by_block_equal_those_by_slot(data):
    """Blocks have four slots and are requested completely, partly, or not at all; slots may repeat."""
    size = data.draw(st.integers(1, 30))
    slots = np.array(data.draw(st.lists(st.integers(0, size - 1), max_size=40)), np.int32)
    matrix = np.random.default_rng(size).standard_normal((size, 3)).astype(np.float32)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(channels, "_BLOCK_BITS", 2)
        scores = channels._similarities(slots, matrix, matrix[0])
    np.testing.assert_allclose(scores, (matrix @ matrix[0])[slots], rtol=1e-5, atol=1e-5)
