import numpy as np
import pytest

from codequarry.shared.embedding.vectors import document_suffix, fingerprint, normalised, rounded, well_formed


def test_rows_get_length_one_and_float32() -> None:
    rows = normalised([[3.0, 4.0], [-2.0, 0.0]])
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, [[0.6, 0.8], [-1.0, 0.0]])


def test_a_row_of_zeros_stays_zeros_without_a_warning() -> None:
    assert normalised([[0.0, 0.0], [1.0, 0.0]]).tolist() == [[0.0, 0.0], [1.0, 0.0]]


def test_no_rows_stay_no_rows() -> None:
    assert normalised(np.zeros((0, 4))).shape == (0, 4)


@pytest.mark.parametrize(
    ("text", "kept"), [("plain", "plain"), ("né 中 😀", "né 中 😀"), ("a\ud800b", "a?b"), ("\udfff", "?")]
)
def test_lone_surrogates_are_replaced_and_nothing_else(text: str, kept: str) -> None:
    assert well_formed(text) == kept


def test_a_fingerprint_tells_where_one_part_ends() -> None:
    assert fingerprint([b"ab", b"c"]) != fingerprint([b"a", b"bc"])
    assert len(fingerprint([b"a"])) == 8


def test_only_what_stands_before_documents_is_in_a_name() -> None:
    assert document_suffix("") == ""
    assert document_suffix("passage: ") != document_suffix("text: ")
    assert document_suffix("", "document").startswith("+")


def test_a_rounded_row_is_at_most_half_a_step_off_and_a_row_of_zeros_stays_zeros() -> None:
    rows = np.random.default_rng(1).normal(size=(9, 16)).astype(np.float32)
    rows[4] = 0
    numbers, steps = rounded(rows)
    assert numbers.dtype == np.int8 and np.abs(numbers).max(axis=1).tolist() == [127] * 4 + [0] + [127] * 4
    assert np.all(np.abs(numbers * steps[:, None] - rows) <= steps[:, None] * 0.5001)
