"""Picking the best rows from arrays."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codequarry.shared.store.embedded.channels import top


@settings(deadline=None)
@given(st.lists(st.integers(-3, 3), max_size=40), st.integers(0, 50))
def test_top_is_the_head_of_a_stable_sort(scores, limit):
    values = np.array(scores, np.float32)
    expected = sorted(range(len(scores)), key=lambda place: (-scores[place], place))[:limit]
    assert top(values, limit).tolist() == expected


@pytest.mark.parametrize("limit", [0, 1, 5])
def test_nothing_has_no_top(limit):
    assert top(np.empty(0, np.float32), limit).tolist() == []
