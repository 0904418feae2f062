from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codequarry.shared.identifiers import MAX_TOKEN_CHARACTERS, names_of, split_identifier, tokenize, words_in


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("getUserById", ["get", "user", "by", "id"]),
        ("get_user_by_id", ["get", "user", "by", "id"]),
        ("HTTPServer", ["http", "server"]),
        ("parseHTTPSUrl", ["parse", "https", "url"]),
        ("ABcDEf", ["a", "bc", "d", "ef"]),
        ("MAX_SIZE", ["max", "size"]),
        ("utf8Decoder", ["utf", "8", "decoder"]),
        ("größeÄndern", ["größe", "ändern"]),
        ("ЧислоСтрок2", ["число", "строк", "2"]),
        ("X", ["x"]),
    ],
)
def test_a_name_is_split_into_its_words(name, words):
    assert split_identifier(name) == words


# Punctuation, all kinds of blanks, capitals, digits, underscores, and letters with a longer or no lower case.
TEXTS = st.text(st.sampled_from("aB3_ .\t\n\x1c\x85(ßÉİ你²٣") | st.characters(), max_size=60)


@given(TEXTS)
def test_words_in_a_text_match_its_names_and_their_positions(text):
    found = list(words_in(text))
    assert [word for word, _, _ in found] == [word for name in names_of(text) for word in split_identifier(name)]
    assert all(text[start:end].lower() == word for word, start, end in found)
    assert all(before[2] <= after[1] for before, after in pairwise(found))


@given(st.text(st.characters(max_codepoint=127), max_size=60))
def test_names_do_not_depend_on_other_alphabets_in_the_text(text):
    assert names_of(text) == names_of(f"{text} é")[:-1]


def test_tokens_are_the_words_and_then_the_whole_name():
    assert tokenize("getUserById(user_id)") == "get user by id getuserbyid user id userid"
    assert tokenize("plain words, here") == "plain words here"
    assert tokenize("__init__ = 3.5") == "init 3 5"


def test_overlong_words_are_left_out():
    assert tokenize("a" * (MAX_TOKEN_CHARACTERS + 1)) == ""
    assert tokenize("A" * (MAX_TOKEN_CHARACTERS + 1)) == ""


@pytest.mark.parametrize("unit", ["A", "ACGT", "Aa", "a_", "é", "A1"])
def test_a_very_long_line_is_tokenised_in_linear_time(unit):
    """A quadratic algorithm would take hours."""
    assert len(tokenize(unit * 250_000)) <= MAX_TOKEN_CHARACTERS
