from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codequarry.shared.embedding import token_table
from codequarry.shared.embedding.token_table import NAMES, SUMMARIES, TokenTable
from codequarry.shared.embedding.vocabulary import Vocabulary
from codequarry.shared.errors import EmbeddingError

TOKENS = ["get", "user", "by", "id", *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"), "##quux", "##qu"]


@pytest.fixture
def table():
    weights = np.random.default_rng(1).standard_normal((len(TOKENS), 16)).astype(np.float32)
    return TokenTable.of(Vocabulary(TOKENS), weights)


def words(text):
    return [TOKENS[number] for number in Vocabulary(TOKENS).ids(text)]


def test_names_are_split_into_their_words():
    assert words("getUserById(get_user)") == ["get", "user", "by", "id", "get", "user"]


def test_an_unknown_word_is_cut_into_the_longest_pieces():
    assert words("quuxes") == ["##quux", "##e", "##s"]
    assert words("qua") == ["##qu", "##a"]


def test_punctuation_and_unknown_characters_are_left_out():
    assert words("{} -> ( ) ;") == []
    assert words("get né") == ["get", "##n"]


@given(st.text(st.sampled_from("getUseridqu_ .\n3ßİé你") | st.characters(), max_size=80))
def test_every_token_has_a_span_in_the_text(text):
    vocabulary = Vocabulary(TOKENS)
    spans, tokens = vocabulary.spans(text), words(text)
    assert len(spans) == len(tokens)
    assert all(before[0] <= after[0] for before, after in pairwise(spans))
    if text.isascii():
        assert [text[start:end].lower() for start, end in spans] == [token.removeprefix("##") for token in tokens]
    assert all(0 <= start < end <= len(text) for start, end in spans)


def test_pieces_have_spans_within_their_word():
    assert Vocabulary(TOKENS).spans("(getQuuxes) né") == [(1, 4), (4, 8), (8, 9), (9, 10), (12, 13)]


def test_a_vector_is_the_normalised_sum_of_rows_weighted_by_root_count(table):
    rows = table.rows.astype(np.float32) * table.scales[:, None]
    expected = rows[0] * 2 + rows[1]
    expected /= np.linalg.norm(expected)
    (found,) = table.embed(["get get get get user"])
    assert found == pytest.approx(expected, abs=1e-6)
    assert np.linalg.norm(found) == pytest.approx(1, abs=1e-6)


def test_queries_use_their_own_token_weights(table):
    weights = table.rows.astype(np.float32) * table.scales[:, None]
    in_queries = np.linspace(0.1, 2, len(TOKENS))
    own = TokenTable.of(Vocabulary(TOKENS), weights, in_queries)
    expected = weights[0] * in_queries[0] + weights[1] * in_queries[1]
    assert own.asking.embed(["get user"])[0] == pytest.approx(expected / np.linalg.norm(expected), abs=1e-6)
    assert own.embed(["get user"])[0] == pytest.approx(table.embed(["get user"])[0], abs=1e-6)
    assert table.asking.embed(["get user"])[0] == pytest.approx(table.embed(["get user"])[0])


def test_a_text_longer_than_a_batch_of_rows_is_read_completely(table, monkeypatch):
    text = "get user by id a b c d e f g h"
    (whole,) = table.embed([text])
    monkeypatch.setattr(token_table, "_ROWS_AT_ONCE", 5)
    (parts,) = table.embed([text])
    assert parts == pytest.approx(whole, abs=1e-6)


def test_words_of_names_and_summaries_count_more_except_in_queries(table):
    code = "# get id\ndef get_user(by):\n    by(id)"
    unstressed = replace(table, declared=0, summarised=0)
    stressed, plain, asked = (
        variant.embed([code])[0] for variant in (table, unstressed, replace(table.asking, scales=table.scales))
    )
    rows = table.rows.astype(np.float32) * table.scales[:, None]
    # get: in comment and name; user: in the name; by: twice; id: in comment and code.
    counts = [2 + NAMES + SUMMARIES, 1 + NAMES, 2, 2 + SUMMARIES]
    by_hand = np.sqrt(counts) @ rows[:4] + sum(map(rows.__getitem__, table.vocabulary.ids("def")))
    assert stressed == pytest.approx(by_hand / np.linalg.norm(by_hand), abs=1e-5)
    assert plain == pytest.approx(asked) and plain != pytest.approx(stressed, abs=1e-3)
    variants = (table, unstressed, replace(table, declared=0), replace(table, summarised=0))
    assert len({variant.fingerprint() for variant in variants}) == 4


def test_many_texts_keep_their_order(table):
    texts = [f"{'get ' * (number % 3)}{'user ' * (number % 5)}" for number in range(200)]
    for vector, text in zip(table.embed(texts), texts, strict=True):
        assert vector == pytest.approx(table.embed([text])[0], abs=1e-6)


def test_word_order_is_ignored_and_texts_without_words_share_a_direction(table):
    first, second, empty, other = table.embed(["get user", "user get", "...", ""])
    assert np.allclose(first, second)
    assert np.allclose(empty, other) and empty == pytest.approx(np.full(16, 0.25))


def test_a_table_survives_a_round_trip_and_its_rows_are_mapped(table, tmp_path):
    table.write(tmp_path)
    again = TokenTable.read(tmp_path)
    assert isinstance(again.rows, np.memmap)
    assert np.array_equal(again.embed(["get user by id"]), table.embed(["get user by id"]))
    assert np.array_equal(again.asking.embed(["get user by id"]), table.asking.embed(["get user by id"]))
    assert again.vocabulary.tokens == table.vocabulary.tokens


@pytest.mark.parametrize(
    "damaged", [b"", b"PK\5\6" + bytes(18), b"PK\3\4 cut off", b"\x93NUMPY\1\0\x10\0{'descr': ('<f4',\n"]
)
def test_a_damaged_or_foreign_file_is_an_error(table, tmp_path, damaged):
    table.write(tmp_path)
    for name in (token_table.ROWS, token_table.SCALES, token_table.QUERY_SCALES):
        whole = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(damaged)
        with pytest.raises(EmbeddingError, match="damaged"):
            TokenTable.read(tmp_path)
        (tmp_path / name).write_bytes(whole)


def test_rounding_to_bytes_barely_changes_a_vector():
    weights = np.random.default_rng(2).standard_normal((len(TOKENS), 256)).astype(np.float32)
    table = TokenTable.of(Vocabulary(TOKENS), weights)
    exact = weights[:4].sum(axis=0)
    (found,) = table.embed(["get user by id"])
    assert found @ (exact / np.linalg.norm(exact)) > 0.999


def test_the_cache_of_names_is_limited(monkeypatch):
    monkeypatch.setattr("codequarry.shared.embedding.vocabulary._MOST_REMEMBERED", 10)
    vocabulary = Vocabulary(TOKENS)
    for number in range(100):
        assert vocabulary.ids(f"get{'user' * (number % 3)}") is not None
        vocabulary.ids("a" * (number + 1))
    assert len(vocabulary._names) <= 10
    vocabulary.ids("user" * 1000)
    assert max(map(len, vocabulary._names)) < 100


def test_reading_a_table_builds_no_syntax_tree(table, tmp_path, monkeypatch):
    """Threads read tables, and in Python 3.11 two threads that build syntax trees at once fail."""
    table.write(tmp_path)

    def fail(*_):
        raise AssertionError("a syntax tree was built")

    monkeypatch.setattr("ast.literal_eval", fail)
    monkeypatch.setattr("ast.parse", fail)
    again = TokenTable.read(tmp_path)
    assert np.array_equal(again.rows, table.rows) and np.array_equal(again.query_scales, table.query_scales)
