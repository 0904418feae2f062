from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codequarry.shared.embedding.factory import open_built_in
from codequarry.shared.embedding.port import Embedder, Window
from codequarry.shared.embedding.strides import (
    StrideShape,
    cut,
    document_suffix,
    fingerprint,
    normalised,
    rounded,
    spans,
    stride_shape,
    strides,
    well_formed,
)
from codequarry.shared.embedding.tokens import pieces
from codequarry.shared.errors import UsageError
from codequarry.shared.settings.config import EmbeddingSettings


def test_a_window_of_8192_tokens_has_strides_of_7168_that_share_1024() -> None:
    shape = stride_shape(8192, EmbeddingSettings())
    assert shape == StrideShape(limit=8192, window=7168, overlap=1024)
    assert spans(12_000, shape) == [(0, 7168), (6144, 12_000)]
    assert spans(20_000, shape) == [(0, 7168), (6144, 13_312), (12_288, 19_456), (18_432, 20_000)]


def test_a_text_that_fits_is_read_whole() -> None:
    shape = stride_shape(8192, EmbeddingSettings())
    assert spans(8192, shape) == [(0, 8192)]
    assert spans(0, shape) == [(0, 0)]
    assert len(spans(8193, shape)) == 2


def test_reserved_tokens_reduce_the_window() -> None:
    shape = StrideShape(limit=16, window=14, overlap=2)
    assert spans(14, shape, reserved=2) == [(0, 14)]
    assert spans(15, shape, reserved=4) == [(0, 12), (10, 15)]


def test_settings_shape_the_strides() -> None:
    settings = EmbeddingSettings(stride_window=100, stride_overlap=0)
    assert spans(250, stride_shape(128, settings)) == [(0, 100), (100, 200), (200, 250)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (EmbeddingSettings(stride_window=600), "stride_window = 600 is more than the model's window of 512"),
        (EmbeddingSettings(stride_window=64, stride_overlap=64), "stride_overlap = 64 must be smaller"),
    ],
)
def test_impossible_strides_are_refused(settings: EmbeddingSettings, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        stride_shape(512, settings)


@given(
    tokens=st.integers(0, 5000),
    limit=st.integers(16, 600),
    window=st.integers(16, 600) | st.none(),
    overlap=st.integers(0, 599) | st.none(),
    reserved=st.integers(0, 15),
)
def test_strides_cover_every_token_and_none_is_too_long(
    tokens: int, limit: int, window: int | None, overlap: int | None, reserved: int
) -> None:
    try:
        shape = stride_shape(limit, EmbeddingSettings(stride_window=window, stride_overlap=overlap))
    except UsageError:
        return
    found = spans(tokens, shape, reserved)
    assert found[0][0] == 0
    assert found[-1][1] == tokens
    assert all(end - start <= limit - reserved for start, end in found)
    assert all(after[0] <= before[1] and after[0] > before[0] for before, after in pairwise(found))
    assert all(before[1] < tokens for before in found[:-1])


@given(text=st.text(max_size=400), limit=st.integers(16, 40))
def test_windows_together_cover_every_character(text: str, limit: int) -> None:
    windows = cut(text, pieces(text), stride_shape(limit, EmbeddingSettings()))
    assert windows[0].text == text[: len(windows[0].text)]
    assert text.endswith(windows[-1].text)
    position = 0
    for window in windows:
        start = text.find(window.text, max(0, position - len(window.text)))
        assert 0 <= start <= position
        position = max(position, start + len(window.text))
    assert position == len(text)


def test_a_smaller_stride_has_a_smaller_overlap() -> None:
    assert stride_shape(8192, EmbeddingSettings(stride_window=70)) == StrideShape(limit=8192, window=70, overlap=10)


def test_strides_need_a_window() -> None:
    with pytest.raises(UsageError, match="need context_window: model 'codequarry-1' reads texts of any length"):
        open_built_in(EmbeddingSettings(stride_window=100))


@given(text=st.text(max_size=400), limit=st.integers(16, 40))
def test_windows_know_their_place_in_the_text(text: str, limit: int) -> None:
    for window in cut(text, pieces(text), stride_shape(limit, EmbeddingSettings())):
        assert window.characters is not None
        assert text[window.start_char : window.start_char + window.characters] == window.text


@pytest.fixture
def narrow() -> Embedder:
    """Return a real model that reads 32 tokens."""
    return open_built_in(EmbeddingSettings(context_window=32))


def test_the_head_is_repeated_before_every_stride(narrow: Embedder) -> None:
    text = " ".join(f"word{number}" for number in range(60))
    windows = strides(text, narrow, head="a.py\n")
    assert len(windows) > 2
    assert all(window.text.startswith("a.py\n") for window in windows)
    assert windows[-1].text.endswith("word59")


def test_a_head_that_does_not_fit_is_not_repeated(narrow: Embedder) -> None:
    head = "a/very/long/path/to/some/file.py > Class > method\n"
    windows = strides(" ".join(f"word{number}" for number in range(60)), narrow, head)
    assert windows[0].text.startswith(head)
    assert not any(window.text.startswith(head) for window in windows[1:])


def test_a_model_that_reads_any_length_gets_one_window() -> None:
    text = "word " * 10_000
    [window] = strides(text, open_built_in(EmbeddingSettings()), head="a.py\n")
    assert window.text == "a.py\n" + text
    assert isinstance(window, Window)


def test_rows_are_normalised_to_float32() -> None:
    rows = normalised([[3.0, 4.0], [-2.0, 0.0]])
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, [[0.6, 0.8], [-1.0, 0.0]])


def test_a_zero_row_stays_zero_without_a_warning() -> None:
    assert normalised([[0.0, 0.0], [1.0, 0.0]]).tolist() == [[0.0, 0.0], [1.0, 0.0]]


def test_an_empty_matrix_stays_empty() -> None:
    assert normalised(np.zeros((0, 4))).shape == (0, 4)


@pytest.mark.parametrize(
    ("text", "kept"), [("plain", "plain"), ("né 中 😀", "né 中 😀"), ("a\ud800b", "a?b"), ("\udfff", "?")]
)
def test_only_lone_surrogates_are_replaced(text: str, kept: str) -> None:
    assert well_formed(text) == kept


def test_a_fingerprint_depends_on_the_borders_of_the_parts() -> None:
    assert fingerprint([b"ab", b"c"]) != fingerprint([b"a", b"bc"])
    assert len(fingerprint([b"a"])) == 8


def test_only_document_prefixes_change_the_name() -> None:
    assert document_suffix("") == ""
    assert document_suffix("passage: ") != document_suffix("text: ")
    assert document_suffix("", "document").startswith("+")


def test_rounding_is_exact_to_half_a_step_and_zero_rows_stay_zero() -> None:
    rows = np.random.default_rng(1).normal(size=(9, 16)).astype(np.float32)
    rows[4] = 0
    numbers, steps = rounded(rows)
    assert numbers.dtype == np.int8 and np.abs(numbers).max(axis=1).tolist() == [127] * 4 + [0] + [127] * 4
    assert np.all(np.abs(numbers * steps[:, None] - rows) <= steps[:, None] * 0.5001)
