import pytest

from codequarry.shared.identifiers import MAX_TOKEN_CHARACTERS, split_identifier, tokenize


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
