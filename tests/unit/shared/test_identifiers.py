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


# Signs, blanks of all kinds, capitals, digits, underscores, and letters whose lower case is longer or that have none.
TEXTS = st.text(st.sampled_from("aB3_ .\t\n\x1c\x85(ßÉİ你²٣") | st.characters(), max_size=60)


@given(TEXTS)
def test_the_words_of_a_text_are_those_of_its_names_and_stand_where_they_are_said_to(text):
    found = list(words_in(text))
    assert [word for word, _, _ in found] == [word for name in names_of(text) for word in split_identifier(name)]
    assert all(text[start:end].lower() == word for word, start, end in found)
    assert all(one[2] <= other[1] for one, other in pairwise(found))


@given(st.text(st.characters(max_codepoint=127), max_size=60))
def test_names_are_the_same_whether_or_not_another_alphabet_is_in_the_text(text):
    assert names_of(text) == names_of(f"{text} é")[:-1]


def test_tokens_are_the_words_and_then_the_whole_name():
    assert tokenize("getUserById(user_id)") == "get user by id getuserbyid user id userid"
    assert tokenize("plain words, here") == "plain words here"
    assert tokenize("__init__ = 3.5") == "init 3 5"


def test_what_nobody_searches_for_is_left_out():
    assert tokenize("a" * (MAX_TOKEN_CHARACTERS + 1)) == ""
    assert tokenize("A" * (MAX_TOKEN_CHARACTERS + 1)) == ""


@pytest.mark.parametrize("unit", ["A", "ACGT", "Aa", "a_", "é", "A1"])
def test_a_line_as_long_as_a_file_is_no_harder_than_many_short_ones(unit):
    """Were its square taken, this would go on for hours."""
    assert len(tokenize(unit * 250_000)) <= MAX_TOKEN_CHARACTERS
