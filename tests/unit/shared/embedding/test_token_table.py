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

TOKENS = ["get", "user", "by", "id", *(f"##{one}" for one in "abcdefghijklmnopqrstuvwxyz"), "##quux", "##qu"]


@pytest.fixture
def table():
    weights = np.random.default_rng(1).standard_normal((len(TOKENS), 16)).astype(np.float32)
    return TokenTable.of(Vocabulary(TOKENS), weights)


def words(text):
    return [TOKENS[number] for number in Vocabulary(TOKENS).ids(text)]


def test_names_are_split_into_their_words():
    assert words("getUserById(get_user)") == ["get", "user", "by", "id", "get", "user"]


def test_a_word_that_was_never_seen_is_cut_into_the_longest_pieces():
    assert words("quuxes") == ["##quux", "##e", "##s"]
    assert words("qua") == ["##qu", "##a"]


def test_signs_and_what_no_token_has_are_left_out():
    assert words("{} -> ( ) ;") == []
    assert words("get né") == ["get", "##n"]


@given(st.text(st.sampled_from("getUseridqu_ .\n3ßİé你") | st.characters(), max_size=80))
def test_every_token_has_its_place_in_the_text(text):
    vocabulary = Vocabulary(TOKENS)
    spans, tokens = vocabulary.spans(text), words(text)
    assert len(spans) == len(tokens)
    assert all(one[0] <= other[0] for one, other in pairwise(spans))
    if text.isascii():
        assert [text[start:end].lower() for start, end in spans] == [token.removeprefix("##") for token in tokens]
    assert all(0 <= start < end <= len(text) for start, end in spans)


def test_pieces_stand_within_their_word_and_what_has_no_token_stands_nowhere():
    assert Vocabulary(TOKENS).spans("(getQuuxes) né") == [(1, 4), (4, 8), (8, 9), (9, 10), (12, 13)]


def test_a_vector_is_the_sum_of_rows_by_the_root_of_their_count_and_has_length_one(table):
    rows = table.rows.astype(np.float32) * table.scales[:, None]
    expected = rows[0] * 2 + rows[1]
    expected /= np.linalg.norm(expected)
    (found,) = table.embed(["get get get get user"])
    assert found == pytest.approx(expected, abs=1e-6)
    assert np.linalg.norm(found) == pytest.approx(1, abs=1e-6)


def test_in_a_query_a_token_counts_by_a_weight_of_its_own(table):
    weights = table.rows.astype(np.float32) * table.scales[:, None]
    in_queries = np.linspace(0.1, 2, len(TOKENS))
    own = TokenTable.of(Vocabulary(TOKENS), weights, in_queries)
    expected = weights[0] * in_queries[0] + weights[1] * in_queries[1]
    assert own.asking.embed(["get user"])[0] == pytest.approx(expected / np.linalg.norm(expected), abs=1e-6)
    assert own.embed(["get user"])[0] == pytest.approx(table.embed(["get user"])[0], abs=1e-6)
    assert table.asking.embed(["get user"])[0] == pytest.approx(table.embed(["get user"])[0])


def test_a_text_with_more_tokens_than_are_summed_at_once_is_read_to_its_end(table, monkeypatch):
    text = "get user by id a b c d e f g h"
    (whole,) = table.embed([text])
    monkeypatch.setattr(token_table, "_ROWS_AT_ONCE", 5)
    (parts,) = table.embed([text])
    assert parts == pytest.approx(whole, abs=1e-6)


def test_the_words_of_a_name_and_of_what_is_said_of_it_count_more_but_not_in_a_query(table):
    code = "# get id\ndef get_user(by):\n    by(id)"
    unstressed = replace(table, declared=0, summarised=0)
    stressed, plain, asked = (
        one.embed([code])[0] for one in (table, unstressed, replace(table.asking, scales=table.scales))
    )
    rows = table.rows.astype(np.float32) * table.scales[:, None]
    # get: said, in the name; user: in the name; by: twice; id: said, in the code.
    counts = [2 + NAMES + SUMMARIES, 1 + NAMES, 2, 2 + SUMMARIES]
    by_hand = np.sqrt(counts) @ rows[:4] + sum(map(rows.__getitem__, table.vocabulary.ids("def")))
    assert stressed == pytest.approx(by_hand / np.linalg.norm(by_hand), abs=1e-5)
    assert plain == pytest.approx(asked) and plain != pytest.approx(stressed, abs=1e-3)
    names = {one.fingerprint() for one in (table, unstressed, replace(table, declared=0), replace(table, summarised=0))}
    assert len(names) == 4


def test_more_texts_than_are_counted_at_once_keep_their_order(table):
    texts = [f"{'get ' * (number % 3)}{'user ' * (number % 5)}" for number in range(200)]
    for vector, text in zip(table.embed(texts), texts, strict=True):
        assert vector == pytest.approx(table.embed([text])[0], abs=1e-6)


def test_the_order_of_words_does_not_matter_and_texts_without_any_have_one_direction(table):
    first, second, empty, other = table.embed(["get user", "user get", "...", ""])
    assert np.allclose(first, second)
    assert np.allclose(empty, other) and empty == pytest.approx(np.full(16, 0.25))


def test_what_is_written_is_read_with_its_rows_mapped(table, tmp_path):
    table.write(tmp_path)
    again = TokenTable.read(tmp_path)
    assert isinstance(again.rows, np.memmap)
    assert np.array_equal(again.embed(["get user by id"]), table.embed(["get user by id"]))
    assert np.array_equal(again.asking.embed(["get user by id"]), table.asking.embed(["get user by id"]))
    assert again.vocabulary.tokens == table.vocabulary.tokens


@pytest.mark.parametrize(
    "damaged", [b"", b"PK\5\6" + bytes(18), b"PK\3\4 cut off", b"\x93NUMPY\1\0\x10\0{'descr': ('<f4',\n"]
)
def test_a_file_that_is_damaged_or_something_else_is_an_error(table, tmp_path, damaged):
    table.write(tmp_path)
    for name in (token_table.ROWS, token_table.SCALES, token_table.QUERY_SCALES):
        whole = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(damaged)
        with pytest.raises(EmbeddingError, match="damaged"):
            TokenTable.read(tmp_path)
        (tmp_path / name).write_bytes(whole)


def test_rounding_to_a_byte_moves_a_vector_by_little():
    weights = np.random.default_rng(2).standard_normal((len(TOKENS), 256)).astype(np.float32)
    table = TokenTable.of(Vocabulary(TOKENS), weights)
    exact = weights[:4].sum(axis=0)
    (found,) = table.embed(["get user by id"])
    assert found @ (exact / np.linalg.norm(exact)) > 0.999


def test_neither_many_names_nor_long_ones_fill_the_memory(monkeypatch):
    monkeypatch.setattr("codequarry.shared.embedding.vocabulary._MOST_REMEMBERED", 10)
    vocabulary = Vocabulary(TOKENS)
    for number in range(100):
        assert vocabulary.ids(f"get{'user' * (number % 3)}") is not None
        vocabulary.ids("a" * (number + 1))
    assert len(vocabulary._names) <= 10
    vocabulary.ids("user" * 1000)
    assert max(map(len, vocabulary._names)) < 100


def test_no_syntax_tree_is_made_while_a_table_is_read(table, tmp_path, monkeypatch):
    """Threads read tables, and in Python 3.11 two that make a syntax tree at once fail."""
    table.write(tmp_path)

    def fail(*_):
        raise AssertionError("a syntax tree was made")

    monkeypatch.setattr("ast.literal_eval", fail)
    monkeypatch.setattr("ast.parse", fail)
    again = TokenTable.read(tmp_path)
    assert np.array_equal(again.rows, table.rows) and np.array_equal(again.query_scales, table.query_scales)
